#include "persistent.h"

#include "../events/events.h"
#include "../network/pml.h"
#include "../storage/allocate.h"
#include "../storage/hash_table.h"
#include "collective_totals.h"
#include "point_to_point.h"

#include <stdlib.h>

/* What each start of a request adds. */
struct plan {
    struct rw_communicator *communicator; /* of a collective; NULL: this is a send */
    enum rw_operation operation;
    int root_or_destination;              /* world rank; destination -1: outside MPI_COMM_WORLD */
    uint64_t bytes;
    struct rw_row *row;                   /* of a collective, or NULL; allocated with the plan */
};

static struct rw_table plans; /* request -> plan; guarded by the tracer's lock */

static void store(uint64_t request, struct plan *plan)
{
    rw_lock();
    free(rw_table_remove(&plans, request));
    const bool stored = rw_table_insert(&plans, request, plan);
    rw_unlock();
    if (!stored)
        free(plan);
}

static void plan_send(uint64_t bytes, int destination, MPI_Comm comm, MPI_Request request)
{
    if (destination < 0) /* MPI_PROC_NULL: no message */
        return;
    struct plan *plan = rw_allocate(1, sizeof *plan);
    if (!plan)
        return;
    plan->root_or_destination = rw_world_rank(destination, comm);
    plan->bytes = bytes;
    store(rw_request_key(request), plan);
}

void rw_record_send_init(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype,
                         int destination, MPI_Comm comm, MPI_Request request)
{
    (void)call;
    plan_send(rw_bytes(count, datatype), destination, comm, request);
}

void rw_record_psend_init(const struct rw_call *call, int partitions, MPI_Count count,
                          MPI_Datatype datatype, int destination, MPI_Comm comm,
                          MPI_Request request)
{
    (void)call;
    plan_send((uint64_t)partitions * rw_bytes(count, datatype), destination, comm, request);
}

/* A plan with a copy of the row: until the start the program may change its arrays and free the communicator. */
static struct plan *allocate_plan(const struct rw_row *row)
{
    const size_t count = row ? (size_t)row->destinations.count : 0;
    const size_t listed = row && row->destinations.ranks ? count : 0;
    struct plan *plan = rw_allocate(1, sizeof *plan + sizeof *row + count * sizeof *row->bytes
                                           + listed * sizeof *row->destinations.ranks);
    if (!plan || !row)
        return plan;
    plan->row = (struct rw_row *)(plan + 1);
    *plan->row = (struct rw_row){row->destinations, (uint64_t *)(plan->row + 1)};
    memcpy(plan->row->bytes, row->bytes, count * sizeof *row->bytes);
    if (listed) {
        plan->row->destinations.ranks = (int *)(plan->row->bytes + count);
        memcpy(plan->row->destinations.ranks, row->destinations.ranks,
               listed * sizeof *row->destinations.ranks);
    }
    return plan;
}

void rw_plan_collective(const struct rw_call *call, struct rw_communicator *communicator,
                        enum rw_operation operation, int root, uint64_t bytes,
                        const struct rw_row *row)
{
    struct plan *plan = allocate_plan(row);
    if (!plan)
        return;
    plan->communicator = communicator;
    plan->operation = operation;
    plan->root_or_destination = root;
    plan->bytes = bytes;
    store(((const struct rw_init_call *)call)->request, plan);
}

void rw_forget_request(uint64_t request)
{
    rw_lock();
    void *plan = rw_table_remove(&plans, request);
    rw_unlock();
    free(plan);
    if (rw_events_on)
        rw_expect_freed(request);
}

/* ---- starts ---- */

enum rw_class rw_class_of_start(uint64_t request)
{
    rw_lock();
    const struct plan *plan = rw_table_find(&plans, request);
    const bool collective = plan && plan->communicator;
    rw_unlock();
    return collective ? RW_CLASS_COLLECTIVE : RW_CLASS_POINT_TO_POINT;
}

static void write_start(const struct rw_call *call, const struct plan *plan, uint64_t before,
                        uint64_t after)
{
    const struct rw_row *row = plan ? plan->row : NULL;
    if (plan && plan->communicator)
        rw_event_collective(call, plan->communicator, plan->operation, plan->root_or_destination,
                            plan->bytes, row);
    rw_event_started(call, before, after);
}

void rw_record_start(const struct rw_call *call, uint64_t before, uint64_t after)
{
    rw_lock();
    struct plan *plan = rw_table_find(&plans, before);
    if (plan && after != before) {
        rw_table_remove(&plans, before);
        free(rw_table_remove(&plans, after));
        if (!rw_table_insert(&plans, after, plan)) {
            free(plan);
            plan = NULL;
        }
    }
    if (plan && plan->communicator)
        rw_add_collective(call, plan->communicator, plan->operation, plan->root_or_destination,
                          plan->bytes, plan->row);
    else if (plan)
        rw_add_message(RW_PAIR_POINT_TO_POINT, call->start, plan->root_or_destination, plan->bytes);
    if (plan && !plan->communicator)
        rw_pml_started(plan->root_or_destination, plan->bytes);
    rw_unlock();
    if (rw_events_on)
        write_start(call, plan, before, after);
}
