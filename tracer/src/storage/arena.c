#include "arena.h"

#include "allocate.h"
#include "spool_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Multiples of any page size in use (4, 16, 64 KiB). */
enum { FIRST_PIECE = 64 << 10, LARGEST_PIECE = 4 << 20 };

struct piece {
    uint8_t *bytes;
    size_t size;
    size_t used;
    struct piece *next;
};

static struct rw_image unread;
struct rw_image *rw_image = &unread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece first; /* its successors are allocated */
static struct piece *latest = &first;

static struct rw_spool_file spool;
static bool spool_grows; /* false: no file, or it cannot grow any more */

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
    if (spool_grows) {
        uint8_t *bytes = rw_spool_map_more(&spool, size);
        if (bytes)
            return bytes;
        spool_grows = false;
        rw_image->flags |= RW_IMAGE_SPOOL_ENDED;
    }
    return map_memory(size);
}

/* The rest of the latest piece becomes a padding record, which readers skip. */
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

void *rw_arena_add(enum rw_record_kind kind, const void *content, size_t filled, size_t size)
{
    struct rw_record *record = NULL;
    size = (size + 7) & ~(size_t)7;
    pthread_mutex_lock(&lock);
    if (first.bytes && size <= UINT32_MAX && (latest->size - latest->used >= size || add_piece(size))) {
        record = (struct rw_record *)(latest->bytes + latest->used);
        memcpy(record, content, filled);
        record->kind = kind;
        record->length = (uint32_t)size;
        latest->used += size;
        if (!(rw_image->flags & RW_IMAGE_SPOOL_ENDED)) {
            /* A killed rank leaves no half record: the length grows after the content is stored. */
            atomic_signal_fence(memory_order_seq_cst);
            rw_image->length += size;
        }
    }
    pthread_mutex_unlock(&lock);
    return record;
}

struct rw_record *rw_arena_next(struct rw_record *record)
{
    static const struct piece *piece; /* of the current iteration; only one runs at a time */
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

/* Creates the spool file and maps its first piece; returns 0 or an error number. */
static int begin_spool(const char *folder, int rank)
{
    char name[32];
    snprintf(name, sizeof name, "rank-%d.rwr", rank);
    const int error = rw_spool_create(&spool, folder, name);
    if (error != 0)
        return error;
    first.bytes = rw_spool_map_more(&spool, FIRST_PIECE);
    spool_grows = first.bytes;
    if (first.bytes)
        return 0;
    const int reason = errno;
    rw_spool_remove(&spool);
    return reason;
}

int rw_arena_begin(const char *folder, int rank)
{
    const int error = folder ? begin_spool(folder, rank) : 0;
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
    if (keep)
        rw_spool_cut(&spool, rw_image->length);
    else
        rw_spool_remove(&spool);
}
