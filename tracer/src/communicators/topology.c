#include "topology.h"

#include "../storage/allocate.h"
#include "../storage/arena.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Not in the arena; the caller fills in the numbers and frees it. */
static struct rw_topology_record *new_record(enum rw_topology kind, int dimensions, int neighbours)
{
    const size_t numbers = 2 * ((size_t)dimensions + (size_t)neighbours);
    struct rw_topology_record *record =
        rw_allocate(1, sizeof *record + numbers * sizeof *record->numbers);
    if (!record)
        return NULL;
    record->head.length = (uint32_t)(sizeof *record + numbers * sizeof *record->numbers);
    record->kind = kind;
    record->dimensions = (uint32_t)dimensions;
    record->neighbours = (uint32_t)neighbours;
    return record;
}

static void put_neighbours(struct rw_topology_record *record, const int *ranks, const int *weights,
                           const struct rw_members *members)
{
    int32_t *numbers = record->numbers + 2 * record->dimensions;
    for (uint32_t i = 0; i < record->neighbours; i++) {
        numbers[2 * i] = ranks[i] == MPI_PROC_NULL ? -1 : rw_rank_at(&members->local, ranks[i]);
        numbers[2 * i + 1] = weights ? weights[i] : 1;
    }
}

/* The neighbours are those below and above in each dimension. */
static struct rw_topology_record *ask_cartesian(MPI_Comm comm, const struct rw_members *members)
{
    int count = 0;
    PMPI_Cartdim_get(comm, &count);
    struct rw_topology_record *record = new_record(RW_TOPOLOGY_CARTESIAN, count, 2 * count);
    int *values = rw_allocate(3 * (size_t)count + 1, sizeof *values);
    if (record && values) {
        PMPI_Cart_get(comm, count, values, values + count, values + 2 * count);
        for (int i = 0; i < count; i++) {
            record->numbers[2 * i] = values[i];
            record->numbers[2 * i + 1] = values[count + i] != 0;
        }
        for (int i = 0; i < count; i++)
            PMPI_Cart_shift(comm, i, 1, &values[2 * i], &values[2 * i + 1]);
        put_neighbours(record, values, NULL, members);
    }
    free(values);
    return record;
}

static struct rw_topology_record *ask_graph(MPI_Comm comm, const struct rw_members *members)
{
    int rank = 0, count = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &count);
    struct rw_topology_record *record = new_record(RW_TOPOLOGY_GRAPH, 0, count);
    int *ranks = rw_allocate((size_t)count + 1, sizeof *ranks);
    if (record && ranks) {
        PMPI_Graph_neighbors(comm, rank, count, ranks);
        put_neighbours(record, ranks, NULL, members);
    }
    free(ranks);
    return record;
}

static struct rw_topology_record *ask_distributed_graph(MPI_Comm comm,
                                                        const struct rw_members *members)
{
    int sources = 0, count = 0, weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &sources, &count, &weighted);
    struct rw_topology_record *record = new_record(RW_TOPOLOGY_DISTRIBUTED_GRAPH, 0, count);
    int *values = rw_allocate(2 * ((size_t)sources + (size_t)count) + 1, sizeof *values);
    if (record && values) {
        int *ranks = values + 2 * sources, *weights = ranks + count;
        PMPI_Dist_graph_neighbors(comm, sources, values, values + sources, count, ranks, weights);
        put_neighbours(record, ranks, weighted ? weights : NULL, members);
    }
    free(values);
    return record;
}

/* NULL: no topology, or out of memory. The caller frees it. */
static struct rw_topology_record *ask(const struct rw_communicator *communicator)
{
    int topology = MPI_UNDEFINED;
    PMPI_Topo_test(communicator->handle, &topology);
    if (topology == MPI_CART)
        return ask_cartesian(communicator->handle, communicator->members);
    if (topology == MPI_GRAPH)
        return ask_graph(communicator->handle, communicator->members);
    if (topology == MPI_DIST_GRAPH)
        return ask_distributed_graph(communicator->handle, communicator->members);
    return NULL;
}

static bool keep_neighbours(struct rw_communicator *communicator,
                            const struct rw_topology_record *record)
{
    int *ranks = rw_allocate((size_t)record->neighbours + 1, sizeof *ranks);
    if (!ranks)
        return false;
    for (uint32_t i = 0; i < record->neighbours; i++)
        ranks[i] = record->numbers[2 * (record->dimensions + i)];
    rw_free_rank_list(&communicator->neighbours);
    communicator->neighbours = rw_make_rank_list(ranks, (int)record->neighbours);
    communicator->neighbours_known = true;
    return true;
}

bool rw_find_neighbours(struct rw_communicator *communicator)
{
    if (communicator->neighbours_known)
        return true;
    struct rw_topology_record *record = ask(communicator);
    const bool stored = record && keep_neighbours(communicator, record);
    free(record);
    return stored;
}

/* Programs declare equal grids repeatedly: a record is added only where it differs from the last one. */
static bool is_equal(const struct rw_topology_record *declared,
                     const struct rw_topology_record *record)
{
    const size_t from = offsetof(struct rw_topology_record, kind);
    return declared && declared->head.length == record->head.length
        && memcmp((const char *)declared + from, (const char *)record + from,
                  record->head.length - from) == 0;
}

static void declare(struct rw_communicator *communicator, struct rw_topology_record *record)
{
    if (is_equal(communicator->declared, record))
        return;
    const size_t size = record->head.length;
    record->communicator = communicator->record->id;
    const struct rw_topology_record *declared = rw_arena_add(RW_RECORD_TOPOLOGY, record, size, size);
    if (declared)
        communicator->declared = declared;
}

void rw_record_declared(const struct rw_call *call, MPI_Comm created)
{
    rw_record_created(call, created);
    struct rw_communicator *communicator =
        created == MPI_COMM_NULL ? NULL : rw_find_communicator(created);
    struct rw_topology_record *record = communicator ? ask(communicator) : NULL;
    if (record && keep_neighbours(communicator, record))
        declare(communicator, record);
    free(record);
}
