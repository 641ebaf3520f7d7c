/*
 * killed.c - rank 1 sends 100 messages of 0, 1, ... 99 bytes and dies.
 *
 *   mpicc killed.c -o killed
 *   mpirun -np 2 ./killed kill|abort
 */
#include <mpi.h>

#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
    char content[100] = {0};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100; i++) {
        if (rank == 0)
            MPI_Recv(content, i, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(content, i, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 1 && argc > 1 && strcmp(argv[1], "kill") == 0)
        raise(SIGKILL);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
