#include "trace_file.h"

#include "allocate.h"
#include "buffer.h"
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *path;
    char *temporary;
    FILE *stream;
    uint32_t crc;
    char reason[160]; /* empty: nothing failed */
    sigset_t signals; /* the program's mask */
    bool was_pending;
} file;

static uint32_t crc_table[256];

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
        crc_table[i] = crc;
    }
}

static void add_to_crc(const uint8_t *bytes, size_t length)
{
    uint32_t crc = ~file.crc;
    for (size_t i = 0; i < length; i++)
        crc = (crc >> 8) ^ crc_table[(crc ^ bytes[i]) & 0xff];
    file.crc = ~crc;
}

/* Beyond the file size limit of the process, write would end the program by this signal. */
static void hold_file_size_signal(void)
{
    sigset_t held, pending;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    sigpending(&pending);
    file.was_pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &held, &file.signals);
}

static void release_file_size_signal(void)
{
    sigset_t held;
    const struct timespec at_once = {0, 0};
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    if (!file.was_pending)
        sigtimedwait(&held, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &file.signals, NULL);
}

void rw_file_fail(const char *reason)
{
    if (!file.reason[0])
        snprintf(file.reason, sizeof file.reason, "%s", reason);
}

static void warn(void)
{
    rw_warn("no trace written to %s: %s", file.path, file.reason);
}

bool rw_file_open(const char *path)
{
    const size_t length = strlen(path) + 32;
    file.path = path;
    file.temporary = rw_allocate(length, 1);
    if (file.temporary) {
        snprintf(file.temporary, length, "%s.tmp.%ld", path, (long)getpid());
        unlink(file.temporary); /* of an earlier process with our number */
        file.stream = fopen(file.temporary, "wxe");
    }
    if (!file.stream) {
        rw_file_fail(strerror(errno));
        warn();
        return false;
    }
    hold_file_size_signal();
    make_crc_table();
    struct rw_buffer header = {0};
    rw_put_bytes(&header, RW_MAGIC, 8);
    rw_put_u32(&header, RW_FORMAT_VERSION);
    rw_put_u32(&header, RW_SECTION_COUNT);
    rw_file_write(header.bytes, header.length);
    rw_free_buffer(&header);
    return true;
}

void rw_file_section(const char tag[4], uint64_t length)
{
    struct rw_buffer head = {0};
    rw_put_bytes(&head, tag, 4);
    rw_put_u32(&head, 0);
    rw_put_u64(&head, length);
    rw_file_write(head.bytes, head.length);
    rw_free_buffer(&head);
}

void rw_file_write(const void *bytes, size_t length)
{
    if (file.reason[0] || length == 0)
        return;
    add_to_crc(bytes, length);
    if (fwrite(bytes, 1, length, file.stream) != length)
        rw_file_fail(strerror(errno));
}

void rw_file_close(void)
{
    struct rw_buffer checksum = {0};
    rw_put_u32(&checksum, file.crc);
    rw_file_section("END ", checksum.length);
    rw_file_write(checksum.bytes, checksum.length);
    rw_free_buffer(&checksum);
    if (fclose(file.stream) != 0)
        rw_file_fail(strerror(errno));
    if (!file.reason[0] && rename(file.temporary, file.path) != 0)
        rw_file_fail(strerror(errno));
    if (file.reason[0]) {
        warn();
        unlink(file.temporary);
    }
    release_file_size_signal();
    free(file.temporary);
}
