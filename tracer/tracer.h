/* tracer.h - the state of the tracer in this process, and what every wrapper does around a call. */
#ifndef RANKWRIGHT_TRACER_H
#define RANKWRIGHT_TRACER_H

#include "arena.h"
#include "clock.h"
#include "mpi_library.h"
#include "trace_format.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define RW_TRACER_VERSION "0.1.0"

#pragma GCC visibility push(hidden)

struct rw_tracer {
    atomic_bool active;        /* between MPI_Init and MPI_Finalize of a traced run */
    bool concurrent;           /* MPI_THREAD_MULTIPLE: shared data needs the lock */
    int world_rank;
    int world_size;
    int thread_level;
    MPI_Comm private_world;    /* for the gathering at the end */
    MPI_Group world_group;
    char *trace_file;
    char *spool;               /* folder; NULL: none */
    bool per_rank;             /* the spool files are the trace: nothing is gathered */
    bool events;               /* the calls in their order are wanted too */
    pthread_mutex_t lock;
    _Atomic uint64_t next_refresh; /* ticks */
};

extern struct rw_tracer rw_tracer;

/* True inside a wrapper, so that MPI calls made by MPI itself are not counted again. The library is
 * loaded at program start, hence the cheap model. */
extern _Thread_local bool rw_inside __attribute__((tls_model("initial-exec")));

/* One recorded call: when it began, how long it took, RW_FLAG_*. */
struct rw_call {
    uint64_t start;
    uint64_t ticks;
    unsigned flags;
};

static inline bool rw_enter(void)
{
    if (!atomic_load_explicit(&rw_tracer.active, memory_order_relaxed) || rw_inside)
        return false;
    rw_inside = true;
    return true;
}

/* A read-modify-write is needed only if another thread may add at the same time. */
static inline void rw_add(uint64_t *total, uint64_t value)
{
    if (rw_tracer.concurrent)
        __atomic_fetch_add(total, value, __ATOMIC_RELAXED);
    else
        *total += value;
}

/* So that an image tells the time of a run that was killed. Rarer and rarer, about every second at last. */
void rw_refresh(uint64_t now);

static inline struct rw_call rw_leave(enum rw_class class, uint64_t start, unsigned flags)
{
    const uint64_t end = rw_ticks();
    /* A clock that jumps back makes a call of no length, not one of centuries. */
    const struct rw_call call = {start, end > start ? end - start : 0, flags};
    struct rw_class_total *total = &rw_image->classes[class];
    rw_add(&total->calls, 1);
    rw_add(&total->ticks, call.ticks);
    if (end > atomic_load_explicit(&rw_tracer.next_refresh, memory_order_relaxed))
        rw_refresh(end);
    rw_inside = false;
    return call;
}

/* No MPI function may be called under the lock: MPI calls back to us under locks of its own. */
static inline void rw_lock(void)
{
    if (rw_tracer.concurrent)
        pthread_mutex_lock(&rw_tracer.lock);
}

static inline void rw_unlock(void)
{
    if (rw_tracer.concurrent)
        pthread_mutex_unlock(&rw_tracer.lock);
}

/* After MPI_Init and before MPI_Finalize, from the C or the Fortran entry point. */
void rw_begin(void);
void rw_end(void);
/* Before MPI_Abort. */
void rw_abort(void);

/* One line on stderr, "rankwright tracer: ...". */
void rw_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#pragma GCC visibility pop
#endif
