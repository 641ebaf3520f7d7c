/* messages COUNT: rank 0 sends messages of 8 bytes to rank 1; prints ns of its processor time per message, the least
 * of 20 rounds. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "processor_time.h"

enum { WINDOW = 64 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int windows = (argc > 1 ? atoi(argv[1]) : 20000) / WINDOW;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double least = 1e18, bytes[WINDOW] = {0};
    MPI_Request requests[WINDOW];
    for (int round = 0; round < 20; round++) {
        const double before = processor_time();
        for (int window = 0; window < windows; window++) {
            for (int i = 0; i < WINDOW; i++) {
                if (rank == 0)
                    MPI_Isend(bytes + i, 8, MPI_BYTE, 1, i, MPI_COMM_WORLD, requests + i);
                else
                    MPI_Irecv(bytes + i, 8, MPI_BYTE, 0, i, MPI_COMM_WORLD, requests + i);
            }
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        }
        const double time = (processor_time() - before) / (windows * (double)WINDOW);
        least = time < least ? time : least;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.1f\n", least);
    MPI_Finalize();
    return 0;
}
