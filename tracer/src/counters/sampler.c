#include "sampler.h"

#include "../format/counters_format.h"
#include "../mpi/warning.h"
#include "../network/piece_file.h"
#include "../process/clock.h"
#include "../process/image.h"
#include "../process/state.h"
#include "../storage/arena.h"
#include "clock_offset.h"
#include "sources.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_NS = 10000000 };

/* Of the sampling thread while it runs. */
static struct {
    pthread_t thread;
    bool running;
    _Atomic bool ends;
    struct rw_piece_file file;
    uint64_t begin_ns;
    uint64_t *row;
    size_t row_bytes;
} sampler;

/* ---- the file ---- */

static bool write_head(const struct rw_buffer *names, uint32_t columns, struct rw_clock_offset offset)
{
    struct rw_counters_head head = {
        .version = RW_COUNTERS_VERSION,
        .head_bytes = sizeof head,
        .rank = rw_image->rank,
        .world_size = rw_image->world_size,
        .run = rw_image->run,
        .start_unix_ns = rw_image->start_unix_ns,
        .begin_ns = rw_image->begin_ns,
        .period_ns = PERIOD_NS,
        .clock_offset_ns = offset.ahead_ns,
        .clock_error_ns = offset.error_ns,
        .columns = columns,
        .names_bytes = (uint32_t)names->length,
    };
    memcpy(head.magic, RW_COUNTERS_MAGIC, sizeof head.magic);
    return rw_piece_file_write(&sampler.file, &head, sizeof head)
           && rw_piece_file_write(&sampler.file, names->bytes, names->length);
}

/* ---- the thread ---- */

static bool sample(void)
{
    /* The time is that of the middle of the reading. */
    const uint64_t before = rw_nanoseconds(CLOCK_MONOTONIC);
    rw_read_counters(sampler.row + 1);
    const uint64_t after = rw_nanoseconds(CLOCK_MONOTONIC);
    const uint64_t middle = before + (after - before) / 2;
    sampler.row[0] = middle > sampler.begin_ns ? middle - sampler.begin_ns : 1;
    return rw_piece_file_write(&sampler.file, sampler.row, sampler.row_bytes);
}

static void *run(void *unused)
{
    uint64_t next = rw_nanoseconds(CLOCK_MONOTONIC);
    while (sample() && !atomic_load(&sampler.ends)) {
        /* After a pause of the node the rows that were missed are not made up for. */
        const uint64_t now = rw_nanoseconds(CLOCK_MONOTONIC);
        next = next + PERIOD_NS > now ? next + PERIOD_NS : now + PERIOD_NS;
        const struct timespec time = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    }
    if (!atomic_load(&sampler.ends))
        rw_warn("rank %d: the counters of its node end here: %s", rw_tracer.world_rank, strerror(errno));
    return unused;
}

/* Signals are for the program's threads. */
static int start_thread(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(&sampler.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* ---- begin and end ---- */

static int begin(const char *folder, struct rw_clock_offset offset)
{
    char name[32];
    struct rw_buffer names = {0};
    const uint32_t columns = rw_find_counters(&names);
    static const char zeros[8];
    rw_put_bytes(&names, zeros, (8 - names.length % 8) % 8);
    sampler.row_bytes = (columns + 1) * sizeof *sampler.row;
    sampler.begin_ns = rw_image->begin_ns;
    sampler.row = malloc(sampler.row_bytes);
    snprintf(name, sizeof name, "rank-%d.counters", rw_tracer.world_rank);
    int error = sampler.row ? rw_piece_file_begin(&sampler.file, folder, name) : ENOMEM;
    if (error == 0 && !write_head(&names, columns, offset))
        error = errno;
    if (error == 0)
        error = start_thread();
    sampler.running = error == 0;
    rw_free_buffer(&names);
    return error;
}

void rw_sampler_begin(const char *folder)
{
    MPI_Comm node = MPI_COMM_NULL, nodes = MPI_COMM_NULL;
    int local = 0, error = 0, largest = 0;
    PMPI_Comm_split_type(rw_tracer.private_world, MPI_COMM_TYPE_SHARED, rw_tracer.world_rank, MPI_INFO_NULL,
                         &node);
    PMPI_Comm_rank(node, &local);
    PMPI_Comm_split(rw_tracer.private_world, local == 0 ? 0 : MPI_UNDEFINED, rw_tracer.world_rank, &nodes);
    if (nodes != MPI_COMM_NULL) {
        const struct rw_clock_offset offset = rw_measure_clock_offset(nodes);
        error = folder ? begin(folder, offset) : 0;
        PMPI_Comm_free(&nodes);
    }
    PMPI_Comm_free(&node);
    PMPI_Allreduce(&error, &largest, 1, MPI_INT, MPI_MAX, rw_tracer.private_world);
    if (rw_tracer.world_rank == 0 && !folder)
        rw_warn("no counters of devices: they need a spool folder, RANKWRIGHT_TRACE_SPOOL");
    else if (rw_tracer.world_rank == 0 && largest != 0)
        rw_warn("counters of some nodes are missing: no file in %s: %s", folder, strerror(largest));
}

void rw_sampler_end(void)
{
    if (!sampler.running)
        return;
    atomic_store(&sampler.ends, true);
    pthread_join(sampler.thread, NULL);
    sampler.running = false;
    rw_piece_file_end(&sampler.file);
    free(sampler.row);
    rw_forget_counters();
}
