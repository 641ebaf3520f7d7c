#include "hash_table.h"

#include "allocate.h"

#include <stdlib.h>

static void place(struct rw_table *table, uint64_t key, void *value)
{
    size_t i = rw_table_start(table, key);
    while (table->entries[i].value)
        i = (i + 1) & (table->capacity - 1);
    table->entries[i] = (struct rw_entry){key, value};
}

static bool grow(struct rw_table *table)
{
    struct rw_table larger = {NULL, table->capacity ? 2 * table->capacity : 8, table->count};
    larger.entries = rw_allocate(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].value)
            place(&larger, table->entries[i].key, table->entries[i].value);
    free(table->entries);
    *table = larger;
    return true;
}

bool rw_table_insert(struct rw_table *table, uint64_t key, void *value)
{
    if (2 * (table->count + 1) > table->capacity && !grow(table))
        return false;
    place(table, key, value);
    table->count++;
    return true;
}

void *rw_table_remove(struct rw_table *table, uint64_t key)
{
    void *value = rw_table_find(table, key);
    if (!value)
        return NULL;
    const size_t mask = table->capacity - 1;
    size_t hole = rw_table_start(table, key);
    while (table->entries[hole].key != key || !table->entries[hole].value)
        hole = (hole + 1) & mask;
    /* Close the gap: the entries that follow move up unless that would put them before their start. */
    for (size_t i = (hole + 1) & mask; table->entries[i].value; i = (i + 1) & mask) {
        const size_t start = rw_table_start(table, table->entries[i].key);
        if (((i - start) & mask) >= ((i - hole) & mask)) {
            table->entries[hole] = table->entries[i];
            hole = i;
        }
    }
    table->entries[hole] = (struct rw_entry){0, NULL};
    table->count--;
    return value;
}
