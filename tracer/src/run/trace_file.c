#include "trace_file.h"

#include "../format/trace_format.h"
#include "../mpi/warning.h"
#include "../process/state.h"
#include "../storage/allocate.h"
#include "../storage/crc.h"
#include "../storage/file_size_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *path;
    char *temporary;
    FILE *stream;
    uint32_t crc;
    char reason[160]; /* of the first failure; empty: none */
    struct rw_held_signal held;
} file;

static const char KEPT[] = "; each rank's records stay in its spool file";

void rw_file_fail(const char *reason)
{
    if (!file.reason[0])
        snprintf(file.reason, sizeof file.reason, "%s", reason);
}

static void warn(void)
{
    rw_warn("no trace written to %s: %s%s", file.path, file.reason, rw_tracer.spool ? KEPT : "");
}

bool rw_file_open(const char *path, uint32_t world_size)
{
    const size_t length = strlen(path) + 32;
    file.path = path;
    file.temporary = rw_allocate(length, 1);
    if (file.temporary) {
        snprintf(file.temporary, length, "%s.tmp.%ld", path, (long)getpid());
        unlink(file.temporary); /* left by an earlier process with this PID */
        file.stream = fopen(file.temporary, "wxe");
    }
    if (!file.stream) {
        rw_file_fail(strerror(errno));
        warn();
        return false;
    }
    file.held = rw_hold_file_size_signal();
    const struct rw_trace_head head = {RW_TRACE_MAGIC, RW_FORMAT_VERSION, world_size};
    rw_file_write(&head, sizeof head);
    return true;
}

void rw_file_write(const void *bytes, size_t length)
{
    if (file.reason[0] || length == 0)
        return;
    file.crc = rw_crc(file.crc, bytes, length);
    if (fwrite(bytes, 1, length, file.stream) != length)
        rw_file_fail(strerror(errno));
}

/* Two jobs have the same trace file: with the launcher of another MPI each process is a job. The first trace stays, and
 * a file PATH.again shows that it is not complete. */
static void note_other_job(void)
{
    const size_t length = strlen(file.path) + 8;
    char *path = rw_allocate(length, 1);
    if (!path)
        return;
    snprintf(path, length, "%s.again", file.path);
    const int note = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (note >= 0)
        close(note);
    free(path);
}

/* Renames the temporary file, but never replaces a trace. */
static void give_name(void)
{
    if (link(file.temporary, file.path) == 0) {
        unlink(file.temporary);
    } else if (errno == EEXIST) {
        rw_file_fail("another job has written it; do launcher and program belong to the same MPI?");
        note_other_job();
    } else if (rename(file.temporary, file.path) != 0) { /* a file system without hard links */
        rw_file_fail(strerror(errno));
    }
}

bool rw_file_close(void)
{
    const struct rw_trace_tail tail = {RW_TAIL_MAGIC, file.crc, 0};
    rw_file_write(&tail, sizeof tail);
    if (fclose(file.stream) != 0)
        rw_file_fail(strerror(errno));
    if (!file.reason[0])
        give_name();
    const bool written = !file.reason[0];
    if (!written) {
        warn();
        unlink(file.temporary);
    }
    rw_release_file_size_signal(&file.held);
    free(file.temporary);
    return written;
}
