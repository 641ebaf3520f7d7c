#include "waiting.h"

#include "../storage/arena.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

_Thread_local struct rw_gap rw_gap __attribute__((tls_model("initial-exec")));
uint64_t rw_long_gap = UINT64_MAX;

/* Two readings in each such time, one of them after a gap, one after calls, take 1.8 % of it. */
enum { LONG_GAP_NS = 60000 };

static int statistics = -1; /* schedstat of the thread that called MPI_Init; -1: not open, or no longer ours */
static double ticks_per_ns = 1;
/* When MPI_Init returned: of the process, and of the thread that called it. */
static uint64_t process_before, thread_before;

/* The kernel's run delay, ns. False: it keeps none. */
static bool read_run_delay(uint64_t *delay)
{
    char text[96];
    unsigned long long running, waiting, slices;
    const ssize_t length = pread(statistics, text, sizeof text - 1, 0);
    if (length <= 0)
        return false;
    text[length] = '\0';
    if (sscanf(text, "%llu %llu %llu", &running, &waiting, &slices) != 3 || slices == 0)
        return false;
    *delay = waiting;
    return true;
}

/* The time so far that this thread waited for a PU, ns. */
static uint64_t read_waiting(void)
{
    uint64_t delay = rw_gap.known;
    if (rw_image->waiting == RW_WAITING_PROCESSOR)
        return rw_nanoseconds(CLOCK_MONOTONIC) - rw_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (!read_run_delay(&delay)) {
        /* The program has closed all its files; the number may be that of another one by now. */
        statistics = -1;
        rw_long_gap = UINT64_MAX;
    }
    return delay;
}

static double rate_since(struct rw_instant earlier)
{
    struct rw_instant now = rw_now();
    while (now.nanoseconds < earlier.nanoseconds + LONG_GAP_NS)
        now = rw_now();
    return (double)(now.ticks - earlier.ticks) / (double)(now.nanoseconds - earlier.nanoseconds);
}

void rw_begin_waiting(struct rw_instant earlier)
{
    process_before = rw_nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    thread_before = rw_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    rw_gap.is_read = true;
    if (rw_clock == RW_CLOCK_OFF)
        return;
    uint64_t delay = 0;
    statistics = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    rw_image->waiting = read_run_delay(&delay) ? RW_WAITING_RUN_DELAY : RW_WAITING_PROCESSOR;
    if (rw_image->waiting == RW_WAITING_PROCESSOR && statistics >= 0) {
        close(statistics);
        statistics = -1;
    }
    ticks_per_ns = rate_since(earlier);
    rw_gap.known = read_waiting();
    rw_gap.last_end = rw_ticks();
    /* The tracer's own work in MPI_Init, with messages: the record has begun, the program not. */
    rw_gap.waited = rw_gap.last_end - rw_image->begin_ticks;
    rw_image->waited_ticks = rw_gap.waited;
    rw_long_gap = (uint64_t)(LONG_GAP_NS * ticks_per_ns);
}

void rw_end_waiting(void)
{
    uint64_t delay;
    rw_long_gap = UINT64_MAX;
    if (statistics >= 0 && read_run_delay(&delay))
        close(statistics);
    statistics = -1;
}

void rw_store_processor_time(void)
{
    if (!rw_gap.is_read)
        return;
    const uint64_t process = rw_nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - process_before;
    const uint64_t thread = rw_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - thread_before;
    rw_image->processor_ns = thread;
    rw_image->other_threads_ns = process > thread ? process - thread : 0;
}

/* What the wait grew by since the last reading, ticks. */
static uint64_t growth(void)
{
    const uint64_t before = rw_gap.known;
    rw_gap.known = read_waiting();
    return rw_gap.known > before ? (uint64_t)((double)(rw_gap.known - before) * ticks_per_ns) : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t rw_end_gap(uint64_t now)
{
    /* A clock that jumps back makes no gap. */
    if (!rw_gap.is_read || now < rw_gap.last_end)
        return now;
    const uint64_t grown = growth(), after = rw_ticks();
    const uint64_t waited = grown > rw_gap.unread ? smaller(grown - rw_gap.unread, now - rw_gap.last_end) : 0;
    const uint64_t reading = after > now ? after - now : 0;
    rw_gap.waited += waited + reading;
    rw_image->waited_ticks = rw_gap.waited;
    rw_gap.unread = 0;
    return after;
}

uint64_t rw_end_calls(uint64_t now)
{
    rw_gap.unread = 0;
    if (!rw_gap.is_read)
        return now;
    growth();
    return rw_ticks();
}
