#include "run.h"

#include "../communicators/communicators.h"
#include "../counters/sampler.h"
#include "../events/events.h"
#include "../mpi/settings.h"
#include "../mpi/warning.h"
#include "../network/pml.h"
#include "../network/sockets.h"
#include "../network/transport.h"
#include "../network/ucx.h"
#include "../process/clock.h"
#include "../process/image.h"
#include "../process/state.h"
#include "../process/waiting.h"
#include "../record/one_sided.h"
#include "../storage/arena.h"
#include "flush.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t process;

/* A copy of a variable's value, or NULL if it is not set. The variable is emptied in place, so that programs started by
 * this one do not write to the same files; unsetenv would race with getenv of other threads. */
static char *take_variable(const char *name)
{
    char *value = getenv(name);
    if (!value || !value[0])
        return NULL;
    char *copy = strdup(value);
    value[0] = '\0';
    return copy;
}

static bool is_spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}

/* Words separated by commas. */
static void read_options(char *options)
{
    enum rw_clock_wish wish = RW_CLOCK_BEST;
    char *rest = options;
    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        if (strcmp(word, "no-gaps") == 0)
            wish = RW_CLOCK_NONE;
        else if (strcmp(word, "no-tsc") == 0)
            wish = RW_CLOCK_NO_TSC;
        else if (strcmp(word, "per-rank") == 0)
            rw_tracer.per_rank = true;
        else if (strcmp(word, "events") == 0)
            rw_tracer.events = true;
        else if (strcmp(word, "counters") == 0)
            rw_tracer.counters = true;
        else if (strcmp(word, "transport") == 0)
            rw_tracer.transport = true;
        else if (rw_tracer.world_rank == 0)
            rw_warn("RANKWRIGHT_TRACE_OPTIONS: unknown word `%s`; is this tracer an older one?", word);
    }
    free(options);
    rw_clock = rw_choose_clock(wish);
}

/* A warning only: the run continues without spool files. */
static void report_spool(int error)
{
    int failed = error != 0, failures = 0, largest = 0;
    PMPI_Reduce(&failed, &failures, 1, MPI_INT, MPI_SUM, 0, rw_tracer.private_world);
    PMPI_Reduce(&error, &largest, 1, MPI_INT, MPI_MAX, 0, rw_tracer.private_world);
    if (failures > 0)
        rw_warn("no spool file in %s on %d of %d ranks: %s; %s", rw_tracer.spool, failures,
                rw_tracer.world_size, strerror(largest),
                rw_tracer.per_rank ? "their records will be missing"
                                   : "if the run dies, their records are lost");
}

/* A number that all ranks of this run share. */
static uint64_t number_of_run(void)
{
    uint64_t number = rw_nanoseconds(CLOCK_REALTIME) ^ (uint64_t)process << 48;
    PMPI_Bcast(&number, 1, MPI_UINT64_T, 0, rw_tracer.private_world);
    return number;
}

static void begin_records(void)
{
    const struct rw_instant begin = rw_now();
    const int error = rw_arena_begin(rw_tracer.spool, rw_tracer.world_rank);
    rw_begin_image(number_of_run());
    if (rw_tracer.spool)
        report_spool(error);
    rw_communicators_begin();
    rw_one_sided_begin();
    if (rw_tracer.events)
        rw_events_begin(rw_tracer.spool);
    if (rw_tracer.counters)
        rw_sampler_begin(rw_tracer.spool);
    if (rw_tracer.transport && rw_transport_begin(rw_tracer.spool)) {
        rw_sockets_begin();
        rw_ucx_begin();
        rw_pml_begin();
    }
    rw_begin_waiting(begin);
}

static bool is_absolute(const char *variable, const char *path)
{
    if (!path || path[0] == '/')
        return true;
    if (rw_tracer.world_rank == 0)
        rw_warn("%s is not an absolute path (%s): no trace of this run", variable, path);
    return false;
}

void rw_begin(void)
{
    char *path = take_variable("RANKWRIGHT_TRACE_FILE");
    if (!path || rw_tracer.trace_file || is_spawned()) {
        free(path);
        return;
    }
    rw_tracer.trace_file = path;
    rw_tracer.spool = take_variable("RANKWRIGHT_TRACE_SPOOL");
    process = getpid();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rw_tracer.world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &rw_tracer.world_size);
    if (!is_absolute("RANKWRIGHT_TRACE_FILE", path)
        || !is_absolute("RANKWRIGHT_TRACE_SPOOL", rw_tracer.spool))
        return;
    read_options(take_variable("RANKWRIGHT_TRACE_OPTIONS"));
    PMPI_Query_thread(&rw_tracer.thread_level);
    rw_tracer.concurrent = rw_tracer.thread_level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_dup(MPI_COMM_WORLD, &rw_tracer.private_world);
    PMPI_Comm_set_errhandler(rw_tracer.private_world, MPI_ERRORS_RETURN);
    PMPI_Comm_group(MPI_COMM_WORLD, &rw_tracer.world_group);
    begin_records();
    atomic_store(&rw_tracer.active, true);
}

/* False in a forked child, which shares the image but not MPI. */
static bool is_recording(void)
{
    return atomic_load(&rw_tracer.active) && getpid() == process;
}

void rw_end(void)
{
    if (!is_recording())
        return;
    rw_pml_end();
    rw_start(); /* looks at the gap before MPI_Finalize */
    rw_refresh_image(RW_STATE_FINALIZED);
    rw_describe_loaded();
    if (rw_tracer.world_rank == 0)
        rw_record_settings();
    atomic_store(&rw_tracer.active, false);
    rw_end_waiting();
    rw_events_end();
    rw_keep_names();
    const bool written = !rw_tracer.per_rank && rw_flush();
    rw_arena_end(!written);
    rw_one_sided_end();
    rw_communicators_end();
    PMPI_Group_free(&rw_tracer.world_group);
    PMPI_Comm_free(&rw_tracer.private_world);
}

void rw_after_finalize(void)
{
    if (getpid() != process)
        return;
    rw_transport_end();
    rw_sockets_end();
    rw_sampler_end();
}

void rw_abort(void)
{
    if (is_recording())
        rw_refresh_image(RW_STATE_ABORTED);
}

__attribute__((destructor)) static void exit_without_finalize(void)
{
    if (is_recording() && rw_image->state == RW_STATE_RUNNING)
        rw_refresh_image(RW_STATE_EXITED);
}
