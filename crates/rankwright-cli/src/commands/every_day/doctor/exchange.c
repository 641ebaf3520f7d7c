/* Each of 2 ranks sends one message to the other. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, sent = 1, got = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, 0, &got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Finalize();
    return got == 1 ? 0 : 1;
}
