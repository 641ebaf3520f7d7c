/*
 * collectives.h - collective calls as the program made them: per communicator, operation and root.
 *
 * One function per operation and signature, called by the wrappers of its blocking and nonblocking
 * form after success. trace_format.h defines what "bytes contributed" means for each.
 */
#ifndef RANKWRIGHT_COLLECTIVES_H
#define RANKWRIGHT_COLLECTIVES_H

#include "tracer.h"

#pragma GCC visibility push(hidden)

/* An array of datatypes as C or as Fortran handles. */
struct rw_datatypes {
    const MPI_Datatype *c;
    const MPI_Fint *fortran;
};

void rw_record_barrier(const struct rw_call *call, MPI_Comm comm);
void rw_record_bcast(const struct rw_call *call, int count, MPI_Datatype datatype, int root,
                     MPI_Comm comm);
void rw_record_gather(const struct rw_call *call, const void *sendbuf, int sendcount,
                      MPI_Datatype sendtype, int recvcount, MPI_Datatype recvtype, int root,
                      MPI_Comm comm);
void rw_record_gatherv(const struct rw_call *call, const void *sendbuf, int sendcount,
                       MPI_Datatype sendtype, const int recvcounts[], MPI_Datatype recvtype,
                       int root, MPI_Comm comm);
void rw_record_scatter(const struct rw_call *call, int sendcount, MPI_Datatype sendtype, int root,
                       MPI_Comm comm);
void rw_record_scatterv(const struct rw_call *call, const int sendcounts[], MPI_Datatype sendtype,
                        int root, MPI_Comm comm);
void rw_record_allgather(const struct rw_call *call, const void *sendbuf, int sendcount,
                         MPI_Datatype sendtype, int recvcount, MPI_Datatype recvtype,
                         MPI_Comm comm);
void rw_record_allgatherv(const struct rw_call *call, const void *sendbuf, int sendcount,
                          MPI_Datatype sendtype, const int recvcounts[], MPI_Datatype recvtype,
                          MPI_Comm comm);
void rw_record_alltoall(const struct rw_call *call, const void *sendbuf, int sendcount,
                        MPI_Datatype sendtype, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
void rw_record_alltoallv(const struct rw_call *call, const void *sendbuf, const int sendcounts[],
                         MPI_Datatype sendtype, const int recvcounts[], MPI_Datatype recvtype,
                         MPI_Comm comm);
void rw_record_alltoallw(const struct rw_call *call, const void *sendbuf, const int sendcounts[],
                         struct rw_datatypes sendtypes, const int recvcounts[],
                         struct rw_datatypes recvtypes, MPI_Comm comm);
void rw_record_reduce(const struct rw_call *call, int count, MPI_Datatype datatype, int root,
                      MPI_Comm comm);
void rw_record_allreduce(const struct rw_call *call, int count, MPI_Datatype datatype,
                         MPI_Comm comm);
void rw_record_scan(const struct rw_call *call, int count, MPI_Datatype datatype, MPI_Comm comm);
void rw_record_exscan(const struct rw_call *call, int count, MPI_Datatype datatype, MPI_Comm comm);
void rw_record_reduce_scatter(const struct rw_call *call, const int recvcounts[],
                              MPI_Datatype datatype, MPI_Comm comm);
void rw_record_reduce_scatter_block(const struct rw_call *call, int recvcount,
                                    MPI_Datatype datatype, MPI_Comm comm);
void rw_record_neighbor_allgather(const struct rw_call *call, int sendcount, MPI_Datatype sendtype,
                                  MPI_Comm comm);
void rw_record_neighbor_allgatherv(const struct rw_call *call, int sendcount,
                                   MPI_Datatype sendtype, MPI_Comm comm);
void rw_record_neighbor_alltoall(const struct rw_call *call, int sendcount, MPI_Datatype sendtype,
                                 MPI_Comm comm);
void rw_record_neighbor_alltoallv(const struct rw_call *call, const int sendcounts[],
                                  MPI_Datatype sendtype, MPI_Comm comm);
void rw_record_neighbor_alltoallw(const struct rw_call *call, const int sendcounts[],
                                  struct rw_datatypes sendtypes, MPI_Comm comm);

#pragma GCC visibility pop
#endif
