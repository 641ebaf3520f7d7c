/*
 * wildcards.c - receives with MPI_ANY_SOURCE, completed by polling, a receive that is cancelled, and a send whose
 * request is freed at once. On 3 ranks.
 *
 *   mpicc wildcards.c -o wildcards
 *   mpirun -np 3 ./wildcards
 */
#include <mpi.h>

static void receive_from_anyone(void)
{
    int from_one[10], from_two[20], nobody, flag = 0, done = 0, index;
    MPI_Request requests[3], forgotten;
    MPI_Irecv(from_one, 10, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&nobody, 1, MPI_INT, MPI_ANY_SOURCE, 13, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(from_two, 20, MPI_INT, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &requests[2]);
    MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE); /* without result: there is no send before the barrier */
    MPI_Iprobe(MPI_ANY_SOURCE, 14, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Isend(&nobody, 0, MPI_INT, 1, 15, MPI_COMM_WORLD, &forgotten);
    MPI_Request_free(&forgotten);
    MPI_Barrier(MPI_COMM_WORLD);
    while (done < 2) {
        MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE);
        done += flag;
    }
    MPI_Cancel(&requests[1]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, content[20] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        receive_from_anyone();
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(content, 0, MPI_INT, 0, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(content, 10 * rank, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
