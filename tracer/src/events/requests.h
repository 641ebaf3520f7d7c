/*
 * requests.h - active requests: from handles to their numbers in the events.
 *
 * A library may give the same handle to several sends that complete at once (Open MPI and MPICH do): then the handle
 * stands for all of them, and a completing call takes the oldest.
 * All functions are called with the tracer's lock held.
 */
#ifndef RANKWRIGHT_EVENT_REQUESTS_H
#define RANKWRIGHT_EVENT_REQUESTS_H

#include "../communicators/communicators.h"

#pragma GCC visibility push(hidden)

struct rw_request {
    uint64_t number;
    uint64_t key;
    const struct rw_communicator *receives_from; /* NULL: nothing is received */
    bool sendrecv;                               /* of MPI_Isendrecv; its receive as posted: */
    uint64_t peer;
    int tag;
    uint64_t bytes;
    struct rw_request *next;                     /* with an equal handle */
    struct rw_request *last;                     /* of these; valid in the first */
};

/* A new request, with the next number; NULL: out of memory. */
struct rw_request *rw_request_make(const struct rw_communicator *receives_from);
/* Enters the request under its handle's key. */
void rw_request_bind(struct rw_request *request, uint64_t key);
/* Removes and returns the oldest request under this key; NULL: none. */
struct rw_request *rw_request_take(uint64_t key);
/* Undoes rw_request_take; several in reverse order. */
void rw_request_return(struct rw_request *request);
void rw_request_drop(struct rw_request *request);
/* The number of requests that were created after it. */
uint64_t rw_request_distance(const struct rw_request *request);

#pragma GCC visibility pop
#endif
