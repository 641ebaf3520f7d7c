/*
 * persistent.h - persistent requests: what they will do is noted when they are made, and counted
 * whenever they are started. Sends, partitioned sends, collectives.
 */
#ifndef RANKWRIGHT_PERSISTENT_H
#define RANKWRIGHT_PERSISTENT_H

#include "../communicators/communicators.h"
#include "../communicators/row.h"
#include "../mpi/arguments.h"

#pragma GCC visibility push(hidden)

/* The call that makes a persistent collective request: RW_FLAG_PERSISTENT says that a rw_call is the
 * first member of this. */
struct rw_init_call {
    struct rw_call call;
    uint64_t request; /* its key */
};

static inline struct rw_init_call rw_make_init_call(const struct rw_call *call, MPI_Request request)
{
    return (struct rw_init_call){*call, rw_request_key(request)};
}

void rw_record_send_init(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype,
                         int destination, MPI_Comm comm, MPI_Request request);
/* A partitioned send counts as one message of all its partitions. */
void rw_record_psend_init(const struct rw_call *call, int partitions, MPI_Count count,
                          MPI_Datatype datatype, int destination, MPI_Comm comm,
                          MPI_Request request);
/* Notes what rw_add_collective is to add at each start; `call` is part of a rw_init_call. */
void rw_plan_collective(const struct rw_call *call, struct rw_communicator *communicator,
                        enum rw_operation operation, int root, uint64_t bytes,
                        const struct rw_row *row);

/* Where the time of a start goes. */
enum rw_class rw_class_of_start(uint64_t request);
/* A request was started. Open MPI may put another one into the handle when it starts a send whose
 * predecessor still occupies the old one. */
void rw_record_start(const struct rw_call *call, uint64_t before, uint64_t after);
/* Before MPI_Request_free. */
void rw_forget_request(uint64_t request);

#pragma GCC visibility pop
#endif
