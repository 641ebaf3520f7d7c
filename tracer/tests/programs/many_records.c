/* many_records.c N - creates N communicators that live at the same time, with a broadcast in each. */
#include <mpi.h>

#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm *communicators = malloc((size_t)count * sizeof *communicators);
    for (int i = 0; i < count; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
        MPI_Bcast(&i, 1, MPI_INT, 0, communicators[i]);
    }
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&communicators[i]);
    free(communicators);
    MPI_Finalize();
    return 0;
}
