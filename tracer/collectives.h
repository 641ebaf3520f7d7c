/*
 * collectives.h - collective calls as the program made them: per communicator, operation and root.
 *
 * One function per operation and signature, called by the wrappers of its blocking and nonblocking
 * form after success, and when its persistent form is made. trace_format.h defines what "bytes
 * contributed" means for each.
 */
#ifndef RANKWRIGHT_COLLECTIVES_H
#define RANKWRIGHT_COLLECTIVES_H

#include "rank_list.h"
#include "tracer.h"

#pragma GCC visibility push(hidden)

/* An array of datatypes as C or as Fortran handles. */
struct rw_datatypes {
    const MPI_Datatype *c;
    const MPI_Fint *fortran;
};

/* An array of counts: as C or Fortran have it, or that of a function for large counts. */
struct rw_counts {
    const int *small;
    const MPI_Count *large;
};

static inline MPI_Count rw_count_at(struct rw_counts counts, int i)
{
    return counts.large ? counts.large[i] : counts.small[i];
}

/* What one call sends to each of some world ranks; -1 stands for no one in the trace. */
struct rw_row {
    struct rw_rank_list destinations;
    uint64_t *bytes;
};

struct rw_communicator;

/* Adds one call; under the lock. `row` NULL: the operation has none. */
void rw_add_collective(const struct rw_call *call, struct rw_communicator *communicator,
                       enum rw_operation operation, int root, uint64_t bytes,
                       const struct rw_row *row);

void rw_record_barrier(const struct rw_call *call, MPI_Comm comm);
void rw_record_bcast(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int root,
                     MPI_Comm comm);
void rw_record_gather(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                      MPI_Datatype sendtype, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                      MPI_Comm comm);
void rw_record_gatherv(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                       MPI_Datatype sendtype, struct rw_counts recvcounts, MPI_Datatype recvtype,
                       int root, MPI_Comm comm);
void rw_record_scatter(const struct rw_call *call, MPI_Count sendcount, MPI_Datatype sendtype, int root,
                       MPI_Comm comm);
void rw_record_scatterv(const struct rw_call *call, struct rw_counts sendcounts, MPI_Datatype sendtype,
                        int root, MPI_Comm comm);
void rw_record_allgather(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, MPI_Count recvcount, MPI_Datatype recvtype,
                         MPI_Comm comm);
void rw_record_allgatherv(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, struct rw_counts recvcounts, MPI_Datatype recvtype,
                          MPI_Comm comm);
void rw_record_alltoall(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                        MPI_Datatype sendtype, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
void rw_record_alltoallv(const struct rw_call *call, const void *sendbuf, struct rw_counts sendcounts,
                         MPI_Datatype sendtype, struct rw_counts recvcounts, MPI_Datatype recvtype,
                         MPI_Comm comm);
void rw_record_alltoallw(const struct rw_call *call, const void *sendbuf, struct rw_counts sendcounts,
                         struct rw_datatypes sendtypes, struct rw_counts recvcounts,
                         struct rw_datatypes recvtypes, MPI_Comm comm);
void rw_record_reduce(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int root,
                      MPI_Comm comm);
void rw_record_allreduce(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype,
                         MPI_Comm comm);
void rw_record_scan(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm);
void rw_record_exscan(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm);
void rw_record_reduce_scatter(const struct rw_call *call, struct rw_counts recvcounts,
                              MPI_Datatype datatype, MPI_Comm comm);
void rw_record_reduce_scatter_block(const struct rw_call *call, MPI_Count recvcount,
                                    MPI_Datatype datatype, MPI_Comm comm);
void rw_record_neighbor_allgather(const struct rw_call *call, MPI_Count sendcount, MPI_Datatype sendtype,
                                  MPI_Comm comm);
void rw_record_neighbor_allgatherv(const struct rw_call *call, MPI_Count sendcount,
                                   MPI_Datatype sendtype, MPI_Comm comm);
void rw_record_neighbor_alltoall(const struct rw_call *call, MPI_Count sendcount, MPI_Datatype sendtype,
                                 MPI_Comm comm);
void rw_record_neighbor_alltoallv(const struct rw_call *call, struct rw_counts sendcounts,
                                  MPI_Datatype sendtype, MPI_Comm comm);
void rw_record_neighbor_alltoallw(const struct rw_call *call, struct rw_counts sendcounts,
                                  struct rw_datatypes sendtypes, MPI_Comm comm);

#pragma GCC visibility pop
#endif
