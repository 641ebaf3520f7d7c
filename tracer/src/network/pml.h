/*
 * pml.h - the messages that Open MPI hands to its point-to-point layer (PML): when, how long and to which rank, collective
 * operations included. When they are sent it does not tell: a long message waits for its receiver.
 *
 * Collective operations send through the table of functions `mca_pml` of Open MPI, in which those that send are replaced.
 * So everything below is covered, whether it goes over shared memory, InfiniBand, libfabric or PSM2. Left out are the
 * PML `ucx`, whose messages ucx.c records, and one-sided communication that passes the PML.
 */
#ifndef RANKWRIGHT_PML_H
#define RANKWRIGHT_PML_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* After rw_transport_begin. */
void rw_pml_begin(void);
/* Before MPI_Finalize. */
void rw_pml_end(void);

/* A persistent send was started by the program: the request does that itself, not the table. `rank`: of the receiver in
 * MPI_COMM_WORLD, or -1: outside. */
void rw_pml_started(int rank, uint64_t bytes);

#pragma GCC visibility pop
#endif
