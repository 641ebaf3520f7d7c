/*
 * events.h - the calls of this rank in their order (RANKWRIGHT_TRACE_OPTIONS=events): what the wrappers
 * call. events_format.h says what becomes of it.
 *
 * events.table names the function of every call; a wrapper calls none of them unless rw_events_on.
 */
#ifndef RANKWRIGHT_EVENTS_H
#define RANKWRIGHT_EVENTS_H

#include "../communicators/communicators.h"
#include "../communicators/row.h"
#include "../format/events_format.h"
#include "../process/state.h"

#pragma GCC visibility push(hidden)

/* Between rw_events_begin and rw_events_end of a run whose events are wanted. */
extern bool rw_events_on;

/* Collective. Without a spool folder, or a file in it, it warns and there are no events. */
void rw_events_begin(const char *folder);
/* Before MPI_Finalize. */
void rw_events_end(void);

/* ---- before a call ---- */

/* What to pass in place of a status that the program does not want: what was received must be known. */
MPI_Status *rw_keep_status(MPI_Status *status);
MPI_Fint *rw_keep_status_fortran(MPI_Fint *status);
/* Notes which requests a completing call is given: afterwards their handles are gone. Returns the statuses
 * to pass. */
MPI_Status *rw_expect(int count, MPI_Request requests[], MPI_Status statuses[]);
MPI_Fint *rw_expect_fortran(int count, MPI_Fint requests[], MPI_Fint statuses[]);
/* The message that a matched receive is given. */
void rw_take_message(MPI_Message message);

/* ---- after a successful call ---- */

/* A Fortran status, valid until the next call. */
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
/* A persistent request was started; the library may have put another into its handle. Both handles are
 * passed as rw_request_key makes them. */
void rw_event_started(const struct rw_call *call, uint64_t before, uint64_t after);
/* Before MPI_Request_free, and after it. */
void rw_expect_freed(uint64_t request);
void rw_event_freed(const struct rw_call *call);

void rw_event_probe(const struct rw_call *call, int found, MPI_Comm comm, const MPI_Status *status);
void rw_event_mprobe(const struct rw_call *call, int found, MPI_Comm comm, const MPI_Status *status,
                     MPI_Message message);
void rw_event_poll(const struct rw_call *call);

/* A collective; `row` NULL: its arguments do not say what goes to whom. */
void rw_event_collective(const struct rw_call *call, const struct rw_communicator *communicator,
                         enum rw_operation operation, int root, uint64_t bytes,
                         const struct rw_row *row);
/* The handle of the nonblocking collective, or creation of a communicator, that this thread has just
 * called. */
void rw_event_request(const struct rw_call *call, MPI_Request request);
void rw_event_bind(uint64_t handle);
void rw_event_created(const struct rw_call *call, MPI_Comm old, MPI_Comm created);
void rw_event_creating(const struct rw_call *call, MPI_Comm old, MPI_Request request);

void rw_event_other(const struct rw_call *call, enum rw_class class);

/* ---- after a completing call, successful or not ---- */

/* The first `done` requests are complete, or those at `indices`, which Fortran counts from 1. */
void rw_event_completed(const struct rw_call *call, enum rw_completing_call which, bool success, int done,
                        const int indices[]);
void rw_event_completed_fortran(const struct rw_call *call, enum rw_completing_call which, bool success,
                                int done, const int indices[]);

#pragma GCC visibility pop
#endif
