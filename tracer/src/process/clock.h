/*
 * clock.h - time in ticks: the time stamp counter where it is invariant, else CLOCK_MONOTONIC in ns.
 *
 * Two readings per MPI call are the largest part of the tracer's cost, hence the counter. It is not calibrated: ticks
 * are stored, and the reader converts them with the rate over the whole run.
 */
#ifndef RANKWRIGHT_CLOCK_H
#define RANKWRIGHT_CLOCK_H

#include "../format/trace_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#pragma GCC visibility push(hidden)

extern enum rw_clock rw_clock;

struct rw_instant { /* one moment on both clocks */
    uint64_t ticks;
    uint64_t nanoseconds; /* CLOCK_MONOTONIC */
};

static inline uint64_t rw_nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* 0 if the clock is off. */
static inline uint64_t rw_ticks(void)
{
#if defined(__x86_64__)
    if (rw_clock == RW_CLOCK_TSC) {
        uint32_t low, high;
        /* <x86intrin.h> has a name for it, but takes .4 s to read in each file. */
        __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
        return (uint64_t)high << 32 | low;
    }
#endif
    return rw_clock == RW_CLOCK_OFF ? 0 : rw_nanoseconds(CLOCK_MONOTONIC);
}

enum rw_clock_wish { RW_CLOCK_BEST, RW_CLOCK_NO_TSC, RW_CLOCK_NONE };

enum rw_clock rw_choose_clock(enum rw_clock_wish wish);

struct rw_instant rw_now(void);

#pragma GCC visibility pop
#endif
