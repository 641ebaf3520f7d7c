/*
 * alltoall_sleep.c - the microbenchmark of Koop, Luo and Panda 2009 ("Reducing network contention with
 * mixed workloads on modern multicore clusters", section VI.C): in every round each rank sleeps, as if
 * it computed, then all exchange a message with all (MPI_Alltoall) and meet (MPI_Barrier).
 *
 * It shows what jobs gain by sharing nodes: without sleep two of them on half of the cores each take as
 * long as one on all cores; with sleep they need the network at different times.
 *
 *   mpicc -O2 alltoall_sleep.c -o alltoall_sleep
 *   mpirun -np 16 ./alltoall_sleep
 *   mpirun -np 16 ./alltoall_sleep --bytes 350000 --sleep 1 --rounds 20
 *   mpirun -np 16 ./alltoall_sleep --sleep 0.1 --seconds 30
 *
 * --seconds repeats rounds for that long instead, as a job in the background. Prints one line: the mean
 * time of a round without the sleep, on rank 0.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    long bytes;     /* to each rank, in a round */
    double sleep;   /* seconds before each exchange */
    long rounds;
    double seconds; /* if above 0: rounds until then */
};

static void usage(const char *problem, const char *word)
{
    fprintf(stderr, "alltoall_sleep: %s%s\n", problem, word);
    fprintf(stderr, "usage: alltoall_sleep [--bytes N] [--sleep SECONDS] [--rounds N] [--seconds SECONDS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static double number(const char *text, const char *option)
{
    char *end = NULL;
    errno = 0;
    double value = text == NULL ? -1 : strtod(text, &end);
    if (text == NULL || end == text || *end != '\0' || errno != 0 || !(value >= 0 && value <= 1e9))
        usage("expected a number from 0 to 1e9 after ", option);
    return value;
}

static struct options parse(int argc, char **argv)
{
    struct options options = { .bytes = 350000, .sleep = 0, .rounds = 10, .seconds = 0 };
    for (int at = 1; at < argc; at += 2) {
        const char *value = at + 1 < argc ? argv[at + 1] : NULL;
        if (strcmp(argv[at], "--bytes") == 0)
            options.bytes = (long)number(value, argv[at]);
        else if (strcmp(argv[at], "--sleep") == 0)
            options.sleep = number(value, argv[at]);
        else if (strcmp(argv[at], "--rounds") == 0)
            options.rounds = (long)number(value, argv[at]);
        else if (strcmp(argv[at], "--seconds") == 0)
            options.seconds = number(value, argv[at]);
        else
            usage("unknown option ", argv[at]);
    }
    if (options.bytes > 0x7fffffff)
        usage("at most 2147483647 are possible after ", "--bytes");
    return options;
}

static void sleep_for(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds };
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (seconds > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct options options = parse(argc, argv);
    size_t all = (size_t)options.bytes * (size_t)size;
    char *out = calloc(all + 1, 1), *in = calloc(all + 1, 1);
    if (out == NULL || in == NULL) {
        fprintf(stderr, "alltoall_sleep: no memory for two buffers of %zu bytes\n", all);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), exchanging = 0;
    long rounds = 0;
    int more = options.seconds > 0 || options.rounds > 0;
    while (more) {
        sleep_for(options.sleep);
        double before = MPI_Wtime();
        MPI_Alltoall(out, (int)options.bytes, MPI_BYTE, in, (int)options.bytes, MPI_BYTE, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        exchanging += MPI_Wtime() - before;
        rounds++;
        more = options.seconds > 0 ? MPI_Wtime() - begin < options.seconds : rounds < options.rounds;
        if (options.seconds > 0) /* all stop after the same round */
            MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d ranks, %ld bytes, sleep %g s: %ld rounds, %.6f s each without the sleep\n", size,
               options.bytes, options.sleep, rounds, rounds > 0 ? exchanging / (double)rounds : 0.0);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
