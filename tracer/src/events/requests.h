/*
 * event_requests.h - the requests under way, from their handles to their numbers in the events.
 *
 * A library may give one handle to several sends that were over at once (Open MPI and MPICH do): then the
 * handle stands for all of them, and whoever is waited for next is the oldest.
 * All of this is under the tracer's lock.
 */
#ifndef RANKWRIGHT_EVENT_REQUESTS_H
#define RANKWRIGHT_EVENT_REQUESTS_H

#include "../communicators/communicators.h"

#pragma GCC visibility push(hidden)

struct rw_request {
    uint64_t number;
    uint64_t key;
    const struct rw_communicator *receives_from; /* NULL: nothing is received */
    bool sendrecv;                               /* then, as it was posted: */
    uint64_t peer;
    int tag;
    uint64_t bytes;
    struct rw_request *next;                     /* with the same handle */
    struct rw_request *last;                     /* of these; right in the first */
};

/* A new request, with the next number; NULL: out of memory, or nobody will complete it. */
struct rw_request *rw_request_make(const struct rw_communicator *receives_from);
/* From now on it is found by this handle. */
void rw_request_bind(struct rw_request *request, uint64_t key);
/* The oldest with this handle, which is no longer found; NULL: none. */
struct rw_request *rw_request_take(uint64_t key);
/* Undoes rw_request_take; of several, in reverse order. */
void rw_request_return(struct rw_request *request);
void rw_request_drop(struct rw_request *request);
/* How many requests were made after it. */
uint64_t rw_request_distance(const struct rw_request *request);

#pragma GCC visibility pop
#endif
