/*
 * messages.c - the time of the cheapest messages there are (8 bytes), so that what a tracer adds is best seen.
 *
 *   messages hot [rounds]     1 rank: Irecv + Isend + Waitall, to itself
 *   messages batch [rounds]   1 rank: 64 times Irecv + Isend to itself; the Waitall behind them is not timed
 *   messages cold [rounds]    65 ranks: Irecv + Isend with each of 64 partners in random order; the Waitall
 *                             behind them is not timed, as it waits for the partners
 *
 * Prints nanoseconds per pair of Irecv and Isend: the median of the rounds. Rank 0, which is timed, has the
 * last processor for itself; all others share the first.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTNERS = 64, HOT_PAIRS = 20000 };

static char sent[8] = "message";
static char received[PARTNERS][8];
static MPI_Request requests[2 * PARTNERS];

static void pair(int partner, int i)
{
    MPI_Irecv(received[i], 8, MPI_CHAR, partner, 0, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(sent, 8, MPI_CHAR, partner, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
}

static double hot_round(void)
{
    const double start = MPI_Wtime();
    for (int i = 0; i < HOT_PAIRS; i++) {
        pair(0, 0);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - start) / HOT_PAIRS;
}

static double batch_round(const int *partners)
{
    const double start = MPI_Wtime();
    for (int i = 0; i < PARTNERS; i++)
        pair(partners[i], i);
    const double seconds = (MPI_Wtime() - start) / PARTNERS;
    MPI_Waitall(2 * PARTNERS, requests, MPI_STATUSES_IGNORE);
    return seconds;
}

static void shuffle(int *partners)
{
    for (int i = PARTNERS - 1; i > 0; i--) {
        const int j = rand() % (i + 1), kept = partners[i];
        partners[i] = partners[j];
        partners[j] = kept;
    }
}

static void answer(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Recv(received[0], 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(sent, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void bind_to(long processor)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET((size_t)processor, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "hot";
    const int rounds = argc > 2 ? atoi(argv[2]) : 200;
    const int cold = strcmp(mode, "cold") == 0;
    int rank, partners[PARTNERS];
    double *seconds = malloc((size_t)rounds * sizeof *seconds);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind_to(rank == 0 ? sysconf(_SC_NPROCESSORS_ONLN) - 1 : 0);
    for (int i = 0; i < PARTNERS; i++)
        partners[i] = cold ? i + 1 : 0;
    if (rank > 0) {
        answer(rounds);
    } else {
        for (int i = 0; i < rounds; i++) {
            if (cold)
                shuffle(partners);
            seconds[i] = strcmp(mode, "hot") == 0 ? hot_round() : batch_round(partners);
        }
        qsort(seconds, (size_t)rounds, sizeof *seconds, ascending);
        printf("%.1f\n", seconds[rounds / 2] * 1e9);
    }
    MPI_Finalize();
    free(seconds);
    return 0;
}
