/* sampler_neighbourhoods.c - topologies and their neighbourhood collectives. */
#include "sampler.h"

enum { MOST = 4 };

/* The destinations in the order of the topology, -1 for MPI_PROC_NULL; the number of sources is equal. */
static void all_operations(MPI_Comm comm, int neighbours, const int destinations[])
{
    const count_type ones[MOST] = {1, 1, 1, 1}, twos[MOST] = {2, 2, 2, 2};
    const displacement_type displacements[MOST] = {0, 100, 200, 300};
    const MPI_Aint offsets[MOST] = {0, 400, 800, 1200};
    const MPI_Datatype types[MOST] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    ALL_FORMS(Neighbor_allgather, neighbor_allgather, outgoing, 2, MPI_INT, incoming, 2, MPI_INT,
         comm);
    expect_neighbours(comm, "neighbor_allgather", neighbours, destinations, 8);
    ALL_FORMS(Neighbor_allgatherv, neighbor_allgatherv, outgoing, 2, MPI_INT, incoming, twos,
         displacements, MPI_INT, comm);
    expect_neighbours(comm, "neighbor_allgatherv", neighbours, destinations, 8);
    ALL_FORMS(Neighbor_alltoall, neighbor_alltoall, outgoing, 2, MPI_INT, incoming, 2, MPI_INT,
         comm);
    expect_neighbours(comm, "neighbor_alltoall", neighbours, destinations, 8);
    ALL_FORMS(Neighbor_alltoallv, neighbor_alltoallv, outgoing, twos, displacements, MPI_INT,
         incoming, twos, displacements, MPI_INT, comm);
    expect_neighbours(comm, "neighbor_alltoallv", neighbours, destinations, 8);
    ALL_FORMS(Neighbor_alltoallw, neighbor_alltoallw, outgoing, ones, offsets, types, incoming,
         ones, offsets, types, comm);
    expect_neighbours(comm, "neighbor_alltoallw", neighbours, destinations, 4);
}

static void cartesian(void)
{
    MPI_Comm grid, line;
    const int dims[2] = {2, 2}, periods[2] = {0, 1}, keep_second[2] = {0, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    /* Rows {0,1} and {2,3}; periodic only along a row, where left and right are the same rank. */
    const int along = rank ^ 1;
    const int destinations[4] = {rank < 2 ? -1 : rank - 2, rank < 2 ? rank + 2 : -1, along, along};
    all_operations(grid, 4, destinations);
    MPI_Cart_sub(grid, keep_second, &line);
    all_operations(line, 2, destinations + 2);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
}

/* A path 0 - 1 - 2 - 3. */
static void graph(void)
{
    MPI_Comm comm;
    const int index[4] = {1, 3, 5, 6}, edges[6] = {1, 0, 2, 1, 3, 2};
    const int first = rank == 0 ? 0 : index[rank - 1];
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &comm);
    all_operations(comm, index[rank] - first, edges + first);
    MPI_Comm_free(&comm);
}

/* A directed ring, in a communicator with the ranks reversed: rank i is world rank 3 - i. */
static void distributed_graphs(void)
{
    MPI_Comm backwards, comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    const int own = 3 - rank, next = (own + 1) % 4, previous = (own + 3) % 4, one = 1;
    const int next_in_world = 3 - next;
    MPI_Dist_graph_create_adjacent(backwards, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    all_operations(comm, 1, &next_in_world);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create(backwards, 1, &own, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    all_operations(comm, 1, &next_in_world);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&backwards);
}

/* Weights, and topologies that are declared and not used. They are freed together: the trace has only the last topology
 * of a slot. */
static void declarations(void)
{
    MPI_Comm grid, line, graph, unweighted, weighted;
    const int dims[2] = {1, 4}, periods[2] = {1, 0}, keep_second[2] = {0, 1};
    const int index[4] = {1, 2, 3, 4}, edges[4] = {1, 0, 3, 2};
    const int others[2] = {(rank + 1) % 4, (rank + 2) % 4}, sources[2] = {(rank + 3) % 4, (rank + 2) % 4};
    const int weights[2] = {7, 9}, degree = 2, following = (rank + 1) % 4;
    char text[200], below[12] = "x", above[12] = "x";
    if (rank > 0)
        sprintf(below, "%d", rank - 1);
    if (rank < 3)
        sprintf(above, "%d", rank + 1);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    sprintf(text, "cartesian 1,4 1,0 %d*1,%d*1,%s*1,%s*1", rank, rank, below, above);
    expect_topology(text);
    MPI_Cart_sub(grid, keep_second, &line);
    sprintf(text, "cartesian 4 0 %s*1,%s*1", below, above);
    expect_topology(text);
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph);
    sprintf(text, "graph - - %d*1", rank ^ 1);
    expect_topology(text);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weights, 2, others, weights, MPI_INFO_NULL,
                                   0, &weighted);
    sprintf(text, "distributed_graph - - %d*7,%d*9", others[0], others[1]);
    expect_topology(text);
    /* Each rank passes the edges of the next one. */
    const int of_following[2] = {(rank + 2) % 4, (rank + 3) % 4};
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &following, &degree, of_following, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &unweighted);
    sprintf(text, "distributed_graph - - %d*1,%d*1", others[0], others[1]);
    expect_topology(text);
    MPI_Comm_free(&unweighted);
    MPI_Comm_free(&weighted);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
}

void sample_neighbourhoods(void)
{
    cartesian();
    graph();
    distributed_graphs();
    declarations();
}
