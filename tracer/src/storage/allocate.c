#include "allocate.h"

#include <stdint.h>
#include <stdlib.h>

atomic_bool rw_out_of_memory;

void *rw_allocate(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size);
    if (!block)
        rw_out_of_memory = true;
    return block;
}

void *rw_reallocate(void *block, size_t count, size_t size)
{
    void *larger = count > SIZE_MAX / size ? NULL : realloc(block, count * size);
    if (!larger)
        rw_out_of_memory = true;
    return larger;
}
