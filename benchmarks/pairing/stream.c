/*
 * stream.c - a loop over arrays, for measuring what programs lose beside each other on one memory.
 *
 *   cc -O2 -march=native stream.c -o stream
 *   ./stream [--kernel fill|triad|spin] [--kib KIB] [--passes N] [--flops N] [--forever]
 *
 * fill is a[i] = s, triad is a[i] = b[i] + s c[i] as in STREAM (McCalpin 1995), spin touches no memory. --kib is
 * the size of each array: well beyond the last-level cache for memory traffic, 4 for a loop that only
 * computes. --flops is the number of dependent multiplications and additions added to each element: less traffic
 * per second. The work is fixed. Prints one line: seconds, seconds on a PU, and bytes moved, as counters of the
 * memory see them: 16 per element for fill and 32 for triad, because a store that misses reads its cache
 * line first. With --forever the loop begins again until the process is ended: a neighbour.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum kernel { FILL, TRIAD, SPIN };

struct options {
    enum kernel kernel;
    long kib;
    long passes;
    long flops;
    int forever;
};

static long number(const char *text, const char *option, long least)
{
    char *end;
    long value = strtol(text ? text : "", &end, 10);
    if (!text || *end || end == text || value < least) {
        fprintf(stderr, "stream: %s: found `%s`, expected a number from %ld\n", option, text ? text : "", least);
        exit(2);
    }
    return value;
}

static struct options parse(int count, char **arguments)
{
    struct options options = { TRIAD, 1 << 17, 10, 0, 0 };
    for (int at = 1; at < count; at++) {
        const char *option = arguments[at], *value = at + 1 < count ? arguments[at + 1] : NULL;
        if (!strcmp(option, "--forever")) {
            options.forever = 1;
            continue;
        }
        at++;
        if (!strcmp(option, "--kib")) {
            options.kib = number(value, option, 1);
        } else if (!strcmp(option, "--passes")) {
            options.passes = number(value, option, 1);
        } else if (!strcmp(option, "--flops")) {
            options.flops = number(value, option, 0);
        } else if (!strcmp(option, "--kernel") && value && !strcmp(value, "fill")) {
            options.kernel = FILL;
        } else if (!strcmp(option, "--kernel") && value && !strcmp(value, "triad")) {
            options.kernel = TRIAD;
        } else if (!strcmp(option, "--kernel") && value && !strcmp(value, "spin")) {
            options.kernel = SPIN;
        } else {
            fprintf(stderr, "stream: found `%s`, expected --kernel fill|triad|spin, --kib, --passes, --flops, "
                            "--forever\n", option);
            exit(2);
        }
    }
    return options;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double worked(double value, long flops)
{
    for (long flop = 0; flop < flops; flop += 2) {
        value = value * 0.999 + 0.001;
    }
    return value;
}

static void pass(double *restrict a, const double *restrict b, const double *restrict c, size_t length,
                 const struct options *options)
{
    switch (options->kernel) {
    case FILL:
        for (size_t i = 0; i < length; i++) {
            a[i] = worked((double)i, options->flops);
        }
        return;
    case TRIAD:
        for (size_t i = 0; i < length; i++) {
            a[i] = worked(b[i] + 3.0 * c[i], options->flops);
        }
        return;
    case SPIN:
        for (size_t i = 0; i < length; i++) {
            __asm__ volatile("");
        }
        return;
    }
}

static double *array(size_t length)
{
    double *array = malloc(length * sizeof *array);
    if (!array) {
        fprintf(stderr, "stream: no memory for an array of %zu bytes\n", length * sizeof *array);
        exit(1);
    }
    for (size_t i = 0; i < length; i++) {
        array[i] = 1.0;
    }
    return array;
}

int main(int count, char **arguments)
{
    struct options options = parse(count, arguments);
    size_t length = (size_t)options.kib * 1024 / sizeof(double);
    /* Arrays that a kernel does not use are not made. */
    double *a = array(options.kernel == SPIN ? 1 : length);
    double *b = array(options.kernel == TRIAD ? length : 1), *c = array(options.kernel == TRIAD ? length : 1);
    double per_element = options.kernel == FILL ? 16.0 : options.kernel == TRIAD ? 32.0 : 0.0;
    do {
        double begin = now(CLOCK_MONOTONIC), begin_on_pu = now(CLOCK_PROCESS_CPUTIME_ID);
        for (long done = 0; done < options.passes; done++) {
            pass(a, b, c, length, &options);
            __asm__ volatile("" ::"r"(a) : "memory");
        }
        double seconds = now(CLOCK_MONOTONIC) - begin, on_pu = now(CLOCK_PROCESS_CPUTIME_ID) - begin_on_pu;
        double bytes = per_element * (double)length * (double)options.passes;
        if (!options.forever) {
            printf("%.6f %.6f %.0f\n", seconds, on_pu, bytes);
        }
    } while (options.forever);
    return a[0] < 0.0;
}
