#include "stream.h"

#include "../mpi/warning.h"
#include "../process/clock.h"
#include "../process/waiting.h"
#include "../storage/allocate.h"
#include "../storage/arena.h"
#include "../storage/crc.h"
#include "../storage/spool_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_PIECE = 64 << 10, LARGEST_PIECE = 1 << 20 };
enum { VARINT_ROOM = 10 };

/* Guarded by the tracer's lock. */
static struct {
    bool open;
    struct rw_spool_file file;
    uint8_t *piece;
    size_t piece_size;
    struct rw_events_block *block; /* in the piece */
    uint8_t *next;                 /* where the next byte goes */
    uint8_t *end;                  /* of the piece */
    uint32_t thread;               /* of the last event */
    uint32_t threads;
    uint64_t communicators;
    struct rw_table numbers; /* address of rw_communicator -> struct number */
} stream;

struct number {
    uint64_t value;
    uint32_t created; /* of the record when it was defined */
};

/* Of this thread: its number, the end of its last event, and the tests and probes without result since. */
static _Thread_local struct {
    bool numbered;
    uint32_t number;
    uint64_t last_end;
    uint64_t polls;
    uint64_t poll_ticks;
    uint64_t first_poll;
    uint64_t last_poll_end;
    uint64_t waited;      /* in gaps of events so far */
    uint64_t poll_waited; /* rw_gap.waited at the last poll */
} thread __attribute__((tls_model("initial-exec")));

/* ---- bytes ---- */

void rw_stream_put(uint64_t value)
{
    while (value >= 0x80) {
        *stream.next++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *stream.next++ = (uint8_t)value;
}

void rw_stream_put_signed(int64_t value)
{
    rw_stream_put((uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* ---- blocks ---- */

static uint8_t *payload(void)
{
    return (uint8_t *)(stream.block + 1);
}

static void note_time(void)
{
    const struct rw_instant now = rw_now();
    stream.block->now_ticks = now.ticks;
    stream.block->now_ns = now.nanoseconds;
}

/* A killed rank leaves no half record: the length grows after the record is stored. The time, by which readers compute
 * the length of a tick if the rank is killed, is stored at growing intervals. */
static void publish(uint64_t events)
{
    struct rw_events_block *block = stream.block;
    atomic_signal_fence(memory_order_seq_cst);
    block->length = (uint64_t)(stream.next - payload());
    block->events += events;
    if ((block->events & (block->events - 1)) == 0)
        note_time();
}

static void close_block(uint32_t flags)
{
    struct rw_events_block *block = stream.block;
    note_time();
    block->crc = rw_crc(0, payload(), block->length);
    block->flags = RW_EVENTS_CLOSED | flags;
}

/* Bytes up to the next block, which is aligned to 8 bytes. */
static uint64_t used_size(const struct rw_events_block *block)
{
    return (sizeof *block + block->length + 7) & ~(uint64_t)7;
}

static void open_block(uint8_t *at)
{
    stream.block = (struct rw_events_block *)at;
    stream.block->size = (uint64_t)(stream.piece + stream.piece_size - at);
    note_time();
    stream.block->magic = RW_EVENTS_BLOCK_MAGIC;
    stream.next = payload();
    stream.end = stream.piece + stream.piece_size;
}

static bool map_piece(size_t size)
{
    uint8_t *piece = rw_spool_map_more(&stream.file, size);
    if (!piece)
        return false;
    if (stream.piece)
        munmap(stream.piece, stream.piece_size);
    stream.piece = piece;
    stream.piece_size = size;
    return true;
}

static void give_up(void)
{
    stream.open = false;
    rw_warn("rank %d: the events end here: %s", rw_tracer.world_rank, strerror(errno));
}

/* Makes room for a record; false: the stream has ended. */
static bool make_room(size_t room)
{
    if ((size_t)(stream.end - stream.next) >= room)
        return true;
    close_block(0);
    size_t size = 2 * stream.piece_size < LARGEST_PIECE ? 2 * stream.piece_size : LARGEST_PIECE;
    while (size < room + sizeof *stream.block)
        size *= 2;
    if (!map_piece(size)) {
        give_up();
        return false;
    }
    open_block(stream.piece);
    return true;
}

/* ---- events ---- */

/* RW_EVENT_ROOM includes what may precede the event: the number of the thread, and its polls. */
static void begin_event(enum rw_event_kind kind, uint64_t start, uint64_t ticks, uint64_t waited)
{
    if (!thread.numbered) {
        thread.numbered = true;
        thread.number = stream.threads++;
        thread.last_end = rw_image->begin_ticks;
    }
    if (thread.number != stream.thread) {
        stream.thread = thread.number;
        *stream.next++ = RW_EVENT_THREAD;
        rw_stream_put(thread.number);
    }
    if (waited > thread.waited) {
        *stream.next++ = RW_EVENT_WAITED;
        rw_stream_put(waited - thread.waited);
        thread.waited = waited;
    }
    *stream.next++ = (uint8_t)kind;
    rw_stream_put(start > thread.last_end ? start - thread.last_end : 0);
    rw_stream_put(ticks);
    thread.last_end = start + ticks;
}

static void write_polls(void)
{
    if (thread.polls == 0)
        return;
    begin_event(RW_EVENT_POLLS, thread.first_poll, thread.last_poll_end - thread.first_poll,
                thread.poll_waited);
    rw_stream_put(thread.polls);
    rw_stream_put(thread.poll_ticks);
    thread.polls = thread.poll_ticks = 0;
    publish(1);
}

bool rw_stream_event(const struct rw_call *call, enum rw_event_kind kind, size_t room)
{
    rw_lock();
    if (!stream.open || !make_room(room + RW_EVENT_ROOM)) {
        rw_unlock();
        return false;
    }
    write_polls();
    begin_event(kind, call->start, call->ticks, rw_gap.waited);
    return true;
}

void rw_stream_commit(void)
{
    publish(1);
    rw_unlock();
}

void rw_stream_poll(const struct rw_call *call)
{
    if (thread.polls == 0)
        thread.first_poll = call->start;
    thread.polls++;
    thread.poll_ticks += call->ticks;
    thread.last_poll_end = call->start + call->ticks;
    thread.poll_waited = rw_gap.waited;
}

/* ---- communicators ---- */

static size_t list_room(const struct rw_rank_list *list)
{
    return ((size_t)rw_find_runs(list, NULL) * 3 + 1) * VARINT_ROOM;
}

static size_t definition_room(const struct rw_members *members)
{
    return list_room(&members->local) + list_room(&members->remote) + RW_EVENT_ROOM;
}

static void put_runs(const struct rw_rank_list *list)
{
    const uint32_t count = rw_find_runs(list, NULL);
    struct rw_run *runs = rw_allocate(count, sizeof *runs);
    rw_stream_put(runs ? count : 0);
    if (runs)
        rw_find_runs(list, runs);
    for (uint32_t i = 0; runs && i < count; i++) {
        rw_stream_put_signed(runs[i].first);
        rw_stream_put_signed(runs[i].stride);
        rw_stream_put(runs[i].count);
    }
    free(runs);
}

static void define(const struct rw_communicator *communicator)
{
    const struct rw_members *members = communicator->members;
    *stream.next++ = RW_EVENT_COMMUNICATOR;
    rw_stream_put(members->intercommunicator);
    rw_stream_put(communicator->record->slot);
    rw_stream_put(communicator->record->created);
    put_runs(rw_first_group(members));
    put_runs(rw_second_group(members));
    publish(0);
}

static struct number *number_of(const struct rw_communicator *communicator)
{
    const uint64_t key = (uintptr_t)communicator;
    struct number *number = rw_table_find(&stream.numbers, key);
    if (number)
        return number;
    number = rw_allocate(1, sizeof *number);
    if (number && !rw_table_insert(&stream.numbers, key, number)) {
        free(number);
        number = NULL;
    }
    return number;
}

uint64_t rw_stream_number(const struct rw_communicator *communicator)
{
    uint64_t value = 0;
    rw_lock();
    struct number *number = number_of(communicator);
    if (number && number->created == communicator->record->created) {
        value = number->value;
    } else if (number && stream.open && make_room(definition_room(communicator->members))) {
        define(communicator);
        number->created = communicator->record->created;
        value = number->value = stream.communicators++;
    } else if (stream.open) {
        errno = ENOMEM;
        give_up();
    }
    rw_unlock();
    return value;
}

/* ---- begin and end ---- */

_Static_assert(sizeof(struct rw_events_head) % 8 == 0, "the first block is aligned");

static void write_head(void)
{
    struct rw_events_head *head = (struct rw_events_head *)stream.piece;
    head->version = RW_EVENTS_VERSION;
    head->head_bytes = sizeof *head;
    head->rank = rw_image->rank;
    head->world_size = rw_image->world_size;
    head->run = rw_image->run;
    head->clock = rw_image->clock;
    head->start_unix_ns = rw_image->start_unix_ns;
    head->begin_ticks = rw_image->begin_ticks;
    head->begin_ns = rw_image->begin_ns;
    memcpy(head->magic, RW_EVENTS_MAGIC, sizeof head->magic);
}

int rw_stream_begin(const char *folder)
{
    char name[32];
    snprintf(name, sizeof name, "rank-%d.events", rw_tracer.world_rank);
    const int error = rw_spool_create(&stream.file, folder, name);
    if (error != 0)
        return error;
    if (!map_piece(FIRST_PIECE)) {
        const int reason = errno;
        rw_spool_remove(&stream.file);
        return reason;
    }
    open_block(stream.piece + sizeof(struct rw_events_head));
    write_head();
    stream.open = true;
    return 0;
}

void rw_stream_end(void)
{
    if (!stream.open)
        return;
    if (make_room(RW_EVENT_ROOM)) {
        write_polls();
        close_block(RW_EVENTS_LAST);
        const size_t before = (size_t)(stream.file.size - stream.piece_size);
        const size_t begin = (size_t)((uint8_t *)stream.block - stream.piece);
        stream.block->size = used_size(stream.block);
        rw_spool_cut(&stream.file, before + begin + stream.block->size);
    }
    munmap(stream.piece, stream.piece_size);
    stream.open = false;
}
