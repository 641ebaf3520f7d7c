/* completion.c - events of waits and tests: the requests that they completed, and what was received. */
#include "events.h"

#include "../mpi/arguments.h"
#include "../storage/allocate.h"
#include "requests.h"
#include "stream.h"

#include <stdlib.h>

#if defined(MPI_F_STATUS_SIZE)
enum { STATUS_SIZE = MPI_F_STATUS_SIZE };
#else
enum { STATUS_SIZE = sizeof(MPI_Status) / sizeof(MPI_Fint) }; /* as configure of Open MPI 4 computes it */
#endif

/* MPICH does not fill the status of MPI_Isendrecv (seen in 4.0). */
#if defined(MPICH)
enum { SENDRECV_HAS_NO_STATUS = true };
#else
enum { SENDRECV_HAS_NO_STATUS = false };
#endif

/* In `use mpi_f08` of MPICH 4.0, indices count from 0. */
#if defined(MPICH)
enum { COUNTS_FROM_0 = true };
#else
enum { COUNTS_FROM_0 = false };
#endif

enum { COMPLETED_ROOM = 40 }; /* of one request: four varints */

/* One completed request. */
struct completed {
    const struct rw_request *request;
    unsigned flags;
    uint64_t peer;
    int tag;
    uint64_t bytes;
};

/* The arguments of the completing call that this thread is in. */
static _Thread_local struct {
    int capacity;
    struct rw_request **requests; /* NULL: inactive, or not recorded */
    struct completed *completed;
    MPI_Status *spare_statuses;
    MPI_Fint *spare_fortran_statuses;
    int count;
    const MPI_Request *handles; /* NULL: of Fortran */
    const MPI_Fint *fortran_handles;
    const MPI_Status *statuses; /* NULL: of Fortran */
    const MPI_Fint *fortran_statuses;
} expected;

static bool grow(int capacity)
{
    const size_t size = (size_t)capacity;
    void *requests = rw_reallocate(expected.requests, size, sizeof *expected.requests);
    expected.requests = requests ? requests : expected.requests;
    void *completed = rw_reallocate(expected.completed, size, sizeof *expected.completed);
    expected.completed = completed ? completed : expected.completed;
    void *statuses = rw_reallocate(expected.spare_statuses, size, sizeof *expected.spare_statuses);
    expected.spare_statuses = statuses ? statuses : expected.spare_statuses;
    void *fortran = rw_reallocate(expected.spare_fortran_statuses, size * STATUS_SIZE, sizeof(MPI_Fint));
    expected.spare_fortran_statuses = fortran ? fortran : expected.spare_fortran_statuses;
    if (!requests || !completed || !statuses || !fortran)
        return false;
    expected.capacity = capacity;
    return true;
}

/* Makes room for `count` requests; false: out of memory, and none of them is recorded. */
static bool prepare(int count)
{
    expected.count = 0;
    expected.handles = NULL;
    expected.fortran_handles = NULL;
    expected.statuses = NULL;
    expected.fortran_statuses = NULL;
    if (count > expected.capacity && !grow(count < 8 ? 8 : count))
        return false;
    expected.count = count > 0 ? count : 0;
    return true;
}

static bool is_ignored(const MPI_Status *status)
{
    return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE;
}

MPI_Status *rw_keep_status(MPI_Status *status)
{
    return is_ignored(status) && prepare(1) ? expected.spare_statuses : status;
}

MPI_Status *rw_expect(int count, MPI_Request requests[], MPI_Status statuses[])
{
    if (!prepare(count))
        return statuses;
    rw_lock();
    for (int i = 0; i < expected.count; i++)
        expected.requests[i] =
            requests[i] == MPI_REQUEST_NULL ? NULL : rw_request_take(rw_request_key(requests[i]));
    rw_unlock();
    if (is_ignored(statuses))
        statuses = expected.spare_statuses;
    expected.handles = requests;
    expected.statuses = statuses;
    return statuses;
}

#ifndef RW_WITHOUT_FORTRAN

/* Variables of the library with the addresses that Fortran passes; the last two, of `use mpi_f08`, are MPICH's. */
static bool is_ignored_in_fortran(const MPI_Fint *status)
{
    static const char *const names[] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
                                        "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE"};
    enum { NAMES = sizeof names / sizeof *names };
    static _Atomic(void *) variables[NAMES];
    static atomic_bool looked_up;
    if (!atomic_load_explicit(&looked_up, memory_order_acquire)) {
        for (int i = 0; i < NAMES; i++)
            atomic_store(&variables[i], rw_look_up(names[i]));
        atomic_store_explicit(&looked_up, true, memory_order_release);
    }
    for (int i = 0; i < NAMES; i++) {
        void *const *variable = atomic_load_explicit(&variables[i], memory_order_relaxed);
        if (variable && *variable == (const void *)status)
            return true;
    }
    return !status;
}

MPI_Fint *rw_keep_status_fortran(MPI_Fint *status)
{
    return is_ignored_in_fortran(status) && prepare(1) ? expected.spare_fortran_statuses : status;
}

const MPI_Status *rw_c_status(const MPI_Fint *status)
{
    static _Thread_local MPI_Status converted;
    PMPI_Status_f2c(status, &converted);
    return &converted;
}

MPI_Fint *rw_expect_fortran(int count, MPI_Fint requests[], MPI_Fint statuses[])
{
    if (!prepare(count))
        return statuses;
    for (int i = 0; i < expected.count; i++) {
        const MPI_Request request = PMPI_Request_f2c(requests[i]);
        rw_lock();
        expected.requests[i] =
            request == MPI_REQUEST_NULL ? NULL : rw_request_take(rw_request_key(request));
        rw_unlock();
    }
    if (is_ignored_in_fortran(statuses))
        statuses = expected.spare_fortran_statuses;
    expected.fortran_handles = requests;
    expected.fortran_statuses = statuses;
    return statuses;
}

#endif

/* ---- after the call ---- */

static bool is_over(int i)
{
#ifndef RW_WITHOUT_FORTRAN
    if (expected.fortran_handles)
        return PMPI_Request_f2c(expected.fortran_handles[i]) == MPI_REQUEST_NULL;
#endif
    return expected.handles[i] == MPI_REQUEST_NULL;
}

/* Requests that are still active are found by their handles again. */
static void return_rest(void)
{
    rw_lock();
    for (int i = expected.count - 1; i >= 0; i--)
        if (expected.requests[i])
            rw_request_return(expected.requests[i]);
    rw_unlock();
    expected.count = 0;
}

/* A call that failed may have completed some requests: those whose handle is MPI_REQUEST_NULL now. */
static void drop_those_over(void)
{
    for (int i = 0; i < expected.count; i++) {
        struct rw_request *request = expected.requests[i];
        if (!request || !is_over(i))
            continue;
        rw_lock();
        rw_request_drop(request);
        rw_unlock();
        expected.requests[i] = NULL;
    }
}

static const MPI_Status *status_of(int position)
{
#ifndef RW_WITHOUT_FORTRAN
    if (expected.fortran_statuses)
        return rw_c_status(expected.fortran_statuses + position * STATUS_SIZE);
#endif
    return &expected.statuses[position];
}

static uint64_t source_of(const struct rw_request *request, const MPI_Status *status)
{
    const int source = status->MPI_SOURCE;
    if (source == MPI_PROC_NULL)
        return RW_PEER_NONE;
    return rw_event_peer(rw_rank_at_or_outside(rw_partners(request->receives_from->members), source));
}

static struct completed look_at(const struct rw_request *request, const MPI_Status *status)
{
    struct completed completed = {.request = request};
    MPI_Count bytes = 0;
    int cancelled = 0;
    PMPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        completed.flags = RW_DONE_CANCELLED;
    if (cancelled || !request->receives_from)
        return completed;
    completed.flags = RW_DONE_RECEIVED;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    if (request->sendrecv && SENDRECV_HAS_NO_STATUS) {
        completed.peer = request->peer;
        completed.tag = request->tag;
        completed.bytes = request->bytes;
    } else {
        completed.peer = source_of(request, status);
        completed.tag = status->MPI_TAG;
        completed.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    }
    return completed;
}

static void write_completion(const struct rw_call *call, enum rw_completing_call which, uint64_t active,
                             int count)
{
    const size_t room = RW_EVENT_ROOM + (size_t)count * COMPLETED_ROOM;
    if (!rw_stream_event(call, RW_EVENT_COMPLETION, room))
        return;
    rw_stream_put(which);
    rw_stream_put(active);
    rw_stream_put((uint64_t)count);
    for (int i = 0; i < count; i++) {
        const struct completed *completed = &expected.completed[i];
        rw_stream_put(rw_request_distance(completed->request) << 3 | completed->flags);
        if (completed->flags & RW_DONE_RECEIVED) {
            rw_stream_put(completed->peer);
            rw_stream_put_signed(completed->tag);
            rw_stream_put(completed->bytes);
        }
    }
    rw_stream_commit();
}

static bool has_request(int i)
{
    return i >= 0 && i < expected.count && expected.requests[i];
}

/* The position of the request with an index; -1: not recorded, or MPI_UNDEFINED. `first` is the first index of the
 * language. Where MPICH 4.0 counts from 0 in `use mpi_f08`, the request one further is the one that is complete. */
static int position_of(int index, int first)
{
    const int i = index - first;
    if (COUNTS_FROM_0 && first == 1 && !(has_request(i) && is_over(i)) && has_request(i + 1) && is_over(i + 1))
        return i + 1;
    return has_request(i) ? i : -1;
}

static void completed(const struct rw_call *call, enum rw_completing_call which, int done,
                      const int indices[], int first)
{
    uint64_t active = 0;
    int count = 0;
    for (int i = 0; i < expected.count; i++)
        active += expected.requests[i] != NULL;
    for (int position = 0; position < done; position++) {
        const int i = indices ? position_of(indices[position], first) : position;
        if (!has_request(i))
            continue;
        expected.completed[count++] = look_at(expected.requests[i], status_of(position));
        expected.requests[i] = NULL;
    }
    write_completion(call, which, active, count);
    rw_lock();
    for (int i = 0; i < count; i++)
        rw_request_drop((struct rw_request *)expected.completed[i].request);
    rw_unlock();
}

static void conclude(const struct rw_call *call, enum rw_completing_call which, bool success, int done,
                     const int indices[], int first)
{
    if (!success)
        drop_those_over();
    else if (which >= RW_TEST && done == 0)
        rw_stream_poll(call);
    else
        completed(call, which, done, indices, first);
    return_rest();
}

void rw_event_completed(const struct rw_call *call, enum rw_completing_call which, bool success, int done,
                        const int indices[])
{
    conclude(call, which, success, done, indices, 0);
}

void rw_event_completed_fortran(const struct rw_call *call, enum rw_completing_call which, bool success,
                                int done, const int indices[])
{
    conclude(call, which, success, done, indices, 1);
}
