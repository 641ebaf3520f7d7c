/* point_to_point.h - messages and one-sided transfers between this rank and each other rank. */
#ifndef RANKWRIGHT_POINT_TO_POINT_H
#define RANKWRIGHT_POINT_TO_POINT_H

#include "../format/trace_format.h"
#include "../mpi/arguments.h"
#include "../process/state.h"

#pragma GCC visibility push(hidden)

/* After a successful send. */
void rw_record_send(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int destination,
                    MPI_Comm comm);

/* The world rank of a destination; -1: outside MPI_COMM_WORLD. */
int rw_world_rank(int destination, MPI_Comm comm);
/* Adds one message or transfer between this rank and `world_rank` (-1: outside MPI_COMM_WORLD), with the tracer's lock
 * held. */
void rw_add_message(enum rw_pair_class class, uint64_t start, int world_rank, uint64_t bytes);

#pragma GCC visibility pop
#endif
