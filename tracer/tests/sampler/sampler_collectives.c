/* sampler_collectives.c - every collective operation, blocking, nonblocking and persistent. */
#include "sampler.h"

static const count_type counts[4] = {1, 2, 0, 3}, twelve[4] = {12, 12, 12, 12};
static const displacement_type displacements[4] = {0, 100, 200, 300};

/* In a communicator of 4 ranks; `local` is this rank there, world[i] the world rank of rank i. */
static void rooted(MPI_Comm comm, int local, const int world[4], int root)
{
    const int at_root = local == root;
    const void *gathered = at_root ? MPI_IN_PLACE : outgoing;
    long to_root[4] = {0}, from_root[4] = {0};
    ALL_FORMS(Bcast, bcast, incoming, 25, MPI_INT, root, comm);
    expect_all(comm, "bcast", world[root], at_root ? 100 : 0, NULL);

    ALL_FORMS(Gather, gather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, root, comm);
    expect_all(comm, "gather", world[root], 12, NULL);
    ALL_FORMS(Gather, gather, gathered, 3, MPI_INT, incoming, 12, MPI_CHAR, root, comm);
    expect_all(comm, "gather", world[root], 12, NULL);

    to_root[world[root]] = 4 * counts[local];
    ALL_FORMS(Gatherv, gatherv, outgoing, counts[local], MPI_INT, incoming, counts, displacements,
         MPI_INT, root, comm);
    expect_all(comm, "gatherv", world[root], 4 * counts[local], to_root);
    ALL_FORMS(Gatherv, gatherv, gathered, counts[local], MPI_INT, incoming, counts, displacements,
         MPI_INT, root, comm);
    expect_all(comm, "gatherv", world[root], 4 * counts[local], to_root);

    ALL_FORMS(Scatter, scatter, outgoing, 5, MPI_INT, incoming, 20, MPI_CHAR, root, comm);
    expect_all(comm, "scatter", world[root], at_root ? 80 : 0, NULL);
    ALL_FORMS(Scatter, scatter, outgoing, 5, MPI_INT, at_root ? MPI_IN_PLACE : incoming, 20,
         MPI_CHAR, root, comm);
    expect_all(comm, "scatter", world[root], at_root ? 80 : 0, NULL);

    for (int i = 0; at_root && i < 4; i++)
        from_root[world[i]] = 4 * counts[i];
    ALL_FORMS(Scatterv, scatterv, outgoing, counts, displacements, MPI_INT, incoming, counts[local],
         MPI_INT, root, comm);
    expect_all(comm, "scatterv", world[root], at_root ? 24 : 0, from_root);

    ALL_FORMS(Reduce, reduce, at_root ? MPI_IN_PLACE : outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM,
         root, comm);
    expect_all(comm, "reduce", world[root], 48, NULL);
}

static void gathered_everywhere(MPI_Comm comm, int local)
{
    ALL_FORMS(Allgather, allgather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_all(comm, "allgather", -1, 12, NULL);
    ALL_FORMS(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, 12, MPI_CHAR,
         comm);
    expect_all(comm, "allgather", -1, 12, NULL);
    ALL_FORMS(Allgatherv, allgatherv, outgoing, counts[local], MPI_INT, incoming, counts,
         displacements, MPI_INT, comm);
    expect_all(comm, "allgatherv", -1, 4 * counts[local], NULL);
    ALL_FORMS(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, counts,
         displacements, MPI_INT, comm);
    expect_all(comm, "allgatherv", -1, 4 * counts[local], NULL);
}

/* Rank i sends matrix[i][j] integers to rank j. */
static const count_type matrix[4][4] = {{1, 2, 3, 4}, {5, 0, 7, 8}, {0, 0, 1, 0}, {2, 2, 2, 2}};
/* In place, both directions have equal counts. */
static const count_type symmetric[4][4] = {{1, 2, 3, 4}, {2, 0, 5, 6}, {3, 5, 7, 0}, {4, 6, 0, 8}};

static void all_to_all(MPI_Comm comm, int local, const int world[4])
{
    const MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    count_type receive[4];
    long row[4], in_place_row[4], sum = 0, in_place_sum = 0;
    for (int i = 0; i < 4; i++) {
        receive[i] = matrix[i][local];
        row[world[i]] = 4 * matrix[local][i];
        in_place_row[world[i]] = 4 * symmetric[local][i];
        sum += row[world[i]];
        in_place_sum += in_place_row[world[i]];
    }
    ALL_FORMS(Alltoall, alltoall, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_all(comm, "alltoall", -1, 48, NULL);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, 12, MPI_CHAR, comm);
    expect_collective(comm, "alltoall", 0, -1, 48, NULL);

    ALL_FORMS(Alltoallv, alltoallv, outgoing, matrix[local], displacements, MPI_INT, incoming,
         receive, displacements, MPI_INT, comm);
    expect_all(comm, "alltoallv", -1, sum, row);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, incoming, symmetric[local], displacements,
                  MPI_INT, comm);
    expect_collective(comm, "alltoallv", 0, -1, in_place_sum, in_place_row);

    ALL_FORMS(Alltoallw, alltoallw, outgoing, matrix[local], displacements, types, incoming, receive,
         displacements, types, comm);
    expect_all(comm, "alltoallw", -1, sum, row);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, incoming, symmetric[local], displacements, types, comm);
    expect_collective(comm, "alltoallw", 0, -1, in_place_sum, in_place_row);
}

static void reductions(MPI_Comm comm, const int world[4])
{
    long row[4];
    for (int i = 0; i < 4; i++)
        row[world[i]] = 8 * counts[i];
    ALL_FORMS(Allreduce, allreduce, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_all(comm, "allreduce", -1, 48, NULL);
    ALL_FORMS(Allreduce, allreduce, MPI_IN_PLACE, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_all(comm, "allreduce", -1, 48, NULL);
    ALL_FORMS(Reduce_scatter, reduce_scatter, outgoing, incoming, counts, MPI_DOUBLE, MPI_SUM,
         comm);
    expect_all(comm, "reduce_scatter", -1, 48, row);
    ALL_FORMS(Reduce_scatter_block, reduce_scatter_block, outgoing, incoming, 2, MPI_DOUBLE,
         MPI_SUM, comm);
    expect_all(comm, "reduce_scatter_block", -1, 64, NULL);
    ALL_FORMS(Scan, scan, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_all(comm, "scan", -1, 48, NULL);
    ALL_FORMS(Exscan, exscan, outgoing, incoming, 7, MPI_DOUBLE, MPI_SUM, comm);
    expect_all(comm, "exscan", -1, 56, NULL);
    ALL_FORMS(Barrier, barrier, comm);
    expect_all(comm, "barrier", -1, 0, NULL);
}

static void on_intracommunicator(MPI_Comm comm, const int world[4])
{
    int local;
    MPI_Comm_rank(comm, &local);
    rooted(comm, local, world, 0);
    rooted(comm, local, world, 2);
    gathered_everywhere(comm, local);
    all_to_all(comm, local, world);
    reductions(comm, world);
}

/* Rank 1 is the root, of the lower group; ranks 2 and 3 are the other group. */
static void rooted_across(MPI_Comm comm)
{
    const int root = rank == 1 ? MPI_ROOT : rank == 0 ? MPI_PROC_NULL : 1;
    const int stated = rank == 0 ? -2 : 1;
    const int other = rank >= 2;
    long to_root[4] = {0}, from_root[4] = {0};
    ALL_FORMS(Bcast, bcast, incoming, 25, MPI_INT, root, comm);
    expect_all(comm, "bcast", stated, rank == 1 ? 100 : 0, NULL);
    ALL_FORMS(Gather, gather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, root, comm);
    expect_all(comm, "gather", stated, other ? 12 : 0, NULL);
    to_root[1] = other ? 12 : 0;
    ALL_FORMS(Gatherv, gatherv, outgoing, 3, MPI_INT, incoming, twelve, displacements, MPI_CHAR,
         root, comm);
    expect_all(comm, "gatherv", stated, other ? 12 : 0, to_root);
    ALL_FORMS(Scatter, scatter, outgoing, 5, MPI_INT, incoming, 20, MPI_CHAR, root, comm);
    expect_all(comm, "scatter", stated, rank == 1 ? 40 : 0, NULL);
    from_root[2] = rank == 1 ? 4 : 0;
    from_root[3] = rank == 1 ? 8 : 0;
    ALL_FORMS(Scatterv, scatterv, outgoing, counts, displacements, MPI_INT, incoming, counts[rank % 2],
         MPI_INT, root, comm);
    expect_all(comm, "scatterv", stated, rank == 1 ? 12 : 0, from_root);
    ALL_FORMS(Reduce, reduce, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, root, comm);
    expect_all(comm, "reduce", stated, other ? 48 : 0, NULL);
}

static void rootless_across(MPI_Comm comm)
{
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    const int local = rank % 2, remote = rank < 2 ? 2 : 0;
    /* Rank i of a group sends counts[i] integers to each rank of the other. */
    const count_type send[2] = {counts[local], counts[local]}, receive[2] = {counts[0], counts[1]};
    const count_type halves[2] = {3, 3};
    long row[4] = {0};
    row[remote] = row[remote + 1] = 4 * counts[local];
    ALL_FORMS(Barrier, barrier, comm);
    expect_all(comm, "barrier", -1, 0, NULL);
    ALL_FORMS(Allgather, allgather, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_all(comm, "allgather", -1, 12, NULL);
    ALL_FORMS(Allgatherv, allgatherv, outgoing, 3, MPI_INT, incoming, twelve, displacements,
         MPI_CHAR, comm);
    expect_all(comm, "allgatherv", -1, 12, NULL);
    ALL_FORMS(Alltoall, alltoall, outgoing, 3, MPI_INT, incoming, 12, MPI_CHAR, comm);
    expect_all(comm, "alltoall", -1, 24, NULL);
    ALL_FORMS(Alltoallv, alltoallv, outgoing, send, displacements, MPI_INT, incoming, receive,
         displacements, MPI_INT, comm);
    expect_all(comm, "alltoallv", -1, 8 * counts[local], row);
    ALL_FORMS(Alltoallw, alltoallw, outgoing, send, displacements, types, incoming, receive,
         displacements, types, comm);
    expect_all(comm, "alltoallw", -1, 8 * counts[local], row);
    ALL_FORMS(Allreduce, allreduce, outgoing, incoming, 6, MPI_DOUBLE, MPI_SUM, comm);
    expect_all(comm, "allreduce", -1, 48, NULL);
    ALL_FORMS(Reduce_scatter, reduce_scatter, outgoing, incoming, halves, MPI_DOUBLE, MPI_SUM,
         comm);
    expect_all(comm, "reduce_scatter", -1, 48, NULL);
    ALL_FORMS(Reduce_scatter_block, reduce_scatter_block, outgoing, incoming, 2, MPI_DOUBLE,
         MPI_SUM, comm);
    expect_all(comm, "reduce_scatter_block", -1, 32, NULL);
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
