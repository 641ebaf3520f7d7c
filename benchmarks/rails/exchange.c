/* Sends what a list of pairs says, in rounds, and prints the seconds of the slowest rank.
 *
 *     exchange PAIRS ROUNDS
 *
 * PAIRS has lines `source destination bytes`; each round sends every pair its bytes at once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096 };

int main(int argc, char **argv)
{
    static MPI_Request requests[2 * MOST];
    static int peer[MOST], bytes[MOST], outgoing[MOST];
    int rank, pairs = 0, source, destination, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *list = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!list) {
        fprintf(stderr, "usage: exchange PAIRS ROUNDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    while (fscanf(list, "%d %d %d", &source, &destination, &length) == 3) {
        if (source != rank && destination != rank)
            continue;
        if (pairs == MOST)
            MPI_Abort(MPI_COMM_WORLD, 2);
        outgoing[pairs] = source == rank;
        peer[pairs] = source == rank ? destination : source;
        bytes[pairs++] = length;
    }
    fclose(list);
    char **buffers = calloc(pairs + 1, sizeof *buffers);
    for (int i = 0; i < pairs; i++)
        buffers[i] = calloc(bytes[i] + 1, 1);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int round = atoi(argv[2]); round > 0; round--) {
        for (int i = 0; i < pairs; i++)
            if (outgoing[i])
                MPI_Isend(buffers[i], bytes[i], MPI_CHAR, peer[i], 0, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(buffers[i], bytes[i], MPI_CHAR, peer[i], 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(pairs, requests, MPI_STATUSES_IGNORE);
    }
    double mine = MPI_Wtime() - start, slowest;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.4f\n", slowest);
    MPI_Finalize();
    return 0;
}
