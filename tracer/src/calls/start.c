/* start.c - MPI_Start, MPI_Startall and MPI_Request_free, in C and in Fortran. */
#include "../events/events.h"
#include "../mpi/arguments.h"
#include "../mpi/fortran.h"
#include "../record/persistent.h"
#include "../storage/allocate.h"
#include "call.h"

#include <stdlib.h>

int MPI_Start(MPI_Request *request)
{
    if (!rw_enter())
        return PMPI_Start(request);
    const uint64_t before = rw_request_key(*request);
    const enum rw_class class = rw_class_of_start(before);
    const uint64_t start = rw_start();
    const int result = PMPI_Start(request);
    const struct rw_call call = rw_leave(class, start, RW_FLAG_PERSISTENT);
    if (result == MPI_SUCCESS)
        rw_record_start(&call, before, rw_request_key(*request));
    return result;
}

/* The keys of the requests before MPI_Startall, and its class, that of the first. NULL: none, or out of memory. */
static uint64_t *before_startall(int count, uint64_t (*key_at)(const void *requests, int i),
                                 const void *requests, enum rw_class *class)
{
    uint64_t *before = count > 0 ? rw_allocate((size_t)count, sizeof *before) : NULL;
    for (int i = 0; before && i < count; i++)
        before[i] = key_at(requests, i);
    *class = before ? rw_class_of_start(before[0]) : RW_CLASS_POINT_TO_POINT;
    return before;
}

/* Each request gets an equal share of the time. */
static void after_startall(struct rw_call call, int count, const uint64_t *before,
                           uint64_t (*key_at)(const void *requests, int i), const void *requests)
{
    call.ticks /= (uint64_t)count;
    for (int i = 0; i < count; i++)
        rw_record_start(&call, before[i], key_at(requests, i));
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
    const uint64_t start = rw_start();
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
    rw_forget_request(rw_request_key(*request));
    const uint64_t start = rw_start();
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
        const enum rw_class class = rw_class_of_start(before);
        const uint64_t start = rw_start();
        next(request, &error);
        const struct rw_call call = rw_leave(class, start, RW_FLAG_PERSISTENT);
        if (error == MPI_SUCCESS)
            rw_record_start(&call, before, fortran_key(*request));
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
        const uint64_t start = rw_start();
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
        rw_forget_request(fortran_key(*request));
        const uint64_t start = rw_start();
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
