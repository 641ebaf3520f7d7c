#include "events.h"

#include "../mpi/arguments.h"
#include "../mpi/warning.h"
#include "requests.h"
#include "stream.h"

#include <string.h>

bool rw_events_on;

enum { ENTRY_ROOM = 20 }; /* bytes of an entry in the row of a collective: two varints */

/* ---- begin and end ---- */

void rw_events_begin(const char *folder)
{
    const int error = folder ? rw_stream_begin(folder) : 0;
    int largest = 0;
    PMPI_Allreduce(&error, &largest, 1, MPI_INT, MPI_MAX, rw_tracer.private_world);
    if (rw_tracer.world_rank == 0 && !folder)
        rw_warn("no events: they need a spool folder, RANKWRIGHT_TRACE_SPOOL");
    else if (rw_tracer.world_rank == 0 && largest != 0)
        rw_warn("events of some ranks are missing: no file in %s: %s", folder, strerror(largest));
    rw_events_on = folder && error == 0;
    if (rw_events_on)
        rw_stream_number(rw_find_communicator(MPI_COMM_WORLD));
}

void rw_events_end(void)
{
    if (rw_events_on)
        rw_stream_end();
    rw_events_on = false;
}

/* ---- requests of collectives ---- */

/* The request of the collective that this thread has just called; its handle is passed later. */
static _Thread_local struct rw_request *unbound;

/* Between rw_stream_event and rw_stream_commit. */
static void make_unbound(void)
{
    if (unbound)
        rw_request_drop(unbound);
    unbound = rw_request_make(NULL);
}

void rw_event_bind(uint64_t handle)
{
    rw_lock();
    rw_request_bind(unbound, handle);
    rw_unlock();
    unbound = NULL;
}

/* ---- collectives and communicators ---- */

static void put_row(const struct rw_row *row)
{
    uint64_t entries = 0;
    int64_t latest = 0;
    for (int i = 0; i < row->destinations.count; i++)
        entries += row->bytes[i] > 0 && rw_rank_at(&row->destinations, i) >= 0;
    rw_stream_put(entries);
    for (int i = 0; i < row->destinations.count; i++) {
        const int destination = rw_rank_at(&row->destinations, i);
        if (row->bytes[i] == 0 || destination < 0)
            continue;
        rw_stream_put_signed(destination - latest);
        rw_stream_put(row->bytes[i]);
        latest = destination;
    }
}

void rw_event_collective(const struct rw_call *call, const struct rw_communicator *communicator,
                         enum rw_operation operation, int root, uint64_t bytes,
                         const struct rw_row *row)
{
    const bool makes_request = call->flags != 0;
    const uint64_t number = rw_stream_number(communicator);
    const size_t room = RW_EVENT_ROOM + (row ? (size_t)row->destinations.count * ENTRY_ROOM : 0);
    if (!rw_stream_event(call, RW_EVENT_COLLECTIVE, room))
        return;
    rw_stream_put(operation);
    rw_stream_put((makes_request ? RW_COLLECTIVE_REQUEST : 0) | (row ? RW_COLLECTIVE_ROW : 0));
    rw_stream_put(number);
    rw_stream_put(root < 0 ? RW_PEER_NONE : rw_event_peer(root));
    rw_stream_put(bytes);
    if (row)
        put_row(row);
    if (makes_request)
        make_unbound();
    rw_stream_commit();
}

void rw_event_request(const struct rw_call *call, MPI_Request request)
{
    (void)call;
    rw_event_bind(rw_request_key(request));
}

static uint64_t number_after(MPI_Comm comm)
{
    const struct rw_communicator *communicator = comm == MPI_COMM_NULL ? NULL : rw_find_communicator(comm);
    return communicator ? rw_stream_number(communicator) + 1 : 0;
}

static void write_creation(const struct rw_call *call, unsigned flags, uint64_t old, uint64_t created)
{
    if (!rw_stream_event(call, RW_EVENT_CREATION, RW_EVENT_ROOM))
        return;
    rw_stream_put(flags);
    rw_stream_put(old);
    rw_stream_put(created);
    if (flags & RW_COLLECTIVE_REQUEST)
        make_unbound();
    rw_stream_commit();
}

void rw_event_created(const struct rw_call *call, MPI_Comm old, MPI_Comm created)
{
    write_creation(call, 0, number_after(old), number_after(created));
}

void rw_event_creating(const struct rw_call *call, MPI_Comm old, MPI_Request request)
{
    write_creation(call, RW_COLLECTIVE_REQUEST, number_after(old), 0);
    rw_event_request(call, request);
}

void rw_event_other(const struct rw_call *call, enum rw_class class)
{
    if (!rw_stream_event(call, RW_EVENT_OTHER, RW_EVENT_ROOM))
        return;
    rw_stream_put(class);
    rw_stream_commit();
}
