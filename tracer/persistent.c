#include "persistent.h"

#include "allocate.h"
#include "events.h"
#include "fortran.h"
#include "hash_table.h"
#include "point_to_point.h"

#include <stdlib.h>

/* What a start of the request adds. */
struct plan {
    struct rw_communicator *communicator; /* of a collective; NULL: a send */
    enum rw_operation operation;
    int root_or_destination;              /* world rank; of a send -1: outside MPI_COMM_WORLD */
    uint64_t bytes;
    struct rw_row *row;                   /* of a collective, else NULL; same block as the plan */
};

static struct rw_table plans; /* request -> plan, under the tracer's lock */

static void note(uint64_t request, struct plan *plan)
{
    rw_lock();
    free(rw_table_remove(&plans, request));
    const bool noted = rw_table_insert(&plans, request, plan);
    rw_unlock();
    if (!noted)
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
    note(rw_request_key(request), plan);
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

/* The plan with room for a row: the program may change its arrays before the start, and the neighbours
 * may be gone by then. */
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
    note(((const struct rw_init_call *)call)->request, plan);
}

static void forget(uint64_t request)
{
    rw_lock();
    void *plan = rw_table_remove(&plans, request);
    rw_unlock();
    free(plan);
    if (rw_events_on)
        rw_expect_freed(request);
}

/* ---- starting ---- */

/* Where the time of a start goes. */
static enum rw_class class_of(uint64_t request)
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

/* Open MPI may put another request into the handle when it starts a send whose predecessor still
 * occupies the old one. */
static void started(const struct rw_call *call, uint64_t before, uint64_t after)
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
    rw_unlock();
    if (rw_events_on)
        write_start(call, plan, before, after);
}

int MPI_Start(MPI_Request *request)
{
    if (!rw_enter())
        return PMPI_Start(request);
    const uint64_t before = rw_request_key(*request);
    const enum rw_class class = class_of(before);
    const uint64_t start = rw_ticks();
    const int result = PMPI_Start(request);
    const struct rw_call call = rw_leave(class, start, RW_FLAG_PERSISTENT);
    if (result == MPI_SUCCESS)
        started(&call, before, rw_request_key(*request));
    return result;
}

/* The requests before a Startall, and its class: that of the first. NULL: none, or out of memory. */
static uint64_t *before_startall(int count, uint64_t (*key_at)(const void *requests, int i),
                                 const void *requests, enum rw_class *class)
{
    uint64_t *before = count > 0 ? rw_allocate((size_t)count, sizeof *before) : NULL;
    for (int i = 0; before && i < count; i++)
        before[i] = key_at(requests, i);
    *class = before ? class_of(before[0]) : RW_CLASS_POINT_TO_POINT;
    return before;
}

/* Each request gets its share of the time. */
static void after_startall(struct rw_call call, int count, const uint64_t *before,
                           uint64_t (*key_at)(const void *requests, int i), const void *requests)
{
    call.ticks /= (uint64_t)count;
    for (int i = 0; i < count; i++)
        started(&call, before[i], key_at(requests, i));
}

static uint64_t key_at(const void *requests, int i)
{
    return rw_request_key(((const MPI_Request *)requests)[i]);
}

int MPI_Startall(int count, MPI_Request requests[])
{
    enum rw_class class;
    if (!rw_enter())
        return PMPI_Startall(count, requests);
    uint64_t *before = before_startall(count, key_at, requests, &class);
    const uint64_t start = rw_ticks();
    const int result = PMPI_Startall(count, requests);
    const struct rw_call call = rw_leave(class, start, RW_FLAG_PERSISTENT);
    if (before && result == MPI_SUCCESS)
        after_startall(call, count, before, key_at, requests);
    free(before);
    return result;
}

int MPI_Request_free(MPI_Request *request)
{
    if (!rw_enter())
        return PMPI_Request_free(request);
    forget(rw_request_key(*request));
    const uint64_t start = rw_ticks();
    const int result = PMPI_Request_free(request);
    const struct rw_call call = rw_leave(RW_CLASS_OTHER, start, 0);
    if (rw_events_on)
        rw_event_freed(&call);
    return result;
}

#ifndef RW_WITHOUT_FORTRAN

typedef void start_function(MPI_Fint *request, MPI_Fint *ierror);
typedef void startall_function(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror);

static uint64_t fortran_key(MPI_Fint request)
{
    return rw_request_key(PMPI_Request_f2c(request));
}

static uint64_t fortran_key_at(const void *requests, int i)
{
    return fortran_key(((const MPI_Fint *)requests)[i]);
}

static void fortran_start(start_function *next, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    if (rw_enter()) {
        const uint64_t before = fortran_key(*request);
        const enum rw_class class = class_of(before);
        const uint64_t start = rw_ticks();
        next(request, &error);
        const struct rw_call call = rw_leave(class, start, RW_FLAG_PERSISTENT);
        if (error == MPI_SUCCESS)
            started(&call, before, fortran_key(*request));
    } else {
        next(request, &error);
    }
    if (ierror)
        *ierror = error;
}

static void fortran_startall(startall_function *next, MPI_Fint *count, MPI_Fint *requests,
                             MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    if (rw_enter()) {
        enum rw_class class;
        uint64_t *before = before_startall(*count, fortran_key_at, requests, &class);
        const uint64_t start = rw_ticks();
        next(count, requests, &error);
        const struct rw_call call = rw_leave(class, start, RW_FLAG_PERSISTENT);
        if (before && error == MPI_SUCCESS)
            after_startall(call, *count, before, fortran_key_at, requests);
        free(before);
    } else {
        next(count, requests, &error);
    }
    if (ierror)
        *ierror = error;
}

static void fortran_request_free(start_function *next, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    if (rw_enter()) {
        forget(fortran_key(*request));
        const uint64_t start = rw_ticks();
        next(request, &error);
        const struct rw_call call = rw_leave(RW_CLASS_OTHER, start, 0);
        if (rw_events_on)
            rw_event_freed(&call);
    } else {
        next(request, &error);
    }
    if (ierror)
        *ierror = error;
}

void mpi_start_f08_(MPI_Fint *request, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    fortran_start((start_function *)rw_next_symbol(&next, "mpi_start_f08_"), request, ierror);
}

void mpi_startall_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    fortran_startall((startall_function *)rw_next_symbol(&next, "mpi_startall_f08_"), count, requests,
                     ierror);
}

void mpi_request_free_f08_(MPI_Fint *request, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    fortran_request_free((start_function *)rw_next_symbol(&next, "mpi_request_free_f08_"), request,
                         ierror);
}

#ifdef RW_WRAP_ALL_FORTRAN

void mpi_start_(MPI_Fint *request, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    fortran_start((start_function *)rw_next_symbol(&next, "mpi_start_"), request, ierror);
}

void mpi_startall_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    fortran_startall((startall_function *)rw_next_symbol(&next, "mpi_startall_"), count, requests,
                     ierror);
}

void mpi_request_free_(MPI_Fint *request, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    fortran_request_free((start_function *)rw_next_symbol(&next, "mpi_request_free_"), request,
                         ierror);
}

#endif

#endif
