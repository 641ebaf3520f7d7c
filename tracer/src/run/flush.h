/* flush.h - the end of the run: every rank hands over its image, rank 0 writes the trace. */
#ifndef RANKWRIGHT_FLUSH_H
#define RANKWRIGHT_FLUSH_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Collective over the ranks of the run; whether the trace is whole and in its place. */
bool rw_flush(void);

#pragma GCC visibility pop
#endif
