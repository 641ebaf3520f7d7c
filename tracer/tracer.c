#include "tracer.h"

#include "communicators.h"
#include "flush.h"
#include "serialize.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rw_tracer rw_tracer = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local bool rw_inside __attribute__((tls_model("initial-exec")));

static pid_t process;

void rw_warn(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rankwright tracer: %s\n", line);
}

/* The path, or NULL if this run is not to be traced. The value is emptied in place, so that programs
 * started by this one do not write to the same file; unsetenv would race with getenv of other threads. */
static char *take_trace_file(void)
{
    char *value = getenv("RANKWRIGHT_TRACE_FILE");
    if (!value || !value[0])
        return NULL;
    char *path = strdup(value);
    value[0] = '\0';
    return path;
}

static bool is_spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}

void rw_begin(void)
{
    char *path = take_trace_file();
    if (!path || rw_tracer.trace_file || is_spawned()) {
        free(path);
        return;
    }
    rw_tracer.trace_file = path;
    process = getpid();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rw_tracer.world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &rw_tracer.world_size);
    if (path[0] != '/') {
        if (rw_tracer.world_rank == 0)
            rw_warn("RANKWRIGHT_TRACE_FILE is not an absolute path (%s): no trace of this run", path);
        return;
    }
    PMPI_Query_thread(&rw_tracer.thread_level);
    rw_tracer.concurrent = rw_tracer.thread_level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_dup(MPI_COMM_WORLD, &rw_tracer.private_world);
    PMPI_Comm_set_errhandler(rw_tracer.private_world, MPI_ERRORS_RETURN);
    PMPI_Comm_group(MPI_COMM_WORLD, &rw_tracer.world_group);
    rw_communicators_begin();
    rw_describe_process();
    rw_tracer.start_unix_ns = (int64_t)rw_nanoseconds(CLOCK_REALTIME);
    rw_clock_start();
    atomic_store(&rw_tracer.active, true);
}

void rw_end(void)
{
    /* A forked child has no MPI of its own to gather with. */
    if (!atomic_load(&rw_tracer.active) || getpid() != process)
        return;
    const uint64_t end = rw_ticks();
    atomic_store(&rw_tracer.active, false);
    rw_clock_stop();
    rw_flush(rw_time(end));
    rw_communicators_end();
    PMPI_Group_free(&rw_tracer.world_group);
    PMPI_Comm_free(&rw_tracer.private_world);
}

int MPI_Init(int *argc, char ***argv)
{
    const int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS)
        rw_begin();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        rw_begin();
    return result;
}

int MPI_Finalize(void)
{
    rw_end();
    return PMPI_Finalize();
}
