/* run.h - begin and end of a traced run. */
#ifndef RANKWRIGHT_RUN_H
#define RANKWRIGHT_RUN_H

#pragma GCC visibility push(hidden)

/* After MPI_Init and before MPI_Finalize, from the C or the Fortran entry point. */
void rw_begin(void);
void rw_end(void);
/* Before MPI_Abort. */
void rw_abort(void);

#pragma GCC visibility pop
#endif
