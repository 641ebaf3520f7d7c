/*
 * histogram.c - sorts keys into the histogram of all ranks, by one-sided communication only.
 *
 * The bins of the histogram are dealt out to the ranks in equal parts. In every round each rank draws
 * its share of the keys and then, without its partners taking part in any transfer,
 *   - counts: adds its counts to the bins of their owners (MPI_Accumulate between fences);
 *   - delivers: reserves space in the owner's bucket (MPI_Fetch_and_op on the bucket's cursor) and
 *     writes its keys there (MPI_Put), while all buckets are locked for all ranks;
 *   - ranks: reads the cursors of all buckets before its own (MPI_Get between fences), so that it
 *     knows the place of its keys in the order of all keys.
 * Who reserves first depends on time; how much goes from whom to whom does not, and an owner sorts its
 * bucket. The keys of a rank lie around its own bins, so ranks with close numbers exchange most.
 *
 *   mpicc -O2 histogram.c -o histogram
 *   mpirun -np 16 ./histogram
 *   mpirun -np 16 ./histogram --keys 4000000 --bins 4096 --rounds 10
 *
 * If n of the keys that rank r draws belong to rank o, then r puts 8 bytes per bin of o, 8 bytes for
 * the reservation and 8 n bytes of keys into the memory of o, and gets 8 bytes, the place reserved; to
 * itself alike, and nothing at all if n is 0. It gets 8 more bytes from each rank before it.
 * Prints one line; its checksum is the same for every number of ranks and every order of events.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_PER_BIN = 65536 }; /* different keys that fall into a bin */

struct options {
    long keys; /* of all ranks together, in a round */
    long bins;
    int rounds;
};

struct sorter {
    int rank, size;
    long keys, bins;   /* of all ranks together */
    long *first_bin;   /* of each rank, and one behind the last */
    long own_keys;
    uint64_t *drawn;   /* own keys, those of one owner side by side */
    long *first_drawn; /* where the keys for each owner start, and one behind the last */
    uint64_t *counts;  /* of own keys, in all bins */
    uint64_t *histogram; /* own bins, a window */
    MPI_Win histogram_window;
};

static void fail(const char *message)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "histogram: %s\n", message);
    MPI_Finalize();
    exit(2);
}

static struct options read_options(int argc, char **argv)
{
    struct options options = {.keys = 1000000, .bins = 1024, .rounds = 5};
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--keys") == 0)
            options.keys = atol(value);
        else if (strcmp(argv[i], "--bins") == 0)
            options.bins = atol(value);
        else if (strcmp(argv[i], "--rounds") == 0)
            options.rounds = atoi(value);
        else
            fail("options: --keys N --bins N --rounds N");
    }
    if (options.keys < 1 || options.keys > 1L << 30 || options.rounds < 0)
        fail("--keys must be positive and at most 2^30, --rounds not negative");
    return options;
}

static void *allocate(long count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);
    if (!memory) {
        fprintf(stderr, "histogram: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* The first thing of part i when `things` are dealt out to `parts`. */
static long first_of(long things, int parts, int i)
{
    return things * i / parts;
}

static long own_bins(const struct sorter *sorter)
{
    return sorter->first_bin[sorter->rank + 1] - sorter->first_bin[sorter->rank];
}

static long owner_of(const struct sorter *sorter, long bin)
{
    return ((bin + 1) * sorter->size - 1) / sorter->bins;
}

/* Whole cache lines: MPICH 4.0 mixes up the memories of the ranks unless they are multiples of 16 bytes. */
static uint64_t *make_window(uint64_t elements, MPI_Win *window)
{
    uint64_t *memory;
    MPI_Win_allocate((MPI_Aint)((elements + 7) / 8 * 64), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, window);
    return memory;
}

static void set_up(struct sorter *sorter, const struct options *options)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &sorter->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &sorter->size);
    if (options->bins < sorter->size || options->bins > 1 << 16)
        fail("--bins must be at least the number of ranks, and at most 65536");
    sorter->keys = options->keys;
    sorter->bins = options->bins;
    sorter->own_keys = first_of(options->keys, sorter->size, sorter->rank + 1)
                       - first_of(options->keys, sorter->size, sorter->rank);
    sorter->first_bin = allocate(sorter->size + 1, sizeof *sorter->first_bin);
    for (int i = 0; i <= sorter->size; i++)
        sorter->first_bin[i] = first_of(options->bins, sorter->size, i);
    sorter->drawn = allocate(sorter->own_keys, sizeof *sorter->drawn);
    sorter->first_drawn = allocate(sorter->size + 1, sizeof *sorter->first_drawn);
    sorter->counts = allocate(options->bins, sizeof *sorter->counts);
    sorter->histogram = make_window((uint64_t)own_bins(sorter), &sorter->histogram_window);
}

/* Evenly distributed numbers out of counters: the finalizer of splitmix64. */
static uint64_t scramble(uint64_t number)
{
    number += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

/* Key `index` of all: in the middle of its share, give or take up to an eighth of all bins. */
static uint64_t key_at(const struct sorter *sorter, long index, int round)
{
    const uint64_t range = (uint64_t)sorter->bins * KEYS_PER_BIN;
    const uint64_t random = scramble((uint64_t)round << 32 | (uint64_t)index);
    const uint64_t offset = (random >> 32) % (range / 8) + (random & 0xffffffffu) % (range / 8);
    return ((uint64_t)index * range / (uint64_t)sorter->keys + range - range / 8 + offset) % range;
}

static int ascending(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void draw(struct sorter *sorter, int round)
{
    const long first = first_of(sorter->keys, sorter->size, sorter->rank);
    memset(sorter->counts, 0, (size_t)sorter->bins * sizeof *sorter->counts);
    memset(sorter->first_drawn, 0, ((size_t)sorter->size + 1) * sizeof *sorter->first_drawn);
    for (long i = 0; i < sorter->own_keys; i++) {
        const uint64_t key = key_at(sorter, first + i, round);
        const long bin = (long)(key / KEYS_PER_BIN);
        sorter->drawn[i] = key;
        sorter->counts[bin]++;
        sorter->first_drawn[owner_of(sorter, bin) + 1]++;
    }
    for (int owner = 0; owner < sorter->size; owner++)
        sorter->first_drawn[owner + 1] += sorter->first_drawn[owner];
    qsort(sorter->drawn, (size_t)sorter->own_keys, sizeof *sorter->drawn, ascending);
}

/* Number `step` of all ranks, beginning with oneself, so that not all turn to the same one at once. */
static int partner(const struct sorter *sorter, int step)
{
    return (sorter->rank + step) % sorter->size;
}

static long keys_for(const struct sorter *sorter, int owner)
{
    return sorter->first_drawn[owner + 1] - sorter->first_drawn[owner];
}

static void count(struct sorter *sorter)
{
    memset(sorter->histogram, 0, (size_t)own_bins(sorter) * sizeof *sorter->histogram);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, sorter->histogram_window);
    for (int step = 0; step < sorter->size; step++) {
        const int owner = partner(sorter, step);
        const long first = sorter->first_bin[owner];
        const int bins = (int)(sorter->first_bin[owner + 1] - first);
        if (keys_for(sorter, owner) > 0)
            MPI_Accumulate(&sorter->counts[first], bins, MPI_UINT64_T, owner, 0, bins, MPI_UINT64_T,
                           MPI_SUM, sorter->histogram_window);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, sorter->histogram_window);
}

/* Element 0 of a bucket is its cursor: how many keys it has, or has reserved space for. */
static void deliver(const struct sorter *sorter, MPI_Win buckets)
{
    MPI_Win_lock_all(0, buckets);
    for (int step = 0; step < sorter->size; step++) {
        const int owner = partner(sorter, step);
        const uint64_t keys = (uint64_t)keys_for(sorter, owner);
        uint64_t place;
        if (keys == 0)
            continue;
        MPI_Fetch_and_op(&keys, &place, MPI_UINT64_T, owner, 0, MPI_SUM, buckets);
        MPI_Win_flush(owner, buckets);
        MPI_Put(&sorter->drawn[sorter->first_drawn[owner]], (int)keys, MPI_UINT64_T, owner,
                (MPI_Aint)(1 + place), (int)keys, MPI_UINT64_T, buckets);
    }
    MPI_Win_unlock_all(buckets);
}

/* The sum of place times key over the own bucket. */
static uint64_t rank_keys(const struct sorter *sorter, uint64_t *bucket, MPI_Win buckets)
{
    uint64_t *before = allocate(sorter->size, sizeof *before), place = 0, sum = 0;
    MPI_Win_fence(0, buckets); /* all have delivered */
    for (int i = 0; i < sorter->rank; i++)
        MPI_Get(&before[i], 1, MPI_UINT64_T, i, 0, 1, MPI_UINT64_T, buckets);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, buckets);
    for (int i = 0; i < sorter->rank; i++)
        place += before[i];
    qsort(&bucket[1], bucket[0], sizeof *bucket, ascending);
    for (uint64_t i = 0; i < bucket[0]; i++)
        sum += (place + i + 1) * bucket[1 + i];
    free(before);
    return sum;
}

/* Adds to the checksum; returns the keys in the fullest of the own bins. */
static uint64_t sort_once(struct sorter *sorter, int round, uint64_t *checksum)
{
    uint64_t expected = 0, fullest = 0;
    MPI_Win buckets;
    draw(sorter, round);
    count(sorter);
    for (long i = 0; i < own_bins(sorter); i++) {
        expected += sorter->histogram[i];
        fullest = sorter->histogram[i] > fullest ? sorter->histogram[i] : fullest;
    }
    uint64_t *bucket = make_window(expected + 1, &buckets);
    bucket[0] = 0;
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, buckets); /* all buckets are empty */
    deliver(sorter, buckets);
    *checksum += rank_keys(sorter, bucket, buckets);
    MPI_Win_free(&buckets);
    return fullest;
}

int main(int argc, char **argv)
{
    struct sorter sorter = {0};
    uint64_t own[2] = {0, 0}, checksum, fullest;
    MPI_Init(&argc, &argv);
    const struct options options = read_options(argc, argv);
    set_up(&sorter, &options);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int round = 0; round < options.rounds; round++) {
        const uint64_t of_round = sort_once(&sorter, round, &own[0]);
        own[1] = of_round > own[1] ? of_round : own[1];
    }
    MPI_Reduce(&own[0], &checksum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own[1], &fullest, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (sorter.rank == 0)
        printf("histogram: %ld keys, %ld bins, %d rounds, fullest bin %llu, checksum %016llx, %.3f s\n",
               options.keys, options.bins, options.rounds, (unsigned long long)fullest,
               (unsigned long long)checksum, MPI_Wtime() - start);
    MPI_Win_free(&sorter.histogram_window);
    free(sorter.first_bin);
    free(sorter.drawn);
    free(sorter.first_drawn);
    free(sorter.counts);
    MPI_Finalize();
    return 0;
}
