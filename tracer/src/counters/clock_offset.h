/*
 * clock_offset.h - how far CLOCK_REALTIME of nodes is apart.
 */
#ifndef RANKWRIGHT_CLOCK_OFFSET_H
#define RANKWRIGHT_CLOCK_OFFSET_H

#include "../mpi/mpi_library.h"

#include <stdint.h>

#pragma GCC visibility push(hidden)

struct rw_clock_offset {
    int64_t ahead_ns; /* what the clock of rank 0 of the communicator is ahead of the own one */
    uint64_t error_ns;
};

/* Collective. Rank 0 answers one rank after the other; of 16 round trips the shortest counts, and half of it is the most
 * by which the offset may be wrong (Cristian, "Probabilistic clock synchronization", 1989). */
struct rw_clock_offset rw_measure_clock_offset(MPI_Comm nodes);

#pragma GCC visibility pop
#endif
