/* hash_table_test.c - random insertions and removals against a plain array; prints "fine". */
#include "../hash_table.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 500, STEPS = 200000 };

static int fail(const char *what, uint64_t key)
{
    printf("%s of key %llu\n", what, (unsigned long long)key);
    return 1;
}

static int check_sorted(const struct rw_table *table)
{
    struct rw_entry *sorted = rw_table_sorted(table);
    for (size_t i = 1; i < table->count; i++)
        if (sorted[i - 1].key >= sorted[i].key)
            return fail("wrong order", sorted[i].key);
    free(sorted);
    return 0;
}

int main(void)
{
    static int values[KEYS];
    static int present[KEYS];
    struct rw_table table = {0};
    size_t count = 0;
    srand(1);
    for (int step = 0; step < STEPS; step++) {
        const int i = rand() % KEYS;
        const uint64_t key = (uint64_t)i << (i % 2 ? 32 : 4); /* like handles: many equal low bits */
        if (rw_table_find(&table, key) != (present[i] ? &values[i] : NULL))
            return fail("wrong find", key);
        if (present[i]) {
            if (rw_table_remove(&table, key) != &values[i])
                return fail("wrong removal", key);
            count--;
        } else {
            if (rw_table_remove(&table, key) || !rw_table_insert(&table, key, &values[i]))
                return fail("wrong insertion", key);
            count++;
        }
        present[i] = !present[i];
        if (table.count != count || (step % 1000 == 0 && check_sorted(&table)))
            return fail("wrong count", key);
    }
    printf("fine\n");
    return 0;
}
