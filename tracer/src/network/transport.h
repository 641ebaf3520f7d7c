/*
 * transport.h - the file that transport_format.h describes: what this rank hands to the network and takes from it, and
 * when. sockets.c, ucx.c and pml.c find that out.
 *
 * Any thread may call libc, UCX or Open MPI, so the file has a lock of its own.
 */
#ifndef RANKWRIGHT_TRANSPORT_H
#define RANKWRIGHT_TRANSPORT_H

#include "../format/transport_format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Whether something is recorded. To be asked first: it costs nothing. */
extern _Atomic bool rw_transport_on;

/* Collective over MPI_COMM_WORLD. Whether something is recorded from now on. */
bool rw_transport_begin(const char *folder);
void rw_transport_end(void);

/* Takes the lock; false if this thread has it: a signal handler that sends. */
bool rw_transport_lock(void);
void rw_transport_unlock(void);

/* With the lock, while something is recorded. If the file cannot grow, the record ends and says so. */
/* The number of a new connection; false if it was not written. */
bool rw_transport_connect(uint64_t now, const struct rw_transport_ends *ends, uint32_t *connection);
/* Bytes that were sent, or with RW_TRANSPORT_RECEIVED in `connection` received, at `now` (CLOCK_MONOTONIC). */
void rw_transport_pass(uint64_t now, uint32_t connection, uint64_t bytes);

#pragma GCC visibility pop
#endif
