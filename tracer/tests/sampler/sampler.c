/*
 * sampler.c - makes every wrapped call at least once, on 4 ranks, with known sizes.
 *
 *   mpicc sampler*.c -o sampler
 *   mpirun -np 4 ./sampler FOLDER [one-sided]
 *
 * Each call is followed by the expected record, in plain numbers; each rank writes its expectations to
 * FOLDER/expected.RANK, in lines of these kinds:
 *   send DESTINATION BYTES
 *   put TARGET BYTES
 *   get TARGET BYTES
 *   collective MEMBERS OPERATION FORM ROOT BYTES [DESTINATION:BYTES ...]
 *   topology KIND DIMENSIONS PERIODS NEIGHBOURS
 * FORM is 0 (blocking), 1 (nonblocking) or 2 (persistent). The parts of a topology are lists with commas, - if empty;
 * NEIGHBOURS, to which the rank sends, are RANK*WEIGHT, x for MPI_PROC_NULL.
 * Ranks are world ranks. MEMBERS are those of the communicator, "0,1,2,3", or "0,1/2,3" for an
 * intercommunicator.
 */
#include "sampler.h"

#include <stdlib.h>

int rank;
char outgoing[4096], incoming[4096];
static FILE *expectations;

void expect_send(int destination, long bytes)
{
    fprintf(expectations, "send %d %ld\n", destination, bytes);
}

void expect_put(int target, long bytes)
{
    fprintf(expectations, "put %d %ld\n", target, bytes);
}

void expect_get(int target, long bytes)
{
    fprintf(expectations, "get %d %ld\n", target, bytes);
}

void expect_topology(const char *description)
{
    fprintf(expectations, "topology %s\n", description);
}

static int print_members(MPI_Group group, char *text)
{
    int size, length = 0;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++) {
        int world_rank;
        MPI_Group_translate_ranks(group, 1, &i, world, &world_rank);
        length += sprintf(text + length, "%s%d", i ? "," : "", world_rank);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return length;
}

static void print_communicator(MPI_Comm comm, char text[64])
{
    int is_inter;
    MPI_Group local, remote;
    MPI_Comm_test_inter(comm, &is_inter);
    MPI_Comm_group(comm, &local);
    if (!is_inter) {
        print_members(local, text);
        return;
    }
    MPI_Comm_remote_group(comm, &remote);
    /* All intercommunicators here join the lower with the upper half. */
    const int length = print_members(rank < 2 ? local : remote, text);
    text[length] = '/';
    print_members(rank < 2 ? remote : local, text + length + 1);
}

void expect_collective(MPI_Comm comm, const char *operation, enum form form, int root, long bytes,
                       const long row[4])
{
    char members[64];
    print_communicator(comm, members);
    fprintf(expectations, "collective %s %s %d %d %ld", members, operation, (int)form, root, bytes);
    for (int i = 0; row && i < 4; i++)
        if (row[i] > 0)
            fprintf(expectations, " %d:%ld", i, row[i]);
    fprintf(expectations, "\n");
}

void expect_all(MPI_Comm comm, const char *operation, int root, long bytes, const long row[4])
{
    expect_collective(comm, operation, BLOCKING, root, bytes, row);
    expect_collective(comm, operation, NONBLOCKING, root, bytes, row);
    for (int start = 0; HAS_PERSISTENT_COLLECTIVES && start < 2; start++)
        expect_collective(comm, operation, PERSISTENT_START, root, bytes, row);
}

static void expect_neighbourhood(MPI_Comm comm, const char *operation, enum form form, int neighbours,
                                 const int destinations[], long bytes)
{
    char members[64];
    long reached = 0;
    print_communicator(comm, members);
    for (int i = 0; i < neighbours; i++)
        reached += destinations[i] >= 0;
    fprintf(expectations, "collective %s %s %d -1 %ld", members, operation, (int)form, bytes * reached);
    for (int i = 0; i < neighbours; i++)
        if (destinations[i] >= 0)
            fprintf(expectations, " %d:%ld", destinations[i], bytes);
    fprintf(expectations, "\n");
}

void expect_neighbours(MPI_Comm comm, const char *operation, int neighbours, const int destinations[],
                       long bytes)
{
    expect_neighbourhood(comm, operation, BLOCKING, neighbours, destinations, bytes);
    expect_neighbourhood(comm, operation, NONBLOCKING, neighbours, destinations, bytes);
    for (int start = 0; HAS_PERSISTENT_COLLECTIVES && start < 2; start++)
        expect_neighbourhood(comm, operation, PERSISTENT_START, neighbours, destinations, bytes);
}

void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void sample_all_but_one_sided(void)
{
    sample_point_to_point();
    sample_communicators();
    sample_collectives();
    sample_neighbourhoods();
    sample_partitioned();
    sample_large_numbers();
}

int main(int argc, char **argv)
{
    char path[4096];
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 4 || argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s/expected.%d", argv[1], rank);
    expectations = fopen(path, "w");
    if (!expectations)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc == 2)
        sample_all_but_one_sided();
    sample_one_sided();
    fclose(expectations);
    MPI_Finalize();
    return 0;
}
