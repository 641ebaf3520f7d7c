/*
 * events_format.h - the calls of one rank in their order, byte by byte: its file rank-N.events.
 *
 * File = struct rw_events_head, then blocks, each struct rw_events_block and its payload. The first block
 * begins behind the head, every other where the one before it ends (`size` bytes after its begin).
 *   Structures as trace_format.h says. A file is right at any time, also after the rank was killed: the
 *   block that was being filled then is the last one and has no checksum.
 *   Behind the last block there may be zeros. A block without RW_EVENTS_LAST at the end: the rank did not
 *   reach MPI_Finalize, or the file could grow no more.
 *
 * Payload = records. Integers in them are varints: seven bits a byte, the lowest first, the eighth bit set
 * in all bytes but the last. A signed one is coded as 2n (n >= 0) or -2n - 1 (n < 0).
 *
 * Record = kind (one byte, enum rw_event_kind), then by kind
 *   THREAD         number: the records that follow are this thread's. Before the first: thread 0.
 *   COMMUNICATOR   flags (bit 0: intercommunicator), slot, how many communicators have stood in the slot,
 *                  runs of the first group, runs of the second group; each a count, then per run the first
 *                  member (signed), stride (signed), count. It gets the next number, from 0 on. Groups,
 *                  members and slot mean what rw_members_record and rw_communicator_record say; two ranks
 *                  speak of the same communicator when all of this agrees. Number 0 is MPI_COMM_WORLD.
 * The others are events. After the kind comes
 *   gap            ticks from the end of this thread's event before (or from begin_ticks) to the begin of
 *                  this call: what the program did outside MPI, and in calls that the tracer does not wrap
 *   duration       ticks inside the call
 * and then
 *   SEND           how (RW_HOW_*), peer, tag (signed), communicator, bytes
 *   RECEIVE        how, peer, tag (signed), communicator, bytes. Without RW_HOW_REQUEST a receive that is
 *                  over: where the message came from, its tag and bytes. With it one that is posted: peer
 *                  may be RW_PEER_ANY; tag as posted, meaningless with RW_HOW_ANY_TAG; bytes that it can
 *                  take; what came is told by the COMPLETION.
 *   SENDRECV       how, communicator, then peer, tag (signed), bytes of the send, and of the receive as in
 *                  RECEIVE. The request of a nonblocking one stands for both.
 *   COMPLETION     call (enum rw_completing_call), number of active requests handed to the call, number of
 *                  requests completed; per completed request: distance * 8 + flags (RW_DONE_*); then with
 *                  RW_DONE_RECEIVED peer, tag (signed), bytes. The distance counts back from the request
 *                  that was made last: 0 is that one itself.
 *   POLLS          number of tests and probes without result, ticks inside them; duration: from the begin
 *                  of the first to the end of the last
 *   PROBE          peer, tag (signed), communicator, bytes: a message that was found
 *   COLLECTIVE     operation (enum rw_operation), flags (RW_COLLECTIVE_*), communicator, root (peer, NONE
 *                  for operations without), bytes contributed (see rw_collective_record); with
 *                  RW_COLLECTIVE_ROW: number of entries, per entry destination (signed, relative to the
 *                  world rank after the entry before, to 0 in the first) and bytes, entries of 0 bytes
 *                  left out
 *   CREATION       flags (RW_COLLECTIVE_REQUEST), old communicator + 1, new communicator + 1; 0: none, or
 *                  not known
 *   FREE           distance: an active request that MPI_Request_free took; it completes unseen
 *   OTHER          class (enum rw_class) of a call that has no event of its own
 *
 * A peer is RW_PEER_NONE (MPI_PROC_NULL), RW_PEER_OUTSIDE (not in MPI_COMM_WORLD), RW_PEER_ANY
 * (MPI_ANY_SOURCE) or world rank + RW_PEER_FIRST.
 * Requests are numbered from 0 in the order in which they appear: every SEND, RECEIVE and SENDRECV with
 * RW_HOW_REQUEST and every COLLECTIVE and CREATION with RW_COLLECTIVE_REQUEST makes one. A persistent
 * request counts anew at every start. Receives from and sends to MPI_PROC_NULL appear nowhere, except
 * as one half of SENDRECV, and their requests neither.
 * Calls that failed appear nowhere.
 */
#ifndef RANKWRIGHT_EVENTS_FORMAT_H
#define RANKWRIGHT_EVENTS_FORMAT_H

#include "trace_format.h"

#define RW_EVENTS_VERSION 1u
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

#define RW_EVENTS_CLOSED 1u /* no longer written to: crc holds */
#define RW_EVENTS_LAST 2u   /* ended by MPI_Finalize */

struct rw_events_block {
    uint32_t magic;
    uint32_t flags;
    uint64_t size;      /* bytes to the next block, this structure included */
    uint64_t length;    /* bytes of the payload that are valid */
    uint64_t events;    /* in the payload */
    uint64_t now_ticks; /* the same moment on both clocks: when it was closed; before, some while ago */
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
    RW_EVENT_OTHER = 12
};

/* Bits 0 and 1 of `how`: the mode of a send. */
enum rw_send_mode { RW_STANDARD = 0, RW_BUFFERED = 1, RW_SYNCHRONOUS = 2, RW_READY = 3 };

#define RW_HOW_MODE 3u
#define RW_HOW_REQUEST 4u     /* nonblocking: makes a request */
#define RW_HOW_PERSISTENT 8u  /* by MPI_Start */
#define RW_HOW_ANY_SOURCE 16u /* the receive was posted with MPI_ANY_SOURCE */
#define RW_HOW_ANY_TAG 32u
#define RW_HOW_MATCHED 64u    /* MPI_Mrecv, MPI_Imrecv: a probe has chosen the message before */

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

#define RW_COLLECTIVE_REQUEST 1u /* nonblocking or persistent: makes a request */
#define RW_COLLECTIVE_ROW 2u

#define RW_PEER_NONE 0u
#define RW_PEER_OUTSIDE 1u
#define RW_PEER_ANY 2u
#define RW_PEER_FIRST 3u

#endif
