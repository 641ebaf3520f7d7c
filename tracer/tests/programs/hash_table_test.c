/* hash_table_test.c - random insertions and removals against a plain array; prints "fine". */
#include "../../src/storage/hash_table.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 500, STEPS = 200000 };

static int fail(const char *what, uint64_t key)
{
    printf("%s of key %llu\n", what, (unsigned long long)key);
    return 1;
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
        if (table.count != count)
            return fail("wrong count", key);
    }
    printf("fine\n");
    return 0;
}
