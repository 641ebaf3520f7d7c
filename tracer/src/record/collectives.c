#include "collectives.h"

#include "../communicators/topology.h"
#include "../events/events.h"
#include "../storage/allocate.h"
#include "collective_totals.h"
#include "persistent.h"

#include <stdlib.h>

static void store(const struct rw_call *call, struct rw_communicator *communicator,
                  enum rw_operation operation, int root, uint64_t bytes, const struct rw_row *row)
{
    if (call->flags & RW_FLAG_PERSISTENT) {
        rw_plan_collective(call, communicator, operation, root, bytes, row);
        return;
    }
    rw_lock();
    rw_add_collective(call, communicator, operation, root, bytes, row);
    rw_unlock();
    if (rw_events_on)
        rw_event_collective(call, communicator, operation, root, bytes, row);
}

/* ---- roots and rows ---- */

static bool is_root(const struct rw_communicator *communicator, int root)
{
    return communicator->members->intercommunicator ? root == MPI_ROOT
                                                    : root == communicator->members->local_rank;
}

/* In an intercommunicator, the group of the root passes MPI_ROOT or MPI_PROC_NULL. */
static bool in_root_group(const struct rw_communicator *communicator, int root)
{
    return communicator->members->intercommunicator && root < 0;
}

static int root_world_rank(const struct rw_communicator *communicator, int root)
{
    if (is_root(communicator, root))
        return rw_tracer.world_rank;
    if (root < 0)
        return RW_ROOT_NOT_STATED;
    const int world_rank = rw_rank_at(rw_partners(communicator->members), root);
    return world_rank < 0 ? RW_ROOT_NOT_STATED : world_rank;
}

static MPI_Datatype datatype_at(struct rw_datatypes datatypes, int i)
{
    return datatypes.c ? datatypes.c[i] : PMPI_Type_f2c(datatypes.fortran[i]);
}

/* Fills the row and returns its sum. `datatypes` NULL: all entries have `datatype`. */
static uint64_t fill_row(struct rw_row *row, struct rw_counts counts, MPI_Datatype datatype,
                         const struct rw_datatypes *datatypes)
{
    uint64_t sum = 0;
    const uint64_t size = datatypes ? 0 : rw_bytes(1, datatype);
    for (int i = 0; i < row->destinations.count; i++) {
        const MPI_Count count = rw_count_at(counts, i);
        if (datatypes)
            row->bytes[i] = count > 0 ? rw_bytes(count, datatype_at(*datatypes, i)) : 0;
        else
            row->bytes[i] = count > 0 ? (uint64_t)count * size : 0;
        sum += row->bytes[i];
    }
    return sum;
}

static void record_row(const struct rw_call *call, struct rw_communicator *communicator,
                       enum rw_operation operation, int root, struct rw_counts counts,
                       MPI_Datatype datatype, const struct rw_datatypes *datatypes)
{
    struct rw_row row = {*rw_partners(communicator->members), NULL};
    row.bytes = rw_allocate((size_t)row.destinations.count, sizeof *row.bytes);
    if (!row.bytes)
        return;
    const uint64_t sum = fill_row(&row, counts, datatype, datatypes);
    store(call, communicator, operation, root, sum, &row);
    free(row.bytes);
}

/* `counts` NULL: each neighbour gets `count`. */
static void record_neighbours(const struct rw_call *call, MPI_Comm comm,
                              enum rw_operation operation, MPI_Count count,
                              const struct rw_counts *counts,
                              MPI_Datatype datatype, const struct rw_datatypes *datatypes)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator || !rw_find_neighbours(communicator))
        return;
    struct rw_row row = {communicator->neighbours, NULL};
    row.bytes = rw_allocate((size_t)row.destinations.count, sizeof *row.bytes);
    if (!row.bytes)
        return;
    uint64_t sum = 0;
    if (counts)
        fill_row(&row, *counts, datatype, datatypes);
    for (int i = 0; i < row.destinations.count; i++) {
        if (!counts)
            row.bytes[i] = rw_bytes(count, datatype);
        if (rw_rank_at(&row.destinations, i) < 0)
            row.bytes[i] = 0;
        sum += row.bytes[i];
    }
    store(call, communicator, operation, RW_NO_ROOT, sum, &row);
    free(row.bytes);
}

/* ---- the operations ---- */

static void record_rootless(const struct rw_call *call, MPI_Comm comm, enum rw_operation operation,
                            uint64_t bytes)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (communicator)
        store(call, communicator, operation, RW_NO_ROOT, bytes, NULL);
}

void rw_record_barrier(const struct rw_call *call, MPI_Comm comm)
{
    record_rootless(call, comm, RW_OPERATION_BARRIER, 0);
}

void rw_record_bcast(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int root,
                     MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const uint64_t bytes = is_root(communicator, root) ? rw_bytes(count, datatype) : 0;
    store(call, communicator, RW_OPERATION_BCAST, root_world_rank(communicator, root), bytes,
          NULL);
}

void rw_record_gather(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                      MPI_Datatype sendtype, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                      MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    uint64_t bytes = 0;
    if (!in_root_group(communicator, root))
        bytes = sendbuf == MPI_IN_PLACE ? rw_bytes(recvcount, recvtype)
                                        : rw_bytes(sendcount, sendtype);
    store(call, communicator, RW_OPERATION_GATHER, root_world_rank(communicator, root), bytes,
          NULL);
}

void rw_record_gatherv(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                       MPI_Datatype sendtype, struct rw_counts recvcounts, MPI_Datatype recvtype,
                       int root, MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const int root_rank = root_world_rank(communicator, root);
    uint64_t bytes = 0;
    if (!in_root_group(communicator, root))
        bytes = sendbuf == MPI_IN_PLACE
            ? rw_bytes(rw_count_at(recvcounts, communicator->members->local_rank), recvtype)
            : rw_bytes(sendcount, sendtype);
    const struct rw_row to_root = {{1, root_rank, 0, NULL}, &bytes};
    store(call, communicator, RW_OPERATION_GATHERV, root_rank, bytes, &to_root);
}

void rw_record_scatter(const struct rw_call *call, MPI_Count sendcount, MPI_Datatype sendtype, int root,
                       MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const uint64_t ranks = (uint64_t)rw_partners(communicator->members)->count;
    const uint64_t bytes = is_root(communicator, root) ? ranks * rw_bytes(sendcount, sendtype) : 0;
    store(call, communicator, RW_OPERATION_SCATTER, root_world_rank(communicator, root), bytes,
          NULL);
}

void rw_record_scatterv(const struct rw_call *call, struct rw_counts sendcounts, MPI_Datatype sendtype,
                        int root, MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const int root_rank = root_world_rank(communicator, root);
    if (is_root(communicator, root))
        record_row(call, communicator, RW_OPERATION_SCATTERV, root_rank, sendcounts, sendtype,
                   NULL);
    else
        store(call, communicator, RW_OPERATION_SCATTERV, root_rank, 0, NULL);
}

void rw_record_allgather(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    record_rootless(call, comm, RW_OPERATION_ALLGATHER,
                    sendbuf == MPI_IN_PLACE ? rw_bytes(recvcount, recvtype)
                                            : rw_bytes(sendcount, sendtype));
}

void rw_record_allgatherv(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, struct rw_counts recvcounts, MPI_Datatype recvtype,
                          MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const uint64_t bytes = sendbuf == MPI_IN_PLACE
        ? rw_bytes(rw_count_at(recvcounts, communicator->members->local_rank), recvtype)
        : rw_bytes(sendcount, sendtype);
    store(call, communicator, RW_OPERATION_ALLGATHERV, RW_NO_ROOT, bytes, NULL);
}

void rw_record_alltoall(const struct rw_call *call, const void *sendbuf, MPI_Count sendcount,
                        MPI_Datatype sendtype, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const uint64_t block = sendbuf == MPI_IN_PLACE ? rw_bytes(recvcount, recvtype)
                                                   : rw_bytes(sendcount, sendtype);
    store(call, communicator, RW_OPERATION_ALLTOALL, RW_NO_ROOT,
           block * (uint64_t)rw_partners(communicator->members)->count, NULL);
}

void rw_record_alltoallv(const struct rw_call *call, const void *sendbuf, struct rw_counts sendcounts,
                         MPI_Datatype sendtype, struct rw_counts recvcounts, MPI_Datatype recvtype,
                         MPI_Comm comm)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (communicator)
        record_row(call, communicator, RW_OPERATION_ALLTOALLV, RW_NO_ROOT,
                   in_place ? recvcounts : sendcounts, in_place ? recvtype : sendtype, NULL);
}

void rw_record_alltoallw(const struct rw_call *call, const void *sendbuf, struct rw_counts sendcounts,
                         struct rw_datatypes sendtypes, struct rw_counts recvcounts,
                         struct rw_datatypes recvtypes, MPI_Comm comm)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (communicator)
        record_row(call, communicator, RW_OPERATION_ALLTOALLW, RW_NO_ROOT,
                   in_place ? recvcounts : sendcounts, MPI_DATATYPE_NULL,
                   in_place ? &recvtypes : &sendtypes);
}

void rw_record_reduce(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, int root,
                      MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    const uint64_t bytes = in_root_group(communicator, root) ? 0 : rw_bytes(count, datatype);
    store(call, communicator, RW_OPERATION_REDUCE, root_world_rank(communicator, root), bytes,
          NULL);
}

void rw_record_allreduce(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype,
                         MPI_Comm comm)
{
    record_rootless(call, comm, RW_OPERATION_ALLREDUCE, rw_bytes(count, datatype));
}

void rw_record_scan(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm)
{
    record_rootless(call, comm, RW_OPERATION_SCAN, rw_bytes(count, datatype));
}

void rw_record_exscan(const struct rw_call *call, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm)
{
    record_rootless(call, comm, RW_OPERATION_EXSCAN, rw_bytes(count, datatype));
}

void rw_record_reduce_scatter(const struct rw_call *call, struct rw_counts recvcounts,
                              MPI_Datatype datatype, MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (!communicator)
        return;
    if (!communicator->members->intercommunicator) {
        record_row(call, communicator, RW_OPERATION_REDUCE_SCATTER, RW_NO_ROOT, recvcounts,
                   datatype, NULL);
        return;
    }
    uint64_t bytes = 0;
    for (int i = 0; i < communicator->members->local.count; i++)
        bytes += rw_bytes(rw_count_at(recvcounts, i), datatype);
    store(call, communicator, RW_OPERATION_REDUCE_SCATTER, RW_NO_ROOT, bytes, NULL);
}

void rw_record_reduce_scatter_block(const struct rw_call *call, MPI_Count recvcount,
                                    MPI_Datatype datatype, MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_find_communicator(comm);
    if (communicator)
        store(call, communicator, RW_OPERATION_REDUCE_SCATTER_BLOCK, RW_NO_ROOT,
               (uint64_t)communicator->members->local.count * rw_bytes(recvcount, datatype), NULL);
}

void rw_record_neighbor_allgather(const struct rw_call *call, MPI_Count sendcount, MPI_Datatype sendtype,
                                  MPI_Comm comm)
{
    record_neighbours(call, comm, RW_OPERATION_NEIGHBOR_ALLGATHER, sendcount, NULL, sendtype, NULL);
}

void rw_record_neighbor_allgatherv(const struct rw_call *call, MPI_Count sendcount,
                                   MPI_Datatype sendtype, MPI_Comm comm)
{
    record_neighbours(call, comm, RW_OPERATION_NEIGHBOR_ALLGATHERV, sendcount, NULL, sendtype,
                      NULL);
}

void rw_record_neighbor_alltoall(const struct rw_call *call, MPI_Count sendcount, MPI_Datatype sendtype,
                                 MPI_Comm comm)
{
    record_neighbours(call, comm, RW_OPERATION_NEIGHBOR_ALLTOALL, sendcount, NULL, sendtype, NULL);
}

void rw_record_neighbor_alltoallv(const struct rw_call *call, struct rw_counts sendcounts,
                                  MPI_Datatype sendtype, MPI_Comm comm)
{
    record_neighbours(call, comm, RW_OPERATION_NEIGHBOR_ALLTOALLV, 0, &sendcounts, sendtype, NULL);
}

void rw_record_neighbor_alltoallw(const struct rw_call *call, struct rw_counts sendcounts,
                                  struct rw_datatypes sendtypes, MPI_Comm comm)
{
    record_neighbours(call, comm, RW_OPERATION_NEIGHBOR_ALLTOALLW, 0, &sendcounts,
                      MPI_DATATYPE_NULL, &sendtypes);
}
