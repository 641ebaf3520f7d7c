/*
 * sockets.h - what this rank hands to the kernel and takes from it on TCP connections, and when, in the file that
 * transport_format.h describes: the messages of MPI libraries over TCP as they really go out, collective operations
 * and protocols included.
 *
 * The calls of libc are interposed: send, sendmsg, writev, recv, recvmsg, readv and close. Open MPI (btl tcp), UCX and
 * libfabric use these. Any thread may call them, so the file has a lock of its own.
 */
#ifndef RANKWRIGHT_SOCKETS_H
#define RANKWRIGHT_SOCKETS_H

#pragma GCC visibility push(hidden)

/* Collective over MPI_COMM_WORLD. */
void rw_sockets_begin(const char *folder);
void rw_sockets_end(void);

#pragma GCC visibility pop
#endif
