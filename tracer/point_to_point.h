/* point_to_point.h - what this rank sends, per destination. */
#ifndef RANKWRIGHT_POINT_TO_POINT_H
#define RANKWRIGHT_POINT_TO_POINT_H

#include "hash_table.h"
#include "tracer.h"

#pragma GCC visibility push(hidden)

struct rw_partner {
    uint64_t messages;
    uint64_t bytes;
    uint64_t largest;
    uint64_t first; /* ticks */
    uint64_t last;
    double gap_mean; /* Welford's recurrence over messages - 1 gaps, in ticks */
    double gap_m2;
    uint64_t histogram[RW_HISTOGRAM_BINS];
};

struct rw_point_to_point {
    struct rw_table partners; /* world rank -> rw_partner */
    uint64_t outside_messages;
    uint64_t outside_bytes;
};

extern struct rw_point_to_point rw_point_to_point;

static inline uint64_t rw_bytes(int count, MPI_Datatype datatype)
{
    MPI_Count size = 0;
    PMPI_Type_size_x(datatype, &size);
    return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

/* Called by the wrappers after a successful send. */
void rw_record_send(const struct rw_call *call, int count, MPI_Datatype datatype, int destination,
                    MPI_Comm comm);

/* A destination as a world rank; -1: outside MPI_COMM_WORLD. */
int rw_world_rank(int destination, MPI_Comm comm);
/* A send to a world rank, in a program that may have other threads: takes the lock itself. */
void rw_record_start(uint64_t start, int world_rank, uint64_t bytes);

#pragma GCC visibility pop
#endif
