/*
 * collectives.h - recording collective calls as the program makes them, by communicator, operation and root.
 *
 * One function per operation and signature. The wrappers of the blocking and nonblocking form call it after success,
 * those of the persistent form when they create the request. trace_format.h defines the bytes that a rank contributes.
 */
#ifndef RANKWRIGHT_COLLECTIVES_H
#define RANKWRIGHT_COLLECTIVES_H

#include "../mpi/arguments.h"
#include "../process/state.h"

#pragma GCC visibility push(hidden)

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
