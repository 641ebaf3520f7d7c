/* sampler_collectives.c - every collective operation, blocking and nonblocking. */
#include "sampler.h"

#define BOTH(blocking, nonblocking, ...)    \
    do {                                    \
        MPI_Request request;                \
        blocking(__VA_ARGS__);              \
        nonblocking(__VA_ARGS__, &request); \
        finish(&request);                   \
    } while (0)

static const int counts[4] = {1, 2, 0, 3}, displacements[4] = {0, 100, 200, 300};
static const int twelve[4] = {12, 12, 12, 12};

/* On 4 ranks; `own` is this rank's number there, world[i] the world rank of number i. */
static void rooted(MPI_Comm comm, int own, const int world[4], int root)
{
    const int at_root = own == root;
    const void *gathered = at_root ? MPI_IN_PLACE : outgoing;
    long to_root[4] = {0}, from_root[4] = {0};
    BOTH(MPI_Bcast, MPI_Ibcast, incoming, 25, MPI_INT, root, comm);
    expect_both(comm, "bcast", world[root], at_root ? 100 : 0, NULL);

    BOTH(MPI_Gather, MPI_Igather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, root, comm);
    expect_both(comm, "gather", world[root], 12, NULL);
    BOTH(MPI_Gather, MPI_Igather, gathered, 3, MPI_INT, incoming, 12, MPI_CHAR, root, comm);
    expect_both(comm, "gather", world[root], 12, NULL);

    to_root[world[root]] = 4 * counts[own];
    BOTH(MPI_Gatherv, MPI_Igatherv, outgoing, counts[own], MPI_INT, incoming, counts, displacements,
         MPI_INT, root, comm);
    expect_both(comm, "gatherv", world[root], 4 * counts[own], to_root);
    BOTH(MPI_Gatherv, MPI_Igatherv, gathered, counts[own], MPI_INT, incoming, counts, displacements,
         MPI_INT, root, comm);
    expect_both(comm, "gatherv", world[root], 4 * counts[own], to_root);

    BOTH(MPI_Scatter, MPI_Iscatter, outgoing, 5, MPI_INT, incoming, 20, MPI_CHAR, root, comm);
    expect_both(comm, "scatter", world[root], at_root ? 80 : 0, NULL);
    BOTH(MPI_Scatter, MPI_Iscatter, outgoing, 5, MPI_INT, at_root ? MPI_IN_PLACE : incoming, 20,
         MPI_CHAR, root, comm);
    expect_both(comm, "scatter", world[root], at_root ? 80 : 0, NULL);

    for (int i = 0; at_root && i < 4; i++)
        from_root[world[i]] = 4 * counts[i];
    BOTH(MPI_Scatterv, MPI_Iscatterv, outgoing, counts, displacements, MPI_INT, incoming, counts[own],
         MPI_INT, root, comm);
    expect_both(comm, "scatterv", world[root], at_root ? 24 : 0, from_root);

    BOTH(MPI_Reduce, MPI_Ireduce, at_root ? MPI_IN_PLACE : outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM,
         root, comm);
    expect_both(comm, "reduce", world[root], 48, NULL);
}

static void gathered_everywhere(MPI_Comm comm, int own)
{
    BOTH(MPI_Allgather, MPI_Iallgather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_both(comm, "allgather", -1, 12, NULL);
    BOTH(MPI_Allgather, MPI_Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, 12, MPI_CHAR,
         comm);
    expect_both(comm, "allgather", -1, 12, NULL);
    BOTH(MPI_Allgatherv, MPI_Iallgatherv, outgoing, counts[own], MPI_INT, incoming, counts,
         displacements, MPI_INT, comm);
    expect_both(comm, "allgatherv", -1, 4 * counts[own], NULL);
    BOTH(MPI_Allgatherv, MPI_Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, counts,
         displacements, MPI_INT, comm);
    expect_both(comm, "allgatherv", -1, 4 * counts[own], NULL);
}

/* Rank i sends to rank j as many integers as the table says; the columns are what a rank receives. */
static const int matrix[4][4] = {{1, 2, 3, 4}, {5, 0, 7, 8}, {0, 0, 1, 0}, {2, 2, 2, 2}};
/* In place, both directions have the same number. */
static const int symmetric[4][4] = {{1, 2, 3, 4}, {2, 0, 5, 6}, {3, 5, 7, 0}, {4, 6, 0, 8}};

static void all_to_all(MPI_Comm comm, int own, const int world[4])
{
    const MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    int receive[4];
    long row[4], in_place_row[4], sum = 0, in_place_sum = 0;
    for (int i = 0; i < 4; i++) {
        receive[i] = matrix[i][own];
        row[world[i]] = 4 * matrix[own][i];
        in_place_row[world[i]] = 4 * symmetric[own][i];
        sum += row[world[i]];
        in_place_sum += in_place_row[world[i]];
    }
    BOTH(MPI_Alltoall, MPI_Ialltoall, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_both(comm, "alltoall", -1, 48, NULL);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, 12, MPI_CHAR, comm);
    expect_collective(comm, "alltoall", 0, -1, 48, NULL);

    BOTH(MPI_Alltoallv, MPI_Ialltoallv, outgoing, matrix[own], displacements, MPI_INT, incoming,
         receive, displacements, MPI_INT, comm);
    expect_both(comm, "alltoallv", -1, sum, row);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, incoming, symmetric[own], displacements,
                  MPI_INT, comm);
    expect_collective(comm, "alltoallv", 0, -1, in_place_sum, in_place_row);

    BOTH(MPI_Alltoallw, MPI_Ialltoallw, outgoing, matrix[own], displacements, types, incoming, receive,
         displacements, types, comm);
    expect_both(comm, "alltoallw", -1, sum, row);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, incoming, symmetric[own], displacements, types, comm);
    expect_collective(comm, "alltoallw", 0, -1, in_place_sum, in_place_row);
}

static void reductions(MPI_Comm comm, const int world[4])
{
    long row[4];
    for (int i = 0; i < 4; i++)
        row[world[i]] = 8 * counts[i];
    BOTH(MPI_Allreduce, MPI_Iallreduce, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_both(comm, "allreduce", -1, 48, NULL);
    BOTH(MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_both(comm, "allreduce", -1, 48, NULL);
    BOTH(MPI_Reduce_scatter, MPI_Ireduce_scatter, outgoing, incoming, counts, MPI_DOUBLE, MPI_SUM,
         comm);
    expect_both(comm, "reduce_scatter", -1, 48, row);
    BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, outgoing, incoming, 2, MPI_DOUBLE,
         MPI_SUM, comm);
    expect_both(comm, "reduce_scatter_block", -1, 64, NULL);
    BOTH(MPI_Scan, MPI_Iscan, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_both(comm, "scan", -1, 48, NULL);
    BOTH(MPI_Exscan, MPI_Iexscan, outgoing, incoming, 7, MPI_DOUBLE, MPI_SUM, comm);
    expect_both(comm, "exscan", -1, 56, NULL);
    BOTH(MPI_Barrier, MPI_Ibarrier, comm);
    expect_both(comm, "barrier", -1, 0, NULL);
}

static void on_intracommunicator(MPI_Comm comm, const int world[4])
{
    int own;
    MPI_Comm_rank(comm, &own);
    rooted(comm, own, world, 0);
    rooted(comm, own, world, 2);
    gathered_everywhere(comm, own);
    all_to_all(comm, own, world);
    reductions(comm, world);
}

/* Rank 1 is the root, of the lower group; ranks 2 and 3 are the other group. */
static void rooted_across(MPI_Comm comm)
{
    const int root = rank == 1 ? MPI_ROOT : rank == 0 ? MPI_PROC_NULL : 1;
    const int stated = rank == 0 ? -2 : 1;
    const int other = rank >= 2;
    long to_root[4] = {0}, from_root[4] = {0};
    BOTH(MPI_Bcast, MPI_Ibcast, incoming, 25, MPI_INT, root, comm);
    expect_both(comm, "bcast", stated, rank == 1 ? 100 : 0, NULL);
    BOTH(MPI_Gather, MPI_Igather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, root, comm);
    expect_both(comm, "gather", stated, other ? 12 : 0, NULL);
    to_root[1] = other ? 12 : 0;
    BOTH(MPI_Gatherv, MPI_Igatherv, outgoing, 3, MPI_INT, incoming, twelve, displacements, MPI_CHAR,
         root, comm);
    expect_both(comm, "gatherv", stated, other ? 12 : 0, to_root);
    BOTH(MPI_Scatter, MPI_Iscatter, outgoing, 5, MPI_INT, incoming, 20, MPI_CHAR, root, comm);
    expect_both(comm, "scatter", stated, rank == 1 ? 40 : 0, NULL);
    from_root[2] = rank == 1 ? 4 : 0;
    from_root[3] = rank == 1 ? 8 : 0;
    BOTH(MPI_Scatterv, MPI_Iscatterv, outgoing, counts, displacements, MPI_INT, incoming, counts[rank % 2],
         MPI_INT, root, comm);
    expect_both(comm, "scatterv", stated, rank == 1 ? 12 : 0, from_root);
    BOTH(MPI_Reduce, MPI_Ireduce, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, root, comm);
    expect_both(comm, "reduce", stated, other ? 48 : 0, NULL);
}

static void rootless_across(MPI_Comm comm)
{
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    const int own = rank % 2, remote = rank < 2 ? 2 : 0;
    /* From rank i of a group to rank j of the other go counts[i] integers to each. */
    const int send[2] = {counts[own], counts[own]}, receive[2] = {counts[0], counts[1]};
    const int halves[2] = {3, 3};
    long row[4] = {0};
    row[remote] = row[remote + 1] = 4 * counts[own];
    BOTH(MPI_Barrier, MPI_Ibarrier, comm);
    expect_both(comm, "barrier", -1, 0, NULL);
    BOTH(MPI_Allgather, MPI_Iallgather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_both(comm, "allgather", -1, 12, NULL);
    BOTH(MPI_Allgatherv, MPI_Iallgatherv, outgoing, 3, MPI_INT, incoming, twelve, displacements,
         MPI_CHAR, comm);
    expect_both(comm, "allgatherv", -1, 12, NULL);
    BOTH(MPI_Alltoall, MPI_Ialltoall, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_both(comm, "alltoall", -1, 24, NULL);
    BOTH(MPI_Alltoallv, MPI_Ialltoallv, outgoing, send, displacements, MPI_INT, incoming, receive,
         displacements, MPI_INT, comm);
    expect_both(comm, "alltoallv", -1, 8 * counts[own], row);
    BOTH(MPI_Alltoallw, MPI_Ialltoallw, outgoing, send, displacements, types, incoming, receive,
         displacements, types, comm);
    expect_both(comm, "alltoallw", -1, 8 * counts[own], row);
    BOTH(MPI_Allreduce, MPI_Iallreduce, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_both(comm, "allreduce", -1, 48, NULL);
    BOTH(MPI_Reduce_scatter, MPI_Ireduce_scatter, outgoing, incoming, halves, MPI_DOUBLE, MPI_SUM,
         comm);
    expect_both(comm, "reduce_scatter", -1, 48, NULL);
    BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, outgoing, incoming, 2, MPI_DOUBLE,
         MPI_SUM, comm);
    expect_both(comm, "reduce_scatter_block", -1, 32, NULL);
}

void sample_collectives(void)
{
    MPI_Comm comm, half;
    const int forward[4] = {0, 1, 2, 3}, backward[4] = {3, 2, 1, 0};
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    on_intracommunicator(comm, forward);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    on_intracommunicator(comm, backward);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 8, &comm);
    rooted_across(comm);
    rootless_across(comm);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&half);
}
