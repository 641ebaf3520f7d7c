/*
 * persistent.h - persistent requests: what they will do is noted when they are made, and counted
 * whenever they are started. Sends, partitioned sends, collectives.
 */
#ifndef RANKWRIGHT_PERSISTENT_H
#define RANKWRIGHT_PERSISTENT_H

#include "collectives.h"
#include "tracer.h"

#include <string.h>

/* Persistent collectives: MPI-4 has them; Open MPI 5 does although it announces MPI 3.1; Open MPI 4.1
 * has them as extension under the prefix MPIX_. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define RW_PERSISTENT_COLLECTIVES 1
#elif defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define RW_PERSISTENT_COLLECTIVES 1
#define RW_PERSISTENT_COLLECTIVES_ARE_EXTENSIONS 1
#endif
#endif
#endif

#pragma GCC visibility push(hidden)

static inline uint64_t rw_request_key(MPI_Request request)
{
    uint64_t key = 0;
    memcpy(&key, &request, sizeof request);
    return key;
}

/* The call that makes a persistent collective request: RW_FLAG_PERSISTENT says that a rw_call is the
 * first member of this. */
struct rw_init_call {
    struct rw_call call;
    uint64_t request; /* its key */
};

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

#pragma GCC visibility pop
#endif
