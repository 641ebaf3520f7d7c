/* messages.c - events of sends, receives, probes and starts of persistent requests. */
#include "events.h"

#include "../mpi/arguments.h"
#include "../storage/allocate.h"
#include "../storage/hash_table.h"
#include "requests.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments of the calls ---- */

static uint64_t peer_of(const struct rw_communicator *communicator, int rank)
{
    if (rank == MPI_PROC_NULL)
        return RW_PEER_NONE;
    if (rank == MPI_ANY_SOURCE)
        return RW_PEER_ANY;
    return rw_event_peer(rw_rank_at_or_outside(rw_partners(communicator->members), rank));
}

static uint64_t received_bytes(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static unsigned wildcards(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? RW_HOW_ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? RW_HOW_ANY_TAG : 0);
}

/* A message, sent or received. */
struct message {
    uint64_t peer;
    int tag;
    uint64_t bytes;
};

static struct message received(const struct rw_communicator *communicator, const MPI_Status *status)
{
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        return (struct message){RW_PEER_NONE, 0, 0};
    return (struct message){peer_of(communicator, status->MPI_SOURCE), status->MPI_TAG,
                            received_bytes(status)};
}

static struct message posted(const struct rw_communicator *communicator, int peer, int tag,
                             MPI_Count count, MPI_Datatype datatype)
{
    return (struct message){peer_of(communicator, peer), tag == MPI_ANY_TAG ? 0 : tag,
                            rw_bytes(count, datatype)};
}

static void put_message(const struct message *message)
{
    rw_stream_put(message->peer);
    rw_stream_put_signed(message->tag);
    rw_stream_put(message->bytes);
}

/* A send or a receive. `handle` points to the key of the request that it creates; NULL: none. */
static void write_message(const struct rw_call *call, enum rw_event_kind kind, unsigned how,
                          const struct rw_communicator *communicator, const struct message *message,
                          const uint64_t *handle)
{
    const uint64_t number = rw_stream_number(communicator);
    if (!rw_stream_event(call, kind, RW_EVENT_ROOM))
        return;
    rw_stream_put(how);
    rw_stream_put(message->peer);
    rw_stream_put_signed(message->tag);
    rw_stream_put(number);
    rw_stream_put(message->bytes);
    if (handle)
        rw_request_bind(rw_request_make(kind == RW_EVENT_RECEIVE ? communicator : NULL), *handle);
    rw_stream_commit();
}

/* ---- sends and receives ---- */

void rw_event_send(const struct rw_call *call, enum rw_send_mode mode, MPI_Count count,
                   MPI_Datatype datatype, int destination, int tag, MPI_Comm comm)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (destination == MPI_PROC_NULL || !communicator)
        return;
    const struct message message = posted(communicator, destination, tag, count, datatype);
    write_message(call, RW_EVENT_SEND, mode, communicator, &message, NULL);
}

void rw_event_isend(const struct rw_call *call, enum rw_send_mode mode, MPI_Count count,
                    MPI_Datatype datatype, int destination, int tag, MPI_Comm comm, MPI_Request request)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (destination == MPI_PROC_NULL || !communicator)
        return;
    const struct message message = posted(communicator, destination, tag, count, datatype);
    const uint64_t handle = rw_request_key(request);
    write_message(call, RW_EVENT_SEND, mode | RW_HOW_REQUEST, communicator, &message, &handle);
}

void rw_event_recv(const struct rw_call *call, int source, int tag, MPI_Comm comm, const MPI_Status *status)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (source == MPI_PROC_NULL || !communicator)
        return;
    const struct message message = received(communicator, status);
    write_message(call, RW_EVENT_RECEIVE, wildcards(source, tag), communicator, &message, NULL);
}

void rw_event_irecv(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                    MPI_Comm comm, MPI_Request request)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (source == MPI_PROC_NULL || !communicator)
        return;
    const struct message message = posted(communicator, source, tag, count, datatype);
    const uint64_t handle = rw_request_key(request);
    write_message(call, RW_EVENT_RECEIVE, wildcards(source, tag) | RW_HOW_REQUEST, communicator, &message,
                  &handle);
}

static void write_sendrecv(const struct rw_call *call, unsigned how,
                           const struct rw_communicator *communicator, const struct message *sent,
                           const struct message *came, const uint64_t *handle)
{
    if (sent->peer == RW_PEER_NONE && came->peer == RW_PEER_NONE)
        return;
    const uint64_t number = rw_stream_number(communicator);
    if (!rw_stream_event(call, RW_EVENT_SENDRECV, RW_EVENT_ROOM))
        return;
    rw_stream_put(how);
    rw_stream_put(number);
    put_message(sent);
    put_message(came);
    struct rw_request *request = handle ? rw_request_make(communicator) : NULL;
    if (request) {
        request->sendrecv = true;
        request->peer = came->peer;
        request->tag = came->tag;
        request->bytes = came->bytes;
        rw_request_bind(request, *handle);
    }
    rw_stream_commit();
}

void rw_event_sendrecv(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int destination,
                       int send_tag, int source, int receive_tag, MPI_Comm comm, const MPI_Status *status)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const struct message sent = posted(communicator, destination, send_tag, count, datatype);
    const struct message came = received(communicator, status);
    write_sendrecv(call, wildcards(source, receive_tag), communicator, &sent, &came, NULL);
}

void rw_event_isendrecv(const struct rw_call *call, MPI_Count send_count, MPI_Datatype send_type,
                        int destination, int send_tag, MPI_Count receive_count, MPI_Datatype receive_type,
                        int source, int receive_tag, MPI_Comm comm, MPI_Request request)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const struct message sent = posted(communicator, destination, send_tag, send_count, send_type);
    const struct message came = posted(communicator, source, receive_tag, receive_count, receive_type);
    const uint64_t handle = rw_request_key(request);
    write_sendrecv(call, wildcards(source, receive_tag) | RW_HOW_REQUEST, communicator, &sent, &came,
                   &handle);
}

/* ---- probes, and the messages that they match ---- */

struct matched {
    const struct rw_communicator *communicator;
    struct message message;
};

static struct rw_table matched_messages; /* handle -> struct matched, under the lock */
static _Thread_local struct matched taken;

static uint64_t message_key(MPI_Message message)
{
    uint64_t key = 0;
    memcpy(&key, &message, sizeof message);
    return key;
}

void rw_event_poll(const struct rw_call *call)
{
    rw_stream_poll(call);
}

void rw_event_probe(const struct rw_call *call, int flag, MPI_Comm comm, const MPI_Status *status)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!flag) {
        rw_stream_poll(call);
    } else if (communicator) {
        const struct message message = received(communicator, status);
        const uint64_t number = rw_stream_number(communicator);
        if (message.peer == RW_PEER_NONE || !rw_stream_event(call, RW_EVENT_PROBE, RW_EVENT_ROOM))
            return;
        rw_stream_put(message.peer);
        rw_stream_put_signed(message.tag);
        rw_stream_put(number);
        rw_stream_put(message.bytes);
        rw_stream_commit();
    }
}

void rw_event_mprobe(const struct rw_call *call, int flag, MPI_Comm comm, const MPI_Status *status,
                     MPI_Message message)
{
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    rw_event_probe(call, flag, comm, status);
    if (!flag || !communicator || status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    struct matched *match = rw_allocate(1, sizeof *match);
    if (!match)
        return;
    *match = (struct matched){communicator, received(communicator, status)};
    rw_lock();
    free(rw_table_remove(&matched_messages, message_key(message)));
    if (!rw_table_insert(&matched_messages, message_key(message), match))
        free(match);
    rw_unlock();
}

void rw_take_message(MPI_Message message)
{
    rw_lock();
    struct matched *match = rw_table_remove(&matched_messages, message_key(message));
    rw_unlock();
    taken = match ? *match : (struct matched){NULL, {0, 0, 0}};
    free(match);
}

void rw_event_mrecv(const struct rw_call *call)
{
    if (taken.communicator)
        write_message(call, RW_EVENT_RECEIVE, RW_HOW_MATCHED, taken.communicator, &taken.message, NULL);
}

void rw_event_imrecv(const struct rw_call *call, MPI_Request request)
{
    const uint64_t handle = rw_request_key(request);
    if (taken.communicator)
        write_message(call, RW_EVENT_RECEIVE, RW_HOW_MATCHED | RW_HOW_REQUEST, taken.communicator,
                      &taken.message, &handle);
}

/* ---- persistent requests ---- */

/* The event of each start of a persistent request. */
struct persistent {
    enum rw_event_kind kind;
    unsigned how;
    const struct rw_communicator *communicator;
    struct message message;
};

static struct rw_table persistent_requests; /* handle -> struct persistent, under the lock */

static void keep_persistent(const struct persistent *described, MPI_Request request)
{
    struct persistent *persistent = rw_allocate(1, sizeof *persistent);
    if (!persistent)
        return;
    *persistent = *described;
    rw_lock();
    free(rw_table_remove(&persistent_requests, rw_request_key(request)));
    if (!rw_table_insert(&persistent_requests, rw_request_key(request), persistent))
        free(persistent);
    rw_unlock();
}

void rw_event_send_init(const struct rw_call *call, enum rw_send_mode mode, MPI_Count count,
                        MPI_Datatype datatype, int destination, int tag, MPI_Comm comm,
                        MPI_Request request)
{
    (void)call;
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (destination == MPI_PROC_NULL || !communicator)
        return;
    const struct persistent send = {RW_EVENT_SEND, mode | RW_HOW_REQUEST | RW_HOW_PERSISTENT, communicator,
                                    posted(communicator, destination, tag, count, datatype)};
    keep_persistent(&send, request);
}

void rw_event_recv_init(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int source,
                        int tag, MPI_Comm comm, MPI_Request request)
{
    (void)call;
    const struct rw_communicator *communicator = rw_find_communicator(comm);
    if (source == MPI_PROC_NULL || !communicator)
        return;
    const unsigned how = wildcards(source, tag) | RW_HOW_REQUEST | RW_HOW_PERSISTENT;
    const struct persistent receive = {RW_EVENT_RECEIVE, how, communicator,
                                       posted(communicator, source, tag, count, datatype)};
    keep_persistent(&receive, request);
}

/* One message of all partitions, as in the pairs of the trace. */
void rw_event_psend_init(const struct rw_call *call, int partitions, MPI_Count count,
                         MPI_Datatype datatype, int destination, int tag, MPI_Comm comm,
                         MPI_Request request)
{
    rw_event_send_init(call, RW_STANDARD, partitions * count, datatype, destination, tag, comm, request);
}

void rw_event_precv_init(const struct rw_call *call, int partitions, MPI_Count count,
                         MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         MPI_Request request)
{
    rw_event_recv_init(call, partitions * count, datatype, source, tag, comm, request);
}

void rw_event_started(const struct rw_call *call, uint64_t before, uint64_t after)
{
    rw_lock();
    struct persistent *persistent = rw_table_find(&persistent_requests, before);
    const struct persistent copy = persistent ? *persistent : (struct persistent){0};
    if (persistent && before != after) {
        rw_table_remove(&persistent_requests, before);
        free(rw_table_remove(&persistent_requests, after));
        rw_table_insert(&persistent_requests, after, persistent);
    }
    rw_unlock();
    if (persistent)
        write_message(call, copy.kind, copy.how, copy.communicator, &copy.message, &after);
    else
        rw_event_bind(after);
}

static _Thread_local struct rw_request *freed;

void rw_expect_freed(uint64_t request)
{
    rw_lock();
    free(rw_table_remove(&persistent_requests, request));
    freed = rw_request_take(request);
    rw_unlock();
}

void rw_event_freed(const struct rw_call *call)
{
    if (!freed) {
        rw_event_other(call, RW_CLASS_OTHER);
    } else if (rw_stream_event(call, RW_EVENT_FREE, RW_EVENT_ROOM)) {
        rw_stream_put(rw_request_distance(freed));
        rw_request_drop(freed);
        rw_stream_commit();
    }
    freed = NULL;
}
