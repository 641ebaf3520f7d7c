/* MPI programs of one kind of traffic each; between rounds they sleep, which is computing that needs no PU.
 *
 *     traffic KIND BYTES ROUNDS [MILLISECONDS]
 *
 * BYTES is the size of each message, MILLISECONDS what every rank sleeps in each round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PEERS = 8 };

static int rank, ranks, bytes, rounds, milliseconds;
static char *out, *in;

static void compute(int share)
{
    long nanoseconds = milliseconds * 1000000L / share;
    struct timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    if (nanoseconds > 0)
        nanosleep(&pause, NULL);
}

/* Sends to some ranks and receives from some, all at once; out and in have room for PEERS messages. */
static void exchange(int sends, const int *to, const int *lengths, int receives, const int *from, const int *expected)
{
    MPI_Request requests[2 * PEERS];
    int open = 0;

    for (int i = 0; i < receives; i++)
        MPI_Irecv(in + (size_t)i * bytes, expected ? expected[i] : bytes, MPI_CHAR, from[i], 0, MPI_COMM_WORLD,
                  &requests[open++]);
    for (int i = 0; i < sends; i++)
        MPI_Isend(out + (size_t)i * bytes, lengths ? lengths[i] : bytes, MPI_CHAR, to[i], 0, MPI_COMM_WORLD,
                  &requests[open++]);
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
}

static void ring(void)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;

    for (int round = 0; round < rounds; round++) {
        compute(1);
        exchange(1, &to, NULL, 1, &from, NULL);
    }
}

/* The width of the widest grid that is at least as high as wide. */
static int width(void)
{
    int most = 1;

    for (int i = 1; i * i <= ranks; i++)
        if (ranks % i == 0)
            most = i;
    return most;
}

/* A periodic grid whose ranks are numbered across it in steps of 5 places, and the residual of each step. */
static void stencil(void)
{
    int columns = width(), rows = ranks / columns, place = 0, neighbours[4];
    double residual = 1, sum;

    while (place * 5 % ranks != rank && place < ranks)
        place++;
    int row = place / columns, column = place % columns;
    int places[4] = {(row + 1) % rows * columns + column, (row + rows - 1) % rows * columns + column,
                     row * columns + (column + 1) % columns, row * columns + (column + columns - 1) % columns};
    for (int i = 0; i < 4; i++)
        neighbours[i] = places[i] * 5 % ranks;
    for (int round = 0; round < rounds; round++) {
        compute(1);
        exchange(4, neighbours, NULL, 4, neighbours, NULL);
        MPI_Allreduce(&residual, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Exchanges with the rank that differs in one bit of the number, bit after bit, the highest first. */
static void butterfly(void)
{
    for (int round = 0; round < rounds; round++)
        for (int bit = 1 << 10; bit > 0; bit >>= 1)
            if (bit < ranks && (rank ^ bit) < ranks) {
                int other = rank ^ bit;
                compute(4);
                exchange(1, &other, NULL, 1, &other, NULL);
            }
}

static unsigned long drawn(unsigned long *state)
{
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return *state >> 33;
}

/* Three random partners for each rank, and from BYTES / 16 to BYTES for each of them. */
static void sparse(void)
{
    int to[3], lengths[3], from[PEERS], expected[PEERS], sends = 0, receives = 0;
    unsigned long state = 7;

    for (int source = 0; source < ranks; source++)
        for (int i = 0; i < 3; i++) {
            int destination = (int)((source + 1 + drawn(&state) % (ranks - 1)) % ranks);
            int length = (int)(bytes / 16 + drawn(&state) % (bytes - bytes / 16));
            if (source == rank) {
                to[sends] = destination;
                lengths[sends++] = length;
            }
            if (destination == rank && receives == PEERS)
                MPI_Abort(MPI_COMM_WORLD, 1);
            if (destination == rank) {
                from[receives] = source;
                expected[receives++] = length;
            }
        }
    for (int round = 0; round < rounds; round++) {
        compute(1);
        exchange(sends, to, lengths, receives, from, expected);
    }
}

/* A front that crosses a grid from one corner to the other: each rank waits for two, works, and sends to two. */
static void wavefront(void)
{
    int columns = width(), rows = ranks / columns, row = rank / columns, column = rank % columns;

    for (int round = 0; round < rounds; round++) {
        if (row > 0)
            MPI_Recv(in, bytes, MPI_CHAR, rank - columns, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (column > 0)
            MPI_Recv(in, bytes, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(1);
        if (row + 1 < rows)
            MPI_Send(out, bytes, MPI_CHAR, rank + columns, 0, MPI_COMM_WORLD);
        if (column + 1 < columns)
            MPI_Send(out, bytes, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
    }
}

/* Rank 0 gives work to whoever asks, and takes the results. */
static void farm(void)
{
    MPI_Status status;

    if (rank == 0) {
        int tasks = rounds * (ranks - 1), working = ranks - 1;
        while (working > 0) {
            int length;
            MPI_Recv(in, bytes, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
            int more = tasks-- > 0;
            MPI_Send(out, more ? bytes : 0, MPI_CHAR, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
            working -= !more;
        }
        return;
    }
    for (int length = 0, more = 1; more; length = bytes) {
        MPI_Send(out, length, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &more);
        if (more)
            compute(1);
    }
}

static void all_to_all(void)
{
    for (int round = 0; round < rounds; round++) {
        compute(1);
        MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
    }
}

/* All-to-all in groups of four ranks whose numbers lie far apart. */
static void groups(void)
{
    MPI_Comm group;

    MPI_Comm_split(MPI_COMM_WORLD, rank % (ranks / 4), rank, &group);
    for (int round = 0; round < rounds; round++) {
        compute(1);
        MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, group);
    }
    MPI_Comm_free(&group);
}

static void gather(void)
{
    for (int round = 0; round < rounds; round++) {
        compute(1);
        MPI_Gather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Bcast(in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {{"ring", ring},       {"stencil", stencil}, {"butterfly", butterfly}, {"sparse", sparse},
             {"wavefront", wavefront}, {"farm", farm},   {"all-to-all", all_to_all}, {"groups", groups},
             {"gather", gather}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    void (*run)(void) = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && argc >= 4; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            run = kinds[i].run;
    if (!run) {
        fprintf(stderr, "usage: traffic KIND BYTES ROUNDS [MILLISECONDS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bytes = atoi(argv[2]);
    rounds = atoi(argv[3]);
    milliseconds = argc > 4 ? atoi(argv[4]) : 0;
    size_t room = (size_t)bytes * (ranks > PEERS ? ranks : PEERS);
    out = calloc(room, 1);
    in = calloc(room, 1);
    run();
    MPI_Finalize();
    return 0;
}
