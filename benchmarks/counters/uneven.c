/* Traffic that differs from rank to rank: uneven BYTES ROUNDS. Rank r sends BYTES * (1 + r % 5) to the
 * next rank and half of it to the rank after that, ROUNDS times. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, bytes = atoi(argv[1]), rounds = atoi(argv[2]);
    char *out = calloc(5, bytes), *in = calloc(5, bytes);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++)
        for (int step = 1; step <= 2; step++) {
            int from = (rank + size - step) % size;
            MPI_Sendrecv(out, bytes * (1 + rank % 5) / step, MPI_CHAR, (rank + step) % size, 0, in,
                         bytes * (1 + from % 5) / step, MPI_CHAR, from, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
    MPI_Finalize();
    return 0;
}
