#include "transport.h"

#include "../mpi/mpi_library.h"
#include "../mpi/warning.h"
#include "../process/image.h"
#include "../process/state.h"
#include "piece_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Atomic bool rw_transport_on;

/* Guarded by the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct rw_piece_file file;
    uint64_t begin_ns;
    uint32_t connections;
} transport;

static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

bool rw_transport_lock(void)
{
    if (inside)
        return false;
    inside = true;
    pthread_mutex_lock(&lock);
    return true;
}

void rw_transport_unlock(void)
{
    pthread_mutex_unlock(&lock);
    inside = false;
}

/* ---- rows ---- */

_Static_assert(sizeof(struct rw_transport_ends) == 3 * sizeof(struct rw_transport_row), "as described");

static bool write_row(uint64_t now, uint32_t connection, uint32_t bytes)
{
    const uint64_t time = now > transport.begin_ns ? now - transport.begin_ns : 1;
    const struct rw_transport_row row = {time, connection, bytes};
    return rw_piece_file_write(&transport.file, &row, sizeof row);
}

static void end_early(void)
{
    atomic_store(&rw_transport_on, false);
    rw_warn("rank %d: the record of what it sends ends here: %s", rw_tracer.world_rank, strerror(errno));
}

bool rw_transport_connect(uint64_t now, const struct rw_transport_ends *ends, uint32_t *connection)
{
    *connection = transport.connections++;
    const bool written = write_row(now, *connection, RW_TRANSPORT_CONNECTION)
                         && rw_piece_file_write(&transport.file, ends, sizeof *ends);
    if (!written)
        end_early();
    return written;
}

void rw_transport_pass(uint64_t now, uint32_t connection, uint64_t bytes)
{
    do {
        const uint32_t part = bytes < RW_TRANSPORT_CONNECTION ? (uint32_t)bytes : RW_TRANSPORT_CONNECTION - 1;
        if (!write_row(now, connection, part)) {
            end_early();
            return;
        }
        bytes -= part;
    } while (bytes > 0);
}

/* ---- begin and end ---- */

static bool write_head(void)
{
    struct rw_transport_head head = {
        .version = RW_TRANSPORT_VERSION,
        .head_bytes = sizeof head,
        .rank = rw_image->rank,
        .world_size = rw_image->world_size,
        .run = rw_image->run,
        .start_unix_ns = rw_image->start_unix_ns,
        .begin_ns = rw_image->begin_ns,
    };
    memcpy(head.magic, RW_TRANSPORT_MAGIC, sizeof head.magic);
    return rw_piece_file_write(&transport.file, &head, sizeof head);
}

/* A forked child shares the file, and perhaps a lock that another thread held. */
static void in_child(void)
{
    atomic_store(&rw_transport_on, false);
}

static int begin(const char *folder)
{
    char name[32];
    snprintf(name, sizeof name, "rank-%d.transport", rw_tracer.world_rank);
    transport.begin_ns = rw_image->begin_ns;
    const int error = rw_piece_file_begin(&transport.file, folder, name);
    if (error != 0)
        return error;
    if (!write_head())
        return errno;
    pthread_atfork(NULL, NULL, in_child);
    return 0;
}

bool rw_transport_begin(const char *folder)
{
    const int error = folder ? begin(folder) : 0;
    int largest = 0;
    PMPI_Allreduce(&error, &largest, 1, MPI_INT, MPI_MAX, rw_tracer.private_world);
    if (rw_tracer.world_rank == 0 && !folder)
        rw_warn("no record of what ranks send: it needs a spool folder, RANKWRIGHT_TRACE_SPOOL");
    else if (rw_tracer.world_rank == 0 && largest != 0)
        rw_warn("records of what ranks send are missing: no file in %s: %s", folder, strerror(largest));
    atomic_store(&rw_transport_on, folder && error == 0);
    return folder && error == 0;
}

void rw_transport_end(void)
{
    atomic_store(&rw_transport_on, false);
    rw_transport_lock();
    rw_piece_file_end(&transport.file);
    rw_transport_unlock();
}
