#include "requests.h"

#include "../storage/allocate.h"
#include "../storage/hash_table.h"

#include <stdlib.h>

static uint64_t created;
static struct rw_table active;   /* key -> the oldest request */
static struct rw_request *spare; /* dropped requests, for reuse */

struct rw_request *rw_request_make(const struct rw_communicator *receives_from)
{
    struct rw_request *request = spare;
    if (request)
        spare = request->next;
    else
        request = rw_allocate(1, sizeof *request);
    if (request)
        *request = (struct rw_request){.number = created, .receives_from = receives_from};
    created++;
    return request;
}

void rw_request_drop(struct rw_request *request)
{
    request->next = spare;
    spare = request;
}

static void drop_all(struct rw_request *first)
{
    while (first) {
        struct rw_request *next = first->next;
        rw_request_drop(first);
        first = next;
    }
}

void rw_request_bind(struct rw_request *request, uint64_t key)
{
    if (!request)
        return;
    request->key = key;
    request->next = NULL;
    request->last = request;
    struct rw_request *first = rw_table_find(&active, key);
    /* A receive never shares its handle: the request that had it before was completed by a call that is not wrapped. */
    if (first && (request->receives_from || first->receives_from)) {
        drop_all(rw_table_remove(&active, key));
        first = NULL;
    }
    if (first) {
        first->last->next = request;
        first->last = request;
    } else if (!rw_table_insert(&active, key, request)) {
        rw_request_drop(request);
    }
}

struct rw_request *rw_request_take(uint64_t key)
{
    struct rw_request *first = rw_table_remove(&active, key);
    if (first && first->next) {
        first->next->last = first->last;
        rw_table_insert(&active, key, first->next);
    }
    return first;
}

void rw_request_return(struct rw_request *request)
{
    struct rw_request *first = rw_table_remove(&active, request->key);
    request->next = first;
    request->last = first ? first->last : request;
    if (!rw_table_insert(&active, request->key, request))
        drop_all(request);
}

uint64_t rw_request_distance(const struct rw_request *request)
{
    return created - 1 - request->number;
}
