/* point_to_point.h - what this rank sends, per destination. */
#ifndef RANKWRIGHT_POINT_TO_POINT_H
#define RANKWRIGHT_POINT_TO_POINT_H

#include "hash_table.h"
#include "tracer.h"

#pragma GCC visibility push(hidden)

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
