/*
 * communicators.h - the communicators of this process: members as world ranks, slots, collectives.
 *
 * A communicator's record is found through an attribute on its handle (freed with it) and a small
 * cache. The record itself stays to the end of the run and is reused by the next communicator that
 * takes its slot; trace_format.h defines slots and identity.
 */
#ifndef RANKWRIGHT_COMMUNICATORS_H
#define RANKWRIGHT_COMMUNICATORS_H

#include "../process/state.h"
#include "../storage/hash_table.h"
#include "rank_list.h"

#pragma GCC visibility push(hidden)

struct rw_communicator {
    struct rw_members *members;
    struct rw_communicator_record *record;
    bool living;
    MPI_Comm handle;        /* while living */
    struct rw_rank_list neighbours; /* this rank sends to in the topology, -1 for none */
    bool neighbours_known;
    const struct rw_topology_record *declared; /* by the last in this slot that declared one */
    struct rw_table collectives;
    struct rw_communicator *next;
};

/* Distinct member lists, shared by the communicators that have them. */
struct rw_members {
    bool intercommunicator;
    bool local_first;       /* canonical order: the group with the smaller lowest world rank is first */
    int local_rank;
    struct rw_rank_list local;
    struct rw_rank_list remote; /* empty for an intracommunicator */
    uint64_t digest;        /* of kind and lists */
    uint32_t id;            /* in the image */
    struct rw_communicator *slots; /* ascending */
    struct rw_members *next_same_digest;
    struct rw_members *next;
};

/* What a destination or source rank means: a member of the other group, if there is one. */
static inline const struct rw_rank_list *rw_partners(const struct rw_members *members)
{
    return members->intercommunicator ? &members->remote : &members->local;
}

/* The groups in canonical order. */
static inline const struct rw_rank_list *rw_first_group(const struct rw_members *members)
{
    return members->local_first ? &members->local : &members->remote;
}

static inline const struct rw_rank_list *rw_second_group(const struct rw_members *members)
{
    return members->local_first ? &members->remote : &members->local;
}

void rw_communicators_begin(void);
void rw_communicators_end(void);

/* The record of a communicator in use; NULL only when out of memory. */
struct rw_communicator *rw_find_communicator(MPI_Comm comm);
/* The same, returning under the lock even if NULL. */
struct rw_communicator *rw_lock_communicator(MPI_Comm comm);

/* The members of a group as those of an intracommunicator; NULL: out of memory. */
const struct rw_members *rw_group_members(MPI_Group group);

/* Before the end: the names of the communicators that were not freed. */
void rw_keep_names(void);

/* Called by the wrappers of functions that create communicators; MPI_COMM_NULL is ignored. */
void rw_record_created(const struct rw_call *call, MPI_Comm created);
void rw_record_duplicated(const struct rw_call *call, MPI_Comm parent, MPI_Comm created);
/* The new handle may not be used by anyone before its request completes: noted, bound later. */
void rw_record_duplicating(const struct rw_call *call, MPI_Comm parent, MPI_Comm created);

#pragma GCC visibility pop
#endif
