/* allocate.h - allocation; a failure is noted, the program continues, and no trace is written at the end. */
#ifndef RANKWRIGHT_ALLOCATE_H
#define RANKWRIGHT_ALLOCATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

extern atomic_bool rw_out_of_memory;

/* Zeroed memory for count elements; NULL sets rw_out_of_memory. */
void *rw_allocate(size_t count, size_t size);
/* As realloc; NULL sets rw_out_of_memory and leaves the old block valid. */
void *rw_reallocate(void *block, size_t count, size_t size);

#pragma GCC visibility pop
#endif
