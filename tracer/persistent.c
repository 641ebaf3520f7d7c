#include "persistent.h"

#include "allocate.h"
#include "events.h"
#include "fortran.h"
#include "hash_table.h"
#include "point_to_point.h"

#include <stdlib.h>
#include <string.h>

struct persistent_send {
    int world_rank; /* -1: outside MPI_COMM_WORLD */
    uint64_t bytes;
};

static struct rw_table sends; /* request -> persistent_send, under the tracer's lock */

static uint64_t key_of(MPI_Request request)
{
    uint64_t key = 0;
    memcpy(&key, &request, sizeof request);
    return key;
}

void rw_record_send_init(const struct rw_call *call, int count, MPI_Datatype datatype,
                         int destination, MPI_Comm comm, MPI_Request request)
{
    (void)call;
    if (destination < 0) /* MPI_PROC_NULL: no message */
        return;
    struct persistent_send *send = rw_allocate(1, sizeof *send);
    if (!send)
        return;
    *send = (struct persistent_send){rw_world_rank(destination, comm), rw_bytes(count, datatype)};
    rw_lock();
    free(rw_table_remove(&sends, key_of(request)));
    if (!rw_table_insert(&sends, key_of(request), send))
        free(send);
    rw_unlock();
}

static void forget(uint64_t key)
{
    rw_lock();
    void *send = rw_table_remove(&sends, key);
    rw_unlock();
    free(send);
    if (rw_events_on)
        rw_expect_freed(key);
}

/* Open MPI may put another request into the handle when it starts a send whose predecessor still
 * occupies the old one. */
static void started(const struct rw_call *call, uint64_t before, uint64_t after)
{
    rw_lock();
    struct persistent_send *send = rw_table_find(&sends, before);
    const struct persistent_send copy = send ? *send : (struct persistent_send){-1, 0};
    if (send && after != before) {
        rw_table_remove(&sends, before);
        free(rw_table_remove(&sends, after));
        rw_table_insert(&sends, after, send);
    }
    rw_unlock();
    if (send)
        rw_record_start(call->start, copy.world_rank, copy.bytes);
    if (rw_events_on)
        rw_event_started(call, before, after);
}

/* Each request gets its share of the time. */
static struct rw_call share_of(struct rw_call call, int count)
{
    call.ticks /= count > 0 ? (uint64_t)count : 1;
    return call;
}

int MPI_Start(MPI_Request *request)
{
    if (!rw_enter())
        return PMPI_Start(request);
    const uint64_t before = key_of(*request);
    const uint64_t start = rw_ticks();
    const int result = PMPI_Start(request);
    const struct rw_call call = rw_leave(RW_CLASS_POINT_TO_POINT, start, 0);
    if (result == MPI_SUCCESS)
        started(&call, before, key_of(*request));
    return result;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    uint64_t *before = NULL;
    if (!rw_enter())
        return PMPI_Startall(count, requests);
    if (count > 0)
        before = rw_allocate((size_t)count, sizeof *before);
    for (int i = 0; before && i < count; i++)
        before[i] = key_of(requests[i]);
    const uint64_t start = rw_ticks();
    const int result = PMPI_Startall(count, requests);
    const struct rw_call call = share_of(rw_leave(RW_CLASS_POINT_TO_POINT, start, 0), count);
    for (int i = 0; before && result == MPI_SUCCESS && i < count; i++)
        started(&call, before[i], key_of(requests[i]));
    free(before);
    return result;
}

int MPI_Request_free(MPI_Request *request)
{
    if (!rw_enter())
        return PMPI_Request_free(request);
    forget(key_of(*request));
    const uint64_t start = rw_ticks();
    const int result = PMPI_Request_free(request);
    const struct rw_call call = rw_leave(RW_CLASS_OTHER, start, 0);
    if (rw_events_on)
        rw_event_freed(&call);
    return result;
}

typedef void start_function(MPI_Fint *request, MPI_Fint *ierror);
typedef void startall_function(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror);

static uint64_t fortran_key(MPI_Fint request)
{
    return key_of(PMPI_Request_f2c(request));
}

static void fortran_start(start_function *next, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    if (rw_enter()) {
        const uint64_t before = fortran_key(*request);
        const uint64_t start = rw_ticks();
        next(request, &error);
        const struct rw_call call = rw_leave(RW_CLASS_POINT_TO_POINT, start, 0);
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
        uint64_t *before = *count > 0 ? rw_allocate((size_t)*count, sizeof *before) : NULL;
        for (int i = 0; before && i < *count; i++)
            before[i] = fortran_key(requests[i]);
        const uint64_t start = rw_ticks();
        next(count, requests, &error);
        const struct rw_call call = share_of(rw_leave(RW_CLASS_POINT_TO_POINT, start, 0), *count);
        for (int i = 0; before && error == MPI_SUCCESS && i < *count; i++)
            started(&call, before[i], fortran_key(requests[i]));
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
