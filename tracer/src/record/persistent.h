/*
 * persistent.h - persistent requests: sends, partitioned sends, collectives. What a request does is stored when it is
 * created and added at each start.
 */
#ifndef RANKWRIGHT_PERSISTENT_H
#define RANKWRIGHT_PERSISTENT_H

#include "../communicators/communicators.h"
#include "../communicators/row.h"
#include "../mpi/arguments.h"

#pragma GCC visibility push(hidden)

/* A call that creates a persistent collective request. A rw_call with RW_FLAG_PERSISTENT is the first member of one. */
struct rw_init_call {
    struct rw_call call;
    uint64_t request; /* rw_request_key */
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
/* Stores what rw_add_collective adds at each start; `call` is the first member of a rw_init_call. */
void rw_plan_collective(const struct rw_call *call, struct rw_communicator *communicator,
                        enum rw_operation operation, int root, uint64_t bytes,
                        const struct rw_row *row);

/* The class of time of a start. */
enum rw_class rw_class_of_start(uint64_t request);
/* After a start; keys of the handle before and after. Open MPI may replace the request when the previous send still
 * occupies it. */
void rw_record_start(const struct rw_call *call, uint64_t before, uint64_t after);
/* Before MPI_Request_free. */
void rw_forget_request(uint64_t request);

#pragma GCC visibility pop
#endif
