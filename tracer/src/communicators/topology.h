/* topology.h - the topologies that a program declares: Cartesian grids, graphs, distributed graphs. */
#ifndef RANKWRIGHT_TOPOLOGY_H
#define RANKWRIGHT_TOPOLOGY_H

#include "communicators.h"

#pragma GCC visibility push(hidden)

/* Sets the neighbours that this rank sends to, in the order of the send arguments. False: out of memory. */
bool rw_find_neighbours(struct rw_communicator *communicator);

/* After MPI_Cart_create, MPI_Cart_sub, MPI_Graph_create, MPI_Dist_graph_create*. */
void rw_record_declared(const struct rw_call *call, MPI_Comm created);

#pragma GCC visibility pop
#endif
