/* state.h - the state of the tracer in this process: the run, its lock, one recorded call. */
#ifndef RANKWRIGHT_STATE_H
#define RANKWRIGHT_STATE_H

#include "../format/trace_format.h"
#include "../mpi/mpi_library.h"

#include <pthread.h>
#include <stdatomic.h>
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

/* One recorded call: when it began, how long it took, RW_FLAG_*. */
struct rw_call {
    uint64_t start;
    uint64_t ticks;
    unsigned flags;
};

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

#pragma GCC visibility pop
#endif
