#include "arena.h"

#include "allocate.h"
#include "file_size_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Multiples of any page size in use (4, 16, 64 KiB). */
enum { FIRST_PIECE = 64 << 10, LARGEST_PIECE = 4 << 20 };

struct piece {
    uint8_t *bytes;
    size_t size;
    size_t used;
    struct piece *next;
};

static struct rw_image nobody_reads;
struct rw_image *rw_image = &nobody_reads;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece first; /* its successors are allocated */
static struct piece *latest = &first;

static struct {
    char *path;
    dev_t device;
    ino_t inode;
    size_t size;
    bool growing; /* false: no file, or it can grow no more */
} spool;

/* ---- the file ---- */

/* The descriptor is not kept: a program that closes all of its files could give its number to another. */
static int open_again(void)
{
    struct stat found;
    const int file = open(spool.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 && fstat(file, &found) == 0 && found.st_dev == spool.device && found.st_ino == spool.inode)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static int create(const char *folder, int rank)
{
    struct stat made;
    const size_t length = strlen(folder) + 32;
    spool.path = rw_allocate(length, 1);
    if (!spool.path)
        return -1;
    snprintf(spool.path, length, "%s/rank-%d.rwr", folder, rank);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return -1;
    unlink(spool.path); /* of an earlier program of this rank */
    const int file = open(spool.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return -1;
    if (fstat(file, &made) != 0) {
        close(file);
        return -1;
    }
    spool.device = made.st_dev;
    spool.inode = made.st_ino;
    return file;
}

/* The next `size` bytes of the file, or NULL with errno set. */
static uint8_t *map_more(int file, size_t size)
{
    const struct rw_held_signal held = rw_hold_file_size_signal();
    const int error = posix_fallocate(file, (off_t)spool.size, (off_t)size);
    rw_release_file_size_signal(&held);
    if (error != 0) {
        errno = error;
        return NULL;
    }
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)spool.size);
    if (bytes == MAP_FAILED)
        return NULL;
    spool.size += size;
    return bytes;
}

/* ---- pieces ---- */

static uint8_t *map_memory(size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes != MAP_FAILED)
        return bytes;
    rw_out_of_memory = true;
    return NULL;
}

static uint8_t *more_bytes(size_t size)
{
    if (spool.growing) {
        const int file = open_again();
        uint8_t *bytes = file < 0 ? NULL : map_more(file, size);
        if (file >= 0)
            close(file);
        if (bytes)
            return bytes;
        spool.growing = false;
        rw_image->flags |= RW_IMAGE_SPOOL_ENDED;
    }
    return map_memory(size);
}

/* What is left of the latest piece becomes a record of its own, so that readers walk over it. */
static void close_piece(void)
{
    const size_t rest = latest->size - latest->used;
    if (rest == 0)
        return;
    struct rw_record *padding = (struct rw_record *)(latest->bytes + latest->used);
    padding->kind = RW_RECORD_PADDING;
    padding->length = (uint32_t)rest;
    latest->used = latest->size;
    if (!(rw_image->flags & RW_IMAGE_SPOOL_ENDED))
        rw_image->length += rest;
}

static bool add_piece(size_t needed)
{
    size_t size = 2 * latest->size < LARGEST_PIECE ? 2 * latest->size : LARGEST_PIECE;
    while (size < needed)
        size *= 2;
    struct piece *piece = rw_allocate(1, sizeof *piece);
    uint8_t *bytes = piece ? more_bytes(size) : NULL;
    if (!bytes) {
        free(piece);
        return false;
    }
    close_piece();
    *piece = (struct piece){bytes, size, 0, NULL};
    latest->next = piece;
    latest = piece;
    return true;
}

void *rw_arena_add(enum rw_record_kind kind, size_t size)
{
    struct rw_record *record = NULL;
    size = (size + 7) & ~(size_t)7;
    pthread_mutex_lock(&lock);
    if (first.bytes && size <= UINT32_MAX && (latest->size - latest->used >= size || add_piece(size))) {
        record = (struct rw_record *)(latest->bytes + latest->used);
        record->kind = kind;
        record->length = (uint32_t)size;
        latest->used += size;
        if (!(rw_image->flags & RW_IMAGE_SPOOL_ENDED)) {
            /* The bytes that are valid grow only after the record is whole. */
            atomic_signal_fence(memory_order_seq_cst);
            rw_image->length += size;
        }
    }
    pthread_mutex_unlock(&lock);
    return record;
}

struct rw_record *rw_arena_next(struct rw_record *record)
{
    static const struct piece *piece; /* of the walk under way: there is one at a time */
    size_t position;
    if (record) {
        position = (size_t)((uint8_t *)record - piece->bytes) + record->length;
    } else {
        piece = &first;
        position = sizeof(struct rw_image);
    }
    while (piece && position >= piece->used) {
        piece = piece->next;
        position = 0;
    }
    return piece ? (struct rw_record *)(piece->bytes + position) : NULL;
}

/* ---- begin and end ---- */

_Static_assert(sizeof(struct rw_image) % 8 == 0, "records are aligned");

int rw_arena_begin(const char *folder, int rank)
{
    int error = 0;
    if (folder) {
        const int file = create(folder, rank);
        first.bytes = file < 0 ? NULL : map_more(file, FIRST_PIECE);
        if (!first.bytes) {
            error = errno;
            if (file >= 0)
                unlink(spool.path);
        }
        spool.growing = first.bytes;
        if (file >= 0)
            close(file);
    }
    if (!first.bytes)
        first.bytes = map_memory(FIRST_PIECE);
    if (first.bytes) {
        rw_image = (struct rw_image *)first.bytes;
        first.size = FIRST_PIECE;
        first.used = sizeof *rw_image;
        rw_image->length = first.used;
    }
    return error;
}

void rw_arena_end(bool keep)
{
    if (!spool.size)
        return;
    if (!keep)
        unlink(spool.path);
    else if (truncate(spool.path, (off_t)rw_image->length) != 0)
        return; /* unused bytes at the end do no harm */
}
