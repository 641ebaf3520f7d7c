/*
 * transport_format.h - what one rank hands to the network and takes from it: bytes on TCP connections, messages to UCX
 * and to the point-to-point layer (PML) of Open MPI.
 * Its file rank-N.transport.
 *
 * File = struct rw_transport_head, then rows of struct rw_transport_row, as long as `time` is not 0. A file is valid at
 * any time, also after the rank was killed.
 *
 * Row = bytes that a call of the kernel took (or gave) on a connection, and when the call began (or returned). Rows of one
 * connection are in order. The first row of a connection, whose `bytes` are RW_TRANSPORT_CONNECTION, is followed by three
 * rows that hold struct rw_transport_ends.
 *
 * A connection whose ports are RW_TRANSPORT_UCX is an endpoint of UCX: its rows are messages that were handed to UCX, and
 * with RW_TRANSPORT_RECEIVED memory that is read from the other process (get). It tells nothing at the other end. `own` is
 * zero, `other` the worker of the other process: bytes of its address that no other worker has. A connection that has
 * `own` and no `other` says which worker this process has.
 *
 * A connection whose ports are RW_TRANSPORT_PML is a rank to which this one sends: its rows are messages that were handed to
 * the PML. `own` is zero, `other` begins with the rank in MPI_COMM_WORLD, a number of four bytes.
 */
#ifndef RANKWRIGHT_TRANSPORT_FORMAT_H
#define RANKWRIGHT_TRANSPORT_FORMAT_H

#include <stdint.h>

#define RW_TRANSPORT_VERSION 3u
#define RW_TRANSPORT_MAGIC "RWTRANS\n"
#define RW_TRANSPORT_CONNECTION 0xffffffffu
#define RW_TRANSPORT_RECEIVED 0x80000000u /* a bit of `connection` */
#define RW_TRANSPORT_UCX 0x10000u         /* no port of TCP */
#define RW_TRANSPORT_PML 0x10001u

struct rw_transport_head {
    char magic[8];
    uint32_t version;
    uint32_t head_bytes;   /* size of this structure */
    uint32_t rank;
    uint32_t world_size;
    uint64_t run;          /* as in struct rw_image */
    int64_t start_unix_ns; /* as in struct rw_image: begin_ns on CLOCK_REALTIME */
    uint64_t begin_ns;     /* CLOCK_MONOTONIC */
};

struct rw_transport_row {
    uint64_t time;       /* nanoseconds since begin_ns; at least 1 */
    uint32_t connection; /* numbered from 0 in the order of their first rows, with RW_TRANSPORT_RECEIVED */
    uint32_t bytes;
};

/* The two ends of a connection: ports in the byte order of the host, addresses as in IPv6 (of IPv4: mapped). */
struct rw_transport_ends {
    uint32_t own_port;
    uint32_t other_port;
    uint8_t own[16];
    uint8_t other[16];
    uint64_t zero;
};

#endif
