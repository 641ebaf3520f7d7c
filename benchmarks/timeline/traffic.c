/* traffic ring|all-to-all|bursts BYTES ROUNDS [COMPUTE_MS]: computes (sleeps), then communicates, and so on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void compute(double ms)
{
    struct timespec time = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (long)(ms / 1e3)) * 1e6)};
    if (ms > 0)
        nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) {
        fprintf(stderr, "usage: traffic ring|all-to-all|bursts BYTES ROUNDS [COMPUTE_MS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int bytes = atoi(argv[2]), rounds = atoi(argv[3]);
    const double ms = argc > 4 ? atof(argv[4]) : 0;
    char *out = calloc((size_t)size, (size_t)bytes), *in = calloc((size_t)size, (size_t)bytes);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < rounds; round++) {
        compute(ms);
        if (strcmp(argv[1], "ring") == 0) {
            MPI_Sendrecv(out, bytes, MPI_BYTE, next, 0, in, bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        } else if (strcmp(argv[1], "all-to-all") == 0) {
            MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        } else {
            /* Only every fourth round, and ever more. */
            if (round % 4 == 0)
                for (int i = 0; i <= round / 4; i++)
                    MPI_Sendrecv(out, bytes, MPI_BYTE, next, 0, in, bytes, MPI_BYTE, before, 0,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
