/*
 * sampler.c - makes every wrapped call at least once, on 4 ranks, with known sizes.
 *
 *   mpicc sampler.c -o sampler
 *   mpirun -np 4 ./sampler FOLDER
 *
 * Beside each call stands what the tracer has to record of it, in plain numbers; every rank writes
 * these expectations to FOLDER/expected.RANK, in two kinds of lines:
 *   send DESTINATION BYTES
 *   collective COMMUNICATOR OPERATION NONBLOCKING ROOT BYTES [DESTINATION:BYTES ...]
 * Ranks are world ranks, communicators are named by MPI_Comm_set_name.
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

void expect_collective(const char *communicator, const char *operation, int nonblocking, int root,
                       long bytes, const long row[4])
{
    fprintf(expectations, "collective %s %s %d %d %ld", communicator, operation, nonblocking, root, bytes);
    for (int i = 0; row && i < 4; i++)
        if (row[i] > 0)
            fprintf(expectations, " %d:%ld", i, row[i]);
    fprintf(expectations, "\n");
}

void expect_both(const char *communicator, const char *operation, int root, long bytes,
                 const long row[4])
{
    expect_collective(communicator, operation, 0, root, bytes, row);
    expect_collective(communicator, operation, 1, root, bytes, row);
}

void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    char path[4096];
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 4 || argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s/expected.%d", argv[1], rank);
    expectations = fopen(path, "w");
    if (!expectations)
        MPI_Abort(MPI_COMM_WORLD, 2);
    sample_point_to_point();
    sample_communicators();
    sample_collectives();
    sample_neighbourhoods();
    fclose(expectations);
    MPI_Finalize();
    return 0;
}
