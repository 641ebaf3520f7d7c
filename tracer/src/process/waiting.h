/*
 * waiting.h - the part of a gap, the time between two calls, in which the thread waited for a PU: it was ready to run,
 * and another process ran.
 *
 * The kernel keeps this time for each thread (/proc/.../schedstat, run delay); one reading takes about 1.1 us. It is
 * read only
 *   - at the end of a gap longer than the threshold: what it grew by since the last reading is the wait in this gap;
 *   - at the end of a call, once the calls since the last reading have taken more than the threshold in all, so that
 *     their own waiting (a call that polls may yield its PU) is not taken for that of the next gap.
 * So two readings are at least one threshold apart, and reading takes at most 1.1 us of each 60 us, 1.8 %.
 *
 * The error. A gap below the threshold is not looked at: ordinary programs keep a PU for a time slice of .7 ms or
 * more; shorter waits, as for kernel threads, count as computing. In a longer gap, what the calls since the last
 * reading took, less than the threshold, is subtracted from the growth, as they may have waited. So the wait in a gap
 * may be too long by what shorter gaps before it waited, and too short by less than the threshold.
 *
 * A thread that sleeps or waits for a disk in a gap is not ready to run: this time stays in the gap, it is the
 * program's. Where the kernel keeps no run delay, the processor clock of the thread replaces it; sleep then counts as
 * waiting (RW_WAITING_PROCESSOR).
 *
 * Only the thread that called MPI_Init is read. What other threads of the process computed is kept beside it.
 */
#ifndef RANKWRIGHT_WAITING_H
#define RANKWRIGHT_WAITING_H

#include "../format/trace_format.h"
#include "clock.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)

struct rw_gap {
    uint64_t last_end; /* of the last call, ticks */
    uint64_t unread;   /* inside calls since the last reading, ticks */
    uint64_t waited;   /* in all gaps so far, ticks, with the time of the readings and of the tracer's own begin */
    uint64_t known;    /* the last reading, ns */
    bool is_read;      /* this is the thread that called MPI_Init */
};

/* Of this thread. */
extern _Thread_local struct rw_gap rw_gap __attribute__((tls_model("initial-exec")));
/* Ticks; UINT64_MAX: nothing is read. */
extern uint64_t rw_long_gap;

/* In MPI_Init, when the image has its head; `earlier`: an instant at the begin of the tracer's own work in it. */
void rw_begin_waiting(struct rw_instant earlier);
/* Nothing is read any more. */
void rw_end_waiting(void);
/* Stores what this thread and the others computed, if this is the thread that called MPI_Init. */
void rw_store_processor_time(void);
/* The gap of this thread that ends at `now`; returns the time after the reading. */
uint64_t rw_end_gap(uint64_t now);
/* After a call; returns the time after the reading. */
uint64_t rw_end_calls(uint64_t now);

/* The begin of a call, ticks. */
static inline uint64_t rw_start(void)
{
    const uint64_t now = rw_ticks();
    return __builtin_expect(now - rw_gap.last_end > rw_long_gap, 0) ? rw_end_gap(now) : now;
}

/* The end of a call that began at `start`, ticks. */
static inline uint64_t rw_stop(uint64_t start)
{
    uint64_t end = rw_ticks();
    rw_gap.unread += end > start ? end - start : 0;
    if (__builtin_expect(rw_gap.unread > rw_long_gap, 0))
        end = rw_end_calls(end);
    rw_gap.last_end = end;
    return end;
}

#pragma GCC visibility pop
#endif
