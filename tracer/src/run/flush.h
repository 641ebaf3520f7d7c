/* flush.h - at MPI_Finalize: rank 0 gathers the images of all ranks and writes the trace. */
#ifndef RANKWRIGHT_FLUSH_H
#define RANKWRIGHT_FLUSH_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Collective over MPI_COMM_WORLD. Returns whether the trace was written. */
bool rw_flush(void);

#pragma GCC visibility pop
#endif
