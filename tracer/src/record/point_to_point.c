#include "point_to_point.h"

#include "../communicators/communicators.h"
#include "../process/clock.h"
#include "../storage/arena.h"
#include "../storage/hash_table.h"

static struct rw_table partners[RW_PAIR_CLASS_COUNT]; /* world rank -> rw_pair_record */

static struct rw_pair_record *find_partner(enum rw_pair_class class, int world_rank)
{
    struct rw_pair_record *partner = rw_table_find(&partners[class], (uint64_t)world_rank);
    if (partner)
        return partner;
    const struct rw_pair_record record = {
        .peer = (uint32_t)world_rank, .class = (uint8_t)class, .bins = RW_HISTOGRAM_BINS};
    partner = rw_arena_add(RW_RECORD_PAIR, &record, sizeof record,
                           sizeof record + RW_HISTOGRAM_BINS * sizeof *record.histogram);
    if (!partner)
        return NULL;
    return rw_table_insert(&partners[class], (uint64_t)world_rank, partner) ? partner : NULL;
}

/* Welford's recurrence for mean and variance. Threads may take the lock in another order than they read the clock: a
 * negative gap counts as 0. */
static void add_gap(struct rw_pair_record *partner, uint64_t start)
{
    const double gap = start > partner->last ? (double)(start - partner->last) : 0.0;
    const double deviation = gap - partner->gap_mean;
    partner->gap_mean += deviation / (double)partner->messages;
    partner->gap_m2 += deviation * (gap - partner->gap_mean);
}

static void add_time(struct rw_pair_record *partner, uint64_t start)
{
    if (partner->messages > 0)
        add_gap(partner, start);
    if (partner->messages == 0 || start < partner->first)
        partner->first = start;
    if (start > partner->last)
        partner->last = start;
}

void rw_add_message(enum rw_pair_class class, uint64_t start, int world_rank, uint64_t bytes)
{
    if (world_rank < 0) {
        rw_image->outside_messages++;
        rw_image->outside_bytes += bytes;
        return;
    }
    struct rw_pair_record *partner = find_partner(class, world_rank);
    if (!partner)
        return;
    if (rw_clock != RW_CLOCK_OFF)
        add_time(partner, start);
    partner->messages++;
    partner->bytes += bytes;
    if (bytes > partner->largest)
        partner->largest = bytes;
    partner->histogram[bytes == 0 ? 0 : 64 - __builtin_clzll(bytes)]++;
}

/* The world rank of a destination that MPI has accepted, with the tracer's lock held. */
static int translate(const struct rw_communicator *communicator, int destination)
{
    return rw_rank_at_or_outside(rw_partners(communicator->members), destination);
}

void rw_record_send(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int destination,
                    MPI_Comm comm)
{
    if (destination < 0) /* MPI_PROC_NULL: no message */
        return;
    const uint64_t bytes = rw_bytes(count, datatype);
    const struct rw_communicator *communicator = rw_lock_communicator(comm);
    if (communicator)
        rw_add_message(RW_PAIR_POINT_TO_POINT, call->start, translate(communicator, destination),
                       bytes);
    rw_unlock();
}

int rw_world_rank(int destination, MPI_Comm comm)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    return communicator ? translate(communicator, destination) : -1;
}
