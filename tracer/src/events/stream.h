/*
 * event_stream.h - writing events, in the encoding of events_format.h, to the file of this rank.
 *
 * The file is mapped piece by piece, each piece a block; memory holds one piece at a time. Events of all
 * threads go into one stream, one at a time under the tracer's lock.
 */
#ifndef RANKWRIGHT_EVENT_STREAM_H
#define RANKWRIGHT_EVENT_STREAM_H

#include "../communicators/communicators.h"
#include "../format/events_format.h"
#include "../process/state.h"

#pragma GCC visibility push(hidden)

/* What any event without a list takes at most. */
enum { RW_EVENT_ROOM = 128 };

/* Collective; an error number if there is no file. */
int rw_stream_begin(const char *folder);
/* The rank has reached MPI_Finalize. */
void rw_stream_end(void);

/* The number of a communicator in the stream; writes its definition if it is new. Before rw_stream_event. */
uint64_t rw_stream_number(const struct rw_communicator *communicator);

/* Begins an event that takes at most `room` bytes, and takes the lock; false: there is no stream (any
 * more), nothing is locked and no event to be written. */
bool rw_stream_event(const struct rw_call *call, enum rw_event_kind kind, size_t room);
void rw_stream_put(uint64_t value);
void rw_stream_put_signed(int64_t value);
/* Ends it, and gives the lock back. */
void rw_stream_commit(void);

/* A test or probe of this thread that found nothing. */
void rw_stream_poll(const struct rw_call *call);

/* A world rank as events have it; -1: outside MPI_COMM_WORLD. */
static inline uint64_t rw_event_peer(int world_rank)
{
    return world_rank < 0 ? RW_PEER_OUTSIDE : (uint64_t)world_rank + RW_PEER_FIRST;
}

#pragma GCC visibility pop
#endif
