/*
 * communicators.h - the communicators of this process: members as world ranks, slots.
 *
 * struct rw_communicator is found by a small cache, or by an attribute of the handle, which is deleted with it. It
 * lives to the end of the run and is reused by the next communicator in its slot; trace_format.h defines slots.
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
    MPI_Comm handle;                /* while living */
    struct rw_rank_list neighbours; /* that this rank sends to in the topology; -1: MPI_PROC_NULL, or outside */
    bool neighbours_known;
    const struct rw_topology_record *declared; /* the last one in this slot */
    struct rw_table collectives;               /* of collective_totals.c */
    struct rw_communicator *next;
};

/* Distinct member lists, shared by the communicators that have them. */
struct rw_members {
    bool intercommunicator;
    bool local_first;       /* canonical order: the group with the smaller lowest world rank comes first */
    int local_rank;
    struct rw_rank_list local;
    struct rw_rank_list remote; /* empty for an intracommunicator */
    uint64_t digest;        /* of kind and lists */
    uint32_t id;            /* in the image */
    struct rw_communicator *slots; /* in ascending order */
    struct rw_members *next_same_digest;
    struct rw_members *next;
};

/* The group that destination and source ranks refer to: the remote one of an intercommunicator. */
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

/* The communicator of a valid handle; NULL: out of memory. */
struct rw_communicator *rw_find_communicator(MPI_Comm comm);
/* As above, and takes the tracer's lock, also if NULL. */
struct rw_communicator *rw_lock_communicator(MPI_Comm comm);

/* The members of a group; NULL: out of memory. */
const struct rw_members *rw_group_members(MPI_Group group);

/* At MPI_Finalize: stores the names of the communicators that were not freed. */
void rw_keep_names(void);

/* After calls that create communicators; MPI_COMM_NULL is ignored. */
void rw_record_created(const struct rw_call *call, MPI_Comm created);
void rw_record_duplicated(const struct rw_call *call, MPI_Comm parent, MPI_Comm created);
/* The handle of MPI_Comm_idup must not be used before its request completes: the attribute is set at first use. */
void rw_record_duplicating(const struct rw_call *call, MPI_Comm parent, MPI_Comm created);

#pragma GCC visibility pop
#endif
