/*
 * events.h - recording the calls of this rank in their order (RANKWRIGHT_TRACE_OPTIONS=events). events_format.h
 * describes the file.
 *
 * events.table names the function for each call; a wrapper calls them only if rw_events_on.
 */
#ifndef RANKWRIGHT_EVENTS_H
#define RANKWRIGHT_EVENTS_H

#include "../communicators/communicators.h"
#include "../communicators/row.h"
#include "../format/events_format.h"
#include "../process/state.h"

#pragma GCC visibility push(hidden)

/* From rw_events_begin to rw_events_end, if the run records events. */
extern bool rw_events_on;

/* Collective over MPI_COMM_WORLD. Without a spool folder or a file in it, it warns and records no events. */
void rw_events_begin(const char *folder);
/* Before MPI_Finalize. */
void rw_events_end(void);

/* ---- before a call ---- */

/* The status to pass to the call: a replacement for MPI_STATUS_IGNORE, which yields what was received. */
MPI_Status *rw_keep_status(MPI_Status *status);
MPI_Fint *rw_keep_status_fortran(MPI_Fint *status);
/* Stores the requests of a completing call, which overwrites their handles. Returns the statuses to pass. */
MPI_Status *rw_expect(int count, MPI_Request requests[], MPI_Status statuses[]);
MPI_Fint *rw_expect_fortran(int count, MPI_Fint requests[], MPI_Fint statuses[]);
/* The message argument of a matched receive. */
void rw_take_message(MPI_Message message);

/* ---- after a successful call ---- */

/* A status from Fortran, converted; valid until the next call. */
const MPI_Status *rw_c_status(const MPI_Fint *status);

void rw_event_send(const struct rw_call *call, enum rw_send_mode mode, MPI_Count count,
                   MPI_Datatype datatype, int destination, int tag, MPI_Comm comm);
void rw_event_isend(const struct rw_call *call, enum rw_send_mode mode, MPI_Count count,
                    MPI_Datatype datatype, int destination, int tag, MPI_Comm comm, MPI_Request request);
void rw_event_recv(const struct rw_call *call, int source, int tag, MPI_Comm comm, const MPI_Status *status);
void rw_event_irecv(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                    MPI_Comm comm, MPI_Request request);
void rw_event_mrecv(const struct rw_call *call);
void rw_event_imrecv(const struct rw_call *call, MPI_Request request);
void rw_event_sendrecv(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int destination,
                       int send_tag, int source, int receive_tag, MPI_Comm comm, const MPI_Status *status);
void rw_event_isendrecv(const struct rw_call *call, MPI_Count send_count, MPI_Datatype send_type,
                        int destination, int send_tag, MPI_Count receive_count, MPI_Datatype receive_type,
                        int source, int receive_tag, MPI_Comm comm, MPI_Request request);

void rw_event_send_init(const struct rw_call *call, enum rw_send_mode mode, MPI_Count count,
                        MPI_Datatype datatype, int destination, int tag, MPI_Comm comm,
                        MPI_Request request);
void rw_event_psend_init(const struct rw_call *call, int partitions, MPI_Count count,
                         MPI_Datatype datatype, int destination, int tag, MPI_Comm comm,
                         MPI_Request request);
void rw_event_precv_init(const struct rw_call *call, int partitions, MPI_Count count,
                         MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         MPI_Request request);
void rw_event_recv_init(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int source,
                        int tag, MPI_Comm comm, MPI_Request request);
/* A persistent request was started: keys of its handle before and after, as the library may have replaced it. */
void rw_event_started(const struct rw_call *call, uint64_t before, uint64_t after);
/* Before MPI_Request_free, and after it. */
void rw_expect_freed(uint64_t request);
void rw_event_freed(const struct rw_call *call);

void rw_event_probe(const struct rw_call *call, int flag, MPI_Comm comm, const MPI_Status *status);
void rw_event_mprobe(const struct rw_call *call, int flag, MPI_Comm comm, const MPI_Status *status,
                     MPI_Message message);
void rw_event_poll(const struct rw_call *call);

/* A collective; `row` NULL: its arguments do not state bytes per destination. */
void rw_event_collective(const struct rw_call *call, const struct rw_communicator *communicator,
                         enum rw_operation operation, int root, uint64_t bytes,
                         const struct rw_row *row);
/* The request of the nonblocking collective, or creation of a communicator, that this thread has just called. */
void rw_event_request(const struct rw_call *call, MPI_Request request);
void rw_event_bind(uint64_t handle);
void rw_event_created(const struct rw_call *call, MPI_Comm old, MPI_Comm created);
void rw_event_creating(const struct rw_call *call, MPI_Comm old, MPI_Request request);

void rw_event_other(const struct rw_call *call, enum rw_class class);

/* ---- after a completing call, successful or not ---- */

/* The first `done` requests are complete; with `indices` those at the first `done` indices, which count from 1 in
 * Fortran. */
void rw_event_completed(const struct rw_call *call, enum rw_completing_call which, bool success, int done,
                        const int indices[]);
void rw_event_completed_fortran(const struct rw_call *call, enum rw_completing_call which, bool success,
                                int done, const int indices[]);

#pragma GCC visibility pop
#endif
