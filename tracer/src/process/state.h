/* state.h - the state of the tracer in this process, its lock, and one recorded call. */
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
    int thread_level;          /* as MPI_Query_thread returns it */
    MPI_Comm private_world;    /* duplicate of MPI_COMM_WORLD for the tracer's own messages */
    MPI_Group world_group;
    char *trace_file;
    char *spool;               /* folder of the spool files; NULL: none */
    bool per_rank;             /* option per-rank: the spool files are the result, nothing is gathered */
    bool events;               /* option events: the calls are recorded in their order too */
    bool transport;            /* option transport: what goes to the network is recorded */
    bool counters;             /* option counters: the byte counters of network devices are sampled */
    pthread_mutex_t lock;
    _Atomic uint64_t next_refresh; /* when rw_refresh is due, ticks */
};

extern struct rw_tracer rw_tracer;

/* One recorded call. */
struct rw_call {
    uint64_t start; /* ticks */
    uint64_t ticks; /* duration */
    unsigned flags; /* RW_FLAG_* */
};

/* No MPI function may be called while it is held: MPI calls the tracer back while holding locks itself. */
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
