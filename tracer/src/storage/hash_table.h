/* hash_table.h - a map from 64-bit keys to pointers: open addressing, linear probing, grows at half load. */
#ifndef RANKWRIGHT_HASH_TABLE_H
#define RANKWRIGHT_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct rw_entry {
    uint64_t key;
    void *value; /* NULL: free */
};

struct rw_table { /* all zero: an empty table */
    struct rw_entry *entries;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

static inline size_t rw_table_start(const struct rw_table *table, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (table->capacity - 1);
}

static inline void *rw_table_find(const struct rw_table *table, uint64_t key)
{
    if (table->count == 0)
        return NULL;
    for (size_t i = rw_table_start(table, key);; i = (i + 1) & (table->capacity - 1)) {
        const struct rw_entry *entry = &table->entries[i];
        if (!entry->value)
            return NULL;
        if (entry->key == key)
            return entry->value;
    }
}

/* The key must not be in the table; the value must not be NULL. False: out of memory. */
bool rw_table_insert(struct rw_table *table, uint64_t key, void *value);
/* Returns the removed value, or NULL. */
void *rw_table_remove(struct rw_table *table, uint64_t key);

#pragma GCC visibility pop
#endif
