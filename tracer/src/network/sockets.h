/*
 * sockets.h - what goes over TCP connections: when bytes are handed to the kernel and taken from it. These are the
 * messages of MPI libraries over TCP as they really go out, collective operations and protocols included.
 *
 * The calls of libc are interposed: send, sendmsg, writev, recv, recvmsg, readv and close. Open MPI (btl tcp), UCX and
 * libfabric use these.
 */
#ifndef RANKWRIGHT_SOCKETS_H
#define RANKWRIGHT_SOCKETS_H

#pragma GCC visibility push(hidden)

/* After rw_transport_begin. */
void rw_sockets_begin(void);
void rw_sockets_end(void);

#pragma GCC visibility pop
#endif
