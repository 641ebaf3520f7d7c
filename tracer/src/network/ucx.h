/*
 * ucx.h - the messages that the MPI library hands to UCX: when, how long and to which process, collective operations and
 * protocols of the library included. When UCX sends them it does not tell: a long message waits for its receiver.
 *
 * The functions of UCX (libucp) that send are interposed; atomic operations and streams are not. They name an endpoint,
 * which ucp_ep_create made from the address of a worker of the other process, and each process knows its own.
 */
#ifndef RANKWRIGHT_UCX_H
#define RANKWRIGHT_UCX_H

#pragma GCC visibility push(hidden)

/* After rw_transport_begin. */
void rw_ucx_begin(void);

#pragma GCC visibility pop
#endif
