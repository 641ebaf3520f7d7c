/*
 * events_format.h - the calls of one rank in their order, byte by byte: its file rank-N.events.
 *
 * File = struct rw_events_head, then blocks, each struct rw_events_block and its payload. The first block follows the
 * head; each other block begins `size` bytes after the begin of the previous one.
 *   Structures are laid out as in trace_format.h. A file is valid at any time, also after the rank was killed: then the
 *   last block was not closed and has no checksum. Zeros may follow the last block. If the last block lacks
 *   RW_EVENTS_LAST, the rank did not reach MPI_Finalize, or the file could not grow.
 *
 * Payload = records. Integers in them are varints: seven bits per byte, the lowest first, the eighth bit set in all
 * bytes but the last. A signed integer n is coded as 2n (n >= 0) or -2n - 1 (n < 0).
 *
 * Record = kind (one byte, enum rw_event_kind), then by kind
 *   THREAD         number of the thread to which the records that follow belong; before the first: 0
 *   COMMUNICATOR   flags (bit 0: intercommunicator), slot, number of communicators so far in the slot, runs of the
 *                  first group, runs of the second group; runs: a count, then for each run first member (signed),
 *                  stride (signed), count. Communicators are numbered from 0 in the order of these records; 0 is
 *                  MPI_COMM_WORLD. Groups, members and slot are as in rw_members_record and rw_communicator_record;
 *                  records of two ranks mean the same communicator if all of this is equal.
 *   WAITED         ticks of the gap of the next event in which the thread waited for a PU (waiting.h); of POLLS also of
 *                  the time between its calls. Only in version 2, and only where it is not 0.
 * All other kinds are events. After the kind follow
 *   gap            ticks from the end of the previous event of this thread (or from begin_ticks) to the begin of this
 *                  call: time outside MPI, and in calls that the tracer does not wrap
 *   duration       ticks inside the call
 * and then
 *   SEND           how (RW_HOW_*), peer, tag (signed), communicator, bytes
 *   RECEIVE        how, peer, tag (signed), communicator, bytes. Without RW_HOW_REQUEST: source, tag and bytes of the
 *                  message received. With RW_HOW_REQUEST: the receive as posted; peer may be RW_PEER_ANY, tag is
 *                  undefined with RW_HOW_ANY_TAG, bytes are the size of the buffer; the COMPLETION has the message.
 *   SENDRECV       how, communicator; peer, tag (signed), bytes of the send; the same three of the receive, as in
 *                  RECEIVE. A nonblocking one has one request for both.
 *   COMPLETION     call (enum rw_completing_call), number of active requests passed to the call, number of requests
 *                  completed; for each of these distance * 8 + flags (RW_DONE_*), with RW_DONE_RECEIVED also peer, tag
 *                  (signed), bytes. Distance: the number of requests created after it.
 *   POLLS          number of tests and probes without result, ticks inside them; the duration is from the begin of the
 *                  first to the end of the last
 *   PROBE          peer, tag (signed), communicator, bytes of the message that a probe matched
 *   COLLECTIVE     operation (enum rw_operation), flags (RW_COLLECTIVE_*), communicator, root (a peer; NONE without a
 *                  root), bytes contributed (see rw_collective_record); with RW_COLLECTIVE_ROW: number of entries, for
 *                  each entry destination (signed, minus that of the previous entry; the first minus 0) and bytes.
 *                  Entries of 0 bytes are left out.
 *   CREATION       flags (RW_COLLECTIVE_REQUEST), old communicator + 1, new communicator + 1; 0: none, or unknown
 *   FREE           distance of an active request that MPI_Request_free freed; it has no COMPLETION
 *   OTHER          class (enum rw_class) of any other wrapped call
 *
 * A peer is RW_PEER_NONE (MPI_PROC_NULL), RW_PEER_OUTSIDE (not in MPI_COMM_WORLD), RW_PEER_ANY (MPI_ANY_SOURCE) or
 * world rank + RW_PEER_FIRST.
 * Requests are numbered from 0 in the order of their creation: each SEND, RECEIVE and SENDRECV with RW_HOW_REQUEST and
 * each COLLECTIVE and CREATION with RW_COLLECTIVE_REQUEST creates one. A persistent request gets a new number at each
 * start. Sends to and receives from MPI_PROC_NULL are not recorded, except as one half of a SENDRECV, nor are their
 * requests. Calls that failed are not recorded.
 */
#ifndef RANKWRIGHT_EVENTS_FORMAT_H
#define RANKWRIGHT_EVENTS_FORMAT_H

#include "trace_format.h"

#define RW_EVENTS_VERSION 2u
#define RW_EVENTS_MAGIC "RWEVENT\n"
#define RW_EVENTS_BLOCK_MAGIC 0x4b4c4256u /* the bytes "VBLK" */

struct rw_events_head {
    char magic[8];
    uint32_t version;
    uint32_t head_bytes;   /* size of this structure */
    uint32_t rank;
    uint32_t world_size;
    uint64_t run;          /* as in struct rw_image */
    uint32_t clock;        /* enum rw_clock */
    uint32_t zero;
    int64_t start_unix_ns; /* as in struct rw_image */
    uint64_t begin_ticks;
    uint64_t begin_ns;
};

#define RW_EVENTS_CLOSED 1u /* complete: crc is valid */
#define RW_EVENTS_LAST 2u   /* closed by MPI_Finalize */

struct rw_events_block {
    uint32_t magic;
    uint32_t flags;
    uint64_t size;      /* bytes to the next block, with this structure */
    uint64_t length;    /* valid bytes of the payload */
    uint64_t events;    /* in the payload */
    uint64_t now_ticks; /* one moment on both clocks: when the block was closed, or earlier if it was not */
    uint64_t now_ns;
    uint32_t crc;       /* CRC-32 (IEEE 802.3, as in zlib) of the payload */
    uint32_t zero;
};

enum rw_event_kind {
    RW_EVENT_THREAD = 1,
    RW_EVENT_COMMUNICATOR = 2,
    RW_EVENT_SEND = 3,
    RW_EVENT_RECEIVE = 4,
    RW_EVENT_SENDRECV = 5,
    RW_EVENT_COMPLETION = 6,
    RW_EVENT_POLLS = 7,
    RW_EVENT_PROBE = 8,
    RW_EVENT_COLLECTIVE = 9,
    RW_EVENT_CREATION = 10,
    RW_EVENT_FREE = 11,
    RW_EVENT_OTHER = 12,
    RW_EVENT_WAITED = 13
};

/* Bits 0 and 1 of `how`: the mode of a send. */
enum rw_send_mode { RW_STANDARD = 0, RW_BUFFERED = 1, RW_SYNCHRONOUS = 2, RW_READY = 3 };

#define RW_HOW_MODE 3u
#define RW_HOW_REQUEST 4u     /* nonblocking: creates a request */
#define RW_HOW_PERSISTENT 8u  /* by MPI_Start */
#define RW_HOW_ANY_SOURCE 16u /* the receive was posted with MPI_ANY_SOURCE */
#define RW_HOW_ANY_TAG 32u
#define RW_HOW_MATCHED 64u    /* MPI_Mrecv, MPI_Imrecv: matched by a probe before */

enum rw_completing_call {
    RW_WAIT = 0,
    RW_WAITALL = 1,
    RW_WAITANY = 2,
    RW_WAITSOME = 3,
    RW_TEST = 4,
    RW_TESTALL = 5,
    RW_TESTANY = 6,
    RW_TESTSOME = 7
};

#define RW_DONE_RECEIVED 1u
#define RW_DONE_CANCELLED 2u

#define RW_COLLECTIVE_REQUEST 1u /* nonblocking or persistent: creates a request */
#define RW_COLLECTIVE_ROW 2u

#define RW_PEER_NONE 0u
#define RW_PEER_OUTSIDE 1u
#define RW_PEER_ANY 2u
#define RW_PEER_FIRST 3u

#endif
