/* topology.c - whom a rank sends to in neighbourhood collectives. */
#include "communicators.h"

#include "allocate.h"

#include <stdlib.h>

static int *ask_cartesian(MPI_Comm comm, int *count)
{
    int dimensions = 0;
    PMPI_Cartdim_get(comm, &dimensions);
    *count = 2 * dimensions;
    int *ranks = rw_allocate((size_t)*count, sizeof *ranks);
    for (int i = 0; ranks && i < dimensions; i++)
        PMPI_Cart_shift(comm, i, 1, &ranks[2 * i], &ranks[2 * i + 1]);
    return ranks;
}

static int *ask_graph(MPI_Comm comm, int *count)
{
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, count);
    int *ranks = rw_allocate((size_t)*count, sizeof *ranks);
    if (ranks)
        PMPI_Graph_neighbors(comm, rank, *count, ranks);
    return ranks;
}

static int *ask_distributed_graph(MPI_Comm comm, int *count)
{
    int sources = 0, weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &sources, count, &weighted);
    int *ranks = rw_allocate((size_t)*count, sizeof *ranks);
    int *unused = rw_allocate((size_t)sources + (size_t)sources + (size_t)*count, sizeof *unused);
    if (ranks && unused)
        PMPI_Dist_graph_neighbors(comm, sources, unused, unused + sources, *count, ranks,
                                  unused + 2 * sources);
    free(unused);
    return ranks;
}

bool rw_find_neighbours(struct rw_communicator *communicator)
{
    if (communicator->neighbour_count >= 0)
        return true;
    int topology = MPI_UNDEFINED, count = 0;
    int *ranks = NULL;
    PMPI_Topo_test(communicator->handle, &topology);
    if (topology == MPI_CART)
        ranks = ask_cartesian(communicator->handle, &count);
    else if (topology == MPI_GRAPH)
        ranks = ask_graph(communicator->handle, &count);
    else if (topology == MPI_DIST_GRAPH)
        ranks = ask_distributed_graph(communicator->handle, &count);
    if (!ranks)
        return false;
    for (int i = 0; i < count; i++)
        ranks[i] = ranks[i] == MPI_PROC_NULL ? -1 : communicator->members->local[ranks[i]];
    free(communicator->neighbours);
    communicator->neighbours = ranks;
    communicator->neighbour_count = count;
    return true;
}
