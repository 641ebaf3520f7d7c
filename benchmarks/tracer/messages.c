/*
 * messages.c - the time of the cheapest messages there are (8 bytes), so that what a tracer adds is best seen.
 *
 *   messages hot [rounds]     1 rank: Irecv + Isend + Waitall, to itself
 *   messages batch [rounds]   1 rank: 64 times Irecv + Isend to itself; the Waitall behind them is not timed
 *   messages cold [rounds]    65 ranks on one node: Irecv + Isend with each of 64 partners in random order,
 *                             while the partners sleep; they answer afterwards, which is not timed
 *
 * Prints nanoseconds per pair of Irecv and Isend, and the percentage of rounds it was taken from: the lower
 * quartile of the rounds before and in which the kernel did not take the processor away. A disturbance only
 * ever makes a round longer, so this is steadier than the median where other programs run. Rank 0, which is
 * timed, has the last processor that it may use for itself, where there are two; all others share the first.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PARTNERS = 64, HOT_PAIRS = 1000 };

static char sent[8] = "message";
static char received[PARTNERS][8];
static MPI_Request requests[2 * PARTNERS];
static sem_t *awake;      /* of each partner, in memory that all ranks share */
static int own_processor; /* whether rank 0 has one */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static long interruptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

static void pair(int partner, int i)
{
    MPI_Irecv(received[i], 8, MPI_CHAR, partner, 0, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(sent, 8, MPI_CHAR, partner, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
}

static double hot_round(void)
{
    const double start = now();
    for (int i = 0; i < HOT_PAIRS; i++) {
        pair(0, 0);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return (now() - start) / HOT_PAIRS;
}

static double batch_round(const int *partners)
{
    const double start = now();
    for (int i = 0; i < PARTNERS; i++)
        pair(partners[i], i);
    return (now() - start) / PARTNERS;
}

/* Lets the partners answer. Giving the processor away would let other programs empty its caches. */
static void finish_batch(int cold)
{
    int done = 0;
    for (int i = 0; cold && i < PARTNERS; i++)
        sem_post(&awake[i]);
    while (!done) {
        MPI_Testall(2 * PARTNERS, requests, &done, MPI_STATUSES_IGNORE);
        if (!done && !own_processor)
            sched_yield();
    }
}

static void shuffle(int *partners)
{
    for (int i = PARTNERS - 1; i > 0; i--) {
        const int j = rand() % (i + 1), kept = partners[i];
        partners[i] = partners[j];
        partners[j] = kept;
    }
}

static void answer(int rank, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        sem_wait(&awake[rank - 1]);
        MPI_Recv(received[0], 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(sent, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *mode, int rounds)
{
    const int hot = strcmp(mode, "hot") == 0, cold = strcmp(mode, "cold") == 0;
    double *undisturbed = malloc((size_t)rounds * sizeof *undisturbed);
    int partners[PARTNERS], kept = 0;
    for (int i = 0; i < PARTNERS; i++)
        partners[i] = cold ? i + 1 : 0;
    long before = interruptions();
    for (int i = 0; i < rounds; i++) {
        if (cold)
            shuffle(partners);
        const double nanoseconds = hot ? hot_round() : batch_round(partners);
        const long after = interruptions();
        if (after == before)
            undisturbed[kept++] = nanoseconds;
        before = after;
        if (!hot)
            finish_batch(cold);
    }
    qsort(undisturbed, (size_t)kept, sizeof *undisturbed, ascending);
    printf("%.1f %.0f\n", kept > 0 ? undisturbed[kept / 4] : NAN, 100.0 * kept / rounds);
    free(undisturbed);
}

static void bind_to_own_processor(int rank)
{
    cpu_set_t allowed, chosen;
    int processor = -1;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &allowed) && (processor < 0 || rank == 0))
            processor = i;
    own_processor = rank == 0 && CPU_COUNT(&allowed) > 1;
    CPU_ZERO(&chosen);
    CPU_SET((size_t)processor, &chosen);
    sched_setaffinity(0, sizeof chosen, &chosen);
}

/* Not in a window of MPI: Open MPI's monitoring does not let programs ask for the memory of another rank. */
static void share_semaphores(int rank)
{
    const size_t size = PARTNERS * sizeof *awake;
    char name[64];
    int process = (int)getpid(), file;
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/messages-%d", process);
    if (rank > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    file = shm_open(name, O_RDWR | (rank == 0 ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0 || (rank == 0 && ftruncate(file, (off_t)size) != 0)) {
        perror(name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    awake = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    for (int i = 0; rank == 0 && i < PARTNERS; i++)
        sem_init(&awake[i], 1, 0);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        shm_unlink(name);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "hot";
    const int rounds = argc > 2 ? atoi(argv[2]) : 1000;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != (strcmp(mode, "cold") == 0 ? PARTNERS + 1 : 1)) {
        fprintf(stderr, "messages: hot and batch need 1 rank, cold needs %d\n", PARTNERS + 1);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bind_to_own_processor(rank);
    share_semaphores(rank);
    if (rank == 0)
        measure(mode, rounds);
    else
        answer(rank, rounds);
    MPI_Finalize();
    return 0;
}
