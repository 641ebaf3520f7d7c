/*
 * sources.h - the files of this node that count the bytes of network devices.
 */
#ifndef RANKWRIGHT_COUNTER_SOURCES_H
#define RANKWRIGHT_COUNTER_SOURCES_H

#include "../storage/buffer.h"

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Finds the files and appends the names of their columns, each with its zero byte. Returns the number of columns. */
uint32_t rw_find_counters(struct rw_buffer *names);
/* Reads all columns. */
void rw_read_counters(uint64_t *values);
void rw_forget_counters(void);

#pragma GCC visibility pop
#endif
