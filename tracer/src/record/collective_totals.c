#include "collective_totals.h"

#include "../storage/allocate.h"
#include "../storage/arena.h"

#include <stdlib.h>

/* A record and its row. */
struct collective {
    struct rw_collective_record *record;
    struct rw_table row; /* world rank -> rw_row_record */
};

static struct collective *find_collective(struct rw_communicator *communicator,
                                          enum rw_operation operation, unsigned flags, int root)
{
    static uint32_t count; /* guarded by the tracer's lock */
    const uint64_t key = (uint64_t)operation << 48 | (uint64_t)flags << 32 | (uint32_t)root;
    struct collective *collective = rw_table_find(&communicator->collectives, key);
    if (collective)
        return collective;
    collective = rw_allocate(1, sizeof *collective);
    if (!collective)
        return NULL;
    const struct rw_collective_record record = {.id = count,
                                                .communicator = communicator->record->id,
                                                .operation = (uint16_t)operation,
                                                .flags = (uint16_t)flags,
                                                .root = root};
    collective->record = rw_arena_add(RW_RECORD_COLLECTIVE, &record, sizeof record, sizeof record);
    if (!collective->record) {
        free(collective);
        return NULL;
    }
    count++;
    if (!rw_table_insert(&communicator->collectives, key, collective)) {
        free(collective);
        return NULL;
    }
    return collective;
}

static void add_call(struct rw_collective_record *record, const struct rw_call *call, uint64_t bytes)
{
    if (record->calls == 0 || call->start < record->first)
        record->first = call->start;
    if (call->start > record->last)
        record->last = call->start;
    record->calls++;
    record->bytes += bytes;
    record->ticks += call->ticks;
}

static struct rw_row_record *find_entry(struct collective *collective, int destination)
{
    struct rw_row_record *entry = rw_table_find(&collective->row, (uint64_t)destination);
    if (entry)
        return entry;
    const struct rw_row_record record = {.collective = collective->record->id,
                                         .destination = (uint32_t)destination};
    entry = rw_arena_add(RW_RECORD_ROW, &record, sizeof record, sizeof record);
    if (!entry)
        return NULL;
    return rw_table_insert(&collective->row, (uint64_t)destination, entry) ? entry : NULL;
}

static void add_row(struct collective *collective, const struct rw_row *row)
{
    for (int i = 0; i < row->destinations.count; i++) {
        const int destination = rw_rank_at(&row->destinations, i);
        if (row->bytes[i] == 0 || destination < 0)
            continue;
        struct rw_row_record *entry = find_entry(collective, destination);
        if (!entry)
            return;
        entry->messages++;
        entry->bytes += row->bytes[i];
    }
}

void rw_add_collective(const struct rw_call *call, struct rw_communicator *communicator,
                       enum rw_operation operation, int root, uint64_t bytes,
                       const struct rw_row *row)
{
    struct collective *collective = find_collective(communicator, operation, call->flags, root);
    if (!collective)
        return;
    add_call(collective->record, call, bytes);
    if (row)
        add_row(collective, row);
}
