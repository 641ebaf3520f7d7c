/*
 * ring.c - every rank sends to the next one and receives from the one before, round after round.
 *
 *   mpicc -O2 ring.c -o ring
 *   mpirun -np 8 ./ring 100000 50      (bytes of a message, rounds)
 *
 * Each rank prints its host and its time.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, length;
    char host[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    int bytes = argc > 1 ? atoi(argv[1]) : 100000;
    int rounds = argc > 2 ? atoi(argv[2]) : 50;
    char *out = calloc(bytes > 0 ? bytes : 1, 1), *in = calloc(bytes > 0 ? bytes : 1, 1);
    if (bytes < 0 || out == NULL || in == NULL) {
        fprintf(stderr, "ring: cannot send messages of %d bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int round = 0; round < rounds; round++)
        MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 0, in, bytes, MPI_BYTE, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d on %s %.3f s\n", rank, host, MPI_Wtime() - start);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
