#include "point_to_point.h"

#include "allocate.h"
#include "communicators.h"

struct rw_point_to_point rw_point_to_point;

static struct rw_partner *find_partner(int world_rank)
{
    struct rw_partner *partner =
        rw_table_find(&rw_point_to_point.partners, (uint64_t)world_rank);
    if (partner)
        return partner;
    partner = rw_allocate(1, sizeof *partner);
    if (!partner || !rw_table_insert(&rw_point_to_point.partners, (uint64_t)world_rank, partner))
        return NULL;
    return partner;
}

/* Threads may take the lock in another order than they read the clock: no gap is below zero. */
static void add_gap(struct rw_partner *partner, uint64_t start)
{
    const double gap = start > partner->last ? (double)(start - partner->last) : 0.0;
    const double deviation = gap - partner->gap_mean;
    partner->gap_mean += deviation / (double)partner->messages;
    partner->gap_m2 += deviation * (gap - partner->gap_mean);
}

/* Under the lock. */
static void add_message(uint64_t start, int world_rank, uint64_t bytes)
{
    if (world_rank < 0) {
        rw_point_to_point.outside_messages++;
        rw_point_to_point.outside_bytes += bytes;
        return;
    }
    struct rw_partner *partner = find_partner(world_rank);
    if (!partner)
        return;
    if (partner->messages > 0)
        add_gap(partner, start);
    if (partner->messages == 0 || start < partner->first)
        partner->first = start;
    if (start > partner->last)
        partner->last = start;
    partner->messages++;
    partner->bytes += bytes;
    if (bytes > partner->largest)
        partner->largest = bytes;
    partner->histogram[bytes == 0 ? 0 : 64 - __builtin_clzll(bytes)]++;
}

/* Under the lock, with a destination that MPI has accepted. */
static int translate(const struct rw_communicator *communicator, int destination)
{
    const struct rw_members *members = communicator->members;
    return destination < members->destination_count ? members->destinations[destination] : -1;
}

void rw_record_send(const struct rw_call *call, int count, MPI_Datatype datatype, int destination,
                    MPI_Comm comm)
{
    if (destination < 0) /* MPI_PROC_NULL: no message */
        return;
    const uint64_t bytes = rw_bytes(count, datatype);
    const struct rw_communicator *communicator = rw_lock_communicator(comm);
    if (communicator)
        add_message(call->start, translate(communicator, destination), bytes);
    rw_unlock();
}

int rw_world_rank(int destination, MPI_Comm comm)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    return communicator ? translate(communicator, destination) : -1;
}

void rw_record_start(uint64_t start, int world_rank, uint64_t bytes)
{
    rw_lock();
    add_message(start, world_rank, bytes);
    rw_unlock();
}
