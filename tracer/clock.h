/*
 * clock.h - time in ticks: the time stamp counter where it is invariant, else CLOCK_MONOTONIC in ns.
 *
 * Two readings per MPI call are the largest part of the tracer's cost, hence the counter. It needs no
 * calibration run: ticks are stored, and converted at the end with the rate seen over the whole run.
 */
#ifndef RANKWRIGHT_CLOCK_H
#define RANKWRIGHT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#pragma GCC visibility push(hidden)

extern bool rw_clock_is_tsc;

static inline uint64_t rw_nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t rw_ticks(void)
{
#if defined(__x86_64__)
    if (rw_clock_is_tsc)
        return __rdtsc();
#endif
    return rw_nanoseconds(CLOCK_MONOTONIC);
}

/* Chooses the clock and sets time zero. */
void rw_clock_start(void);
/* Fixes the tick rate; the conversions below are valid afterwards. */
void rw_clock_stop(void);

/* Seconds since rw_clock_start of a point in time, and the length of a duration. */
double rw_time(uint64_t ticks);
double rw_duration(double ticks);

#pragma GCC visibility pop
#endif
