/*
 * counters_format.h - the byte counters of a node's network devices over time, byte by byte: the file rank-N.counters of
 * the lowest rank of each node.
 *
 * File = struct rw_counters_head, names, rows. Integers are of 64 bits unless the structure says otherwise, in the byte
 * order of the host. A file is valid at any time, also after the rank was killed. Zeros may follow the last row.
 *
 * Names = `columns` texts, each ended by a zero byte; zero bytes fill up to `names_bytes`, a multiple of 8.
 *   net/INTERFACE/tx_bytes, net/INTERFACE/rx_bytes                    as /proc/net/dev has them
 *   infiniband/DEVICE:DRIVER/ports/N/FILE                             below /sys/class/infiniband; DRIVER is the name of
 *                                                                     the driver of its PCI device, or empty
 *   cxi/DEVICE/FILE                                                   below /sys/class/cxi
 *
 * Row = nanoseconds since begin_ns when it was read (more than 0), then a value for each column; RW_COUNTER_UNKNOWN if it
 * could not be read.
 */
#ifndef RANKWRIGHT_COUNTERS_FORMAT_H
#define RANKWRIGHT_COUNTERS_FORMAT_H

#include <stdint.h>

#define RW_COUNTERS_VERSION 1u
#define RW_COUNTERS_MAGIC "RWCOUNT\n"
#define RW_COUNTER_UNKNOWN UINT64_MAX

struct rw_counters_head {
    char magic[8];
    uint32_t version;
    uint32_t head_bytes;     /* size of this structure */
    uint32_t rank;
    uint32_t world_size;
    uint64_t run;            /* as in struct rw_image */
    int64_t start_unix_ns;   /* as in struct rw_image: begin_ns on CLOCK_REALTIME */
    uint64_t begin_ns;       /* CLOCK_MONOTONIC */
    uint64_t period_ns;      /* from row to row, about */
    int64_t clock_offset_ns; /* what CLOCK_REALTIME of rank 0's node is ahead of this node's, at the begin */
    uint64_t clock_error_ns; /* the offset is right within this */
    uint32_t columns;
    uint32_t names_bytes;
};

#endif
