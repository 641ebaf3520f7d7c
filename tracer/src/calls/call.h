/* call.h - what each wrapper does before and after the call. */
#ifndef RANKWRIGHT_CALL_H
#define RANKWRIGHT_CALL_H

#include "../process/clock.h"
#include "../process/image.h"
#include "../process/state.h"
#include "../process/waiting.h"
#include "../storage/arena.h"

#pragma GCC visibility push(hidden)

/* True inside a wrapper: calls that MPI makes to itself are not recorded. The tracer is loaded at program start, which
 * allows the fastest model of thread-local storage. */
extern _Thread_local bool rw_inside __attribute__((tls_model("initial-exec")));

static inline bool rw_enter(void)
{
    if (!atomic_load_explicit(&rw_tracer.active, memory_order_relaxed) || rw_inside)
        return false;
    rw_inside = true;
    return true;
}

/* Atomic only where another thread may add at the same time. */
static inline void rw_add(uint64_t *total, uint64_t value)
{
    if (rw_tracer.concurrent)
        __atomic_fetch_add(total, value, __ATOMIC_RELAXED);
    else
        *total += value;
}

static inline struct rw_call rw_leave(enum rw_class class, uint64_t start, unsigned flags)
{
    const uint64_t end = rw_stop(start);
    /* If the clock jumps back, the call has length 0, not centuries. */
    const struct rw_call call = {start, end > start ? end - start : 0, flags};
    struct rw_class_total *total = &rw_image->classes[class];
    rw_add(&total->calls, 1);
    rw_add(&total->ticks, call.ticks);
    if (end > atomic_load_explicit(&rw_tracer.next_refresh, memory_order_relaxed))
        rw_refresh(end);
    rw_inside = false;
    return call;
}

#pragma GCC visibility pop
#endif
