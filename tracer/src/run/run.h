/* run.h - begin and end of a traced run, for the wrappers of MPI_Init, MPI_Finalize and MPI_Abort. */
#ifndef RANKWRIGHT_RUN_H
#define RANKWRIGHT_RUN_H

#pragma GCC visibility push(hidden)

/* After MPI_Init, and before MPI_Finalize. */
void rw_begin(void);
void rw_end(void);
/* After the library has ended. */
void rw_after_finalize(void);
/* Before MPI_Abort. */
void rw_abort(void);

#pragma GCC visibility pop
#endif
