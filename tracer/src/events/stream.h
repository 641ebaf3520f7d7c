/*
 * stream.h - writing events to the file of this rank, encoded as events_format.h describes.
 *
 * The file is mapped piece by piece, each piece a block; one piece is mapped at a time. All threads write to one
 * stream, one event at a time, with the tracer's lock held.
 */
#ifndef RANKWRIGHT_EVENT_STREAM_H
#define RANKWRIGHT_EVENT_STREAM_H

#include "../communicators/communicators.h"
#include "../format/events_format.h"
#include "../process/state.h"

#pragma GCC visibility push(hidden)

/* The largest size of an event without a list, bytes. */
enum { RW_EVENT_ROOM = 128 };

/* Collective over MPI_COMM_WORLD. Returns 0, or an error number if there is no file. */
int rw_stream_begin(const char *folder);
/* At MPI_Finalize. */
void rw_stream_end(void);

/* The number of a communicator in the stream; writes its definition if it is new. Call it before rw_stream_event. */
uint64_t rw_stream_number(const struct rw_communicator *communicator);

/* Begins an event of at most `room` bytes and takes the lock. False: the stream has ended, the lock is not taken, and
 * no event may be written. */
bool rw_stream_event(const struct rw_call *call, enum rw_event_kind kind, size_t room);
void rw_stream_put(uint64_t value);
void rw_stream_put_signed(int64_t value);
/* Ends the event and releases the lock. */
void rw_stream_commit(void);

/* A test or probe of this thread without result. */
void rw_stream_poll(const struct rw_call *call);

/* The code of a world rank in events; -1: outside MPI_COMM_WORLD. */
static inline uint64_t rw_event_peer(int world_rank)
{
    return world_rank < 0 ? RW_PEER_OUTSIDE : (uint64_t)world_rank + RW_PEER_FIRST;
}

#pragma GCC visibility pop
#endif
