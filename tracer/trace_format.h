/*
 * trace_format.h - the file that the tracer writes at MPI_Finalize, byte by byte.
 *
 * Conventions
 *   - All integers and doubles (IEEE 754 binary64) are little endian; nothing is aligned or padded.
 *   - u8 u16 u32 u64 are unsigned, i32 i64 two's complement, f64 a double.
 *   - string = u32 length, then that many bytes; no terminator; normally UTF-8, but not checked.
 *   - "world rank" is the rank in MPI_COMM_WORLD, 0 .. world size - 1.
 *   - Times are seconds on the writing rank's monotonic clock, which starts at 0 when MPI_Init (or
 *     MPI_Init_thread) returns on that rank. Every rank has its own zero; start_unix_ns of the rank
 *     record relates them, as well as the hosts' clocks agree.
 *
 * File = header, sections, end section.
 *
 * Header (16 bytes)
 *   8 bytes  magic  "RWTRACE\n"
 *   u32      format version (RW_FORMAT_VERSION); a reader refuses a version it does not know
 *   u32      number of sections that follow, the end section included
 *
 * Section
 *   4 bytes  tag, ASCII
 *   u32      0
 *   u64      payload length in bytes
 *   payload
 * Sections come in the order FACT RANK COMM PAIR COLL END. A reader skips a tag it does not know.
 * Each of RANK COMM PAIR COLL begins with u64: the number of records in it.
 *
 * FACT: facts of the run
 *   u32      world size
 *   u32      thread level that MPI provided on rank 0: 0 single, 1 funneled, 2 serialized, 3 multiple
 *   u32      clock: 0 clock_gettime(CLOCK_MONOTONIC), 1 invariant time stamp counter
 *   string   MPI library version (MPI_Get_library_version)
 *   string   tracer version
 *
 * RANK: one record per world rank, ascending, none missing
 *   u32      world rank
 *   string   host name (gethostname)
 *   u32      number of PUs in the affinity mask when MPI_Init returned; 0: mask not readable
 *   u32[]    their operating-system numbers (P#), ascending
 *   i64      start_unix_ns: CLOCK_REALTIME when MPI_Init returned, nanoseconds since 1970
 *   f64      wall: seconds from the return of MPI_Init to the call of MPI_Finalize
 *   4 times, for the classes point-to-point, wait, collective, other (RW_CLASS_*, in this order):
 *     u64    calls
 *     f64    seconds inside these calls (summed over threads: may exceed wall in threaded programs)
 *   u64      messages sent to processes outside MPI_COMM_WORLD (connected jobs); not in PAIR
 *   u64      bytes of these
 *
 *   Classes: point-to-point = sends of all modes, receives, probes, starts of persistent requests;
 *   wait = MPI_Wait*, MPI_Test*, MPI_Request_get_status; collective = collective operations, and the
 *   starting call of nonblocking ones; other = creating and freeing communicators and requests.
 *   Calls that the tracer does not wrap (one-sided, files, ...) are in no class.
 *
 * COMM: communicators, ascending identifiers 0, 1, 2, ... without a gap
 *   u32      identifier; 0 is MPI_COMM_WORLD
 *   u32      kind: 0 intracommunicator, 1 intercommunicator
 *   u32      slot, see below
 *   u32      created: how many communicators have stood in this slot one after the other
 *   string   name given by the program (MPI_Comm_set_name) to the last communicator in this slot that
 *            got one, or MPI_COMM_WORLD, MPI_COMM_SELF; else ""
 *   u32      size of the first group
 *   u32[]    its members: world ranks in the order of their rank in the communicator
 *   u32      size of the second group; 0 for an intracommunicator
 *   u32[]    its members
 *   A member outside MPI_COMM_WORLD is RW_OUTSIDE. The first group of an intercommunicator is the one
 *   with the smaller lowest world rank.
 *
 *   Identity: two ranks speak of the same communicator when kind, member lists and slot agree. A
 *   communicator takes, when it is created, the lowest slot that no living communicator of the same
 *   kind and member lists holds, and gives it back when it is freed. Creation and release are
 *   collective, so all members see the same order and agree on the slot without exchanging a message.
 *   (A program whose threads create or free communicators with the same members in an order that
 *   differs between ranks may see them exchanged; the members are right in any case.)
 *   A communicator created and freed in a loop is therefore one record with a high `created`.
 *
 * PAIR: point-to-point traffic, one record per (source, destination) with at least one message;
 * ascending source, then destination; messages to oneself included, to MPI_PROC_NULL not
 *   u32      source, world rank
 *   u32      destination, world rank
 *   u64      messages: sends of all modes that returned MPI_SUCCESS; a persistent send counts at each
 *            start
 *   u64      bytes: count times MPI_Type_size, summed
 *   u64      bytes of the largest message
 *   f64      time of the first send (when its call began)
 *   f64      time of the last send
 *   f64      mean of the gaps, in seconds, between the beginnings of successive sends to this
 *            destination; there are messages - 1 gaps; 0 if there is none
 *   f64      M2: sum of the squared deviations of the gaps from their mean, in square seconds. The
 *            coefficient of variation is sqrt(M2 / gaps) / mean.
 *   u32      first bin of the size histogram that is listed
 *   u32      number of bins listed
 *   u64[]    messages per bin, from the first to the last bin that is not zero
 *            bin 0: 0 bytes; bin k+1: 2^k <= bytes < 2^(k+1); 64 bins in all
 *
 * COLL: collective calls, one record per (rank, communicator, operation, flags, root), ascending in
 * this order (root as a signed number)
 *   u32      world rank that made the calls
 *   u32      identifier of the communicator
 *   u16      operation, RW_OPERATION_*
 *   u16      flags: bit 0 nonblocking (MPI_I...)
 *   i32      root as a world rank; RW_NO_ROOT if the operation has none; RW_ROOT_NOT_STATED if the
 *            rank does not say which (MPI_PROC_NULL in the root's group of an intercommunicator)
 *   u64      calls that returned MPI_SUCCESS
 *   u64      bytes contributed, see below
 *   f64      seconds inside these calls (for a nonblocking one: inside its starting call)
 *   f64      time of the first call (when it began)
 *   f64      time of the last call
 *   u32      number of row entries that follow, 0 for operations without a row; ascending destination
 *     u32    destination, world rank
 *     u64    messages: calls in which the arguments send at least one byte to this destination
 *     u64    bytes: what the arguments send to this destination, summed over the calls
 *
 * Bytes contributed: what this rank puts into the operation as its own arguments define it, without
 * any assumption on the algorithm. A rank's own block counts too, whether it is copied or, with
 * MPI_IN_PLACE, lies in place already. n = size of the communicator, for an intercommunicator size
 * of the remote group; "block" = count times MPI_Type_size of the send arguments, or of the receive
 * arguments where MPI_IN_PLACE replaces the former.
 *   Barrier              0
 *   Bcast                the buffer at the root, 0 elsewhere
 *   Gather               the rank's block; intercommunicator: 0 in the root's group
 *   Gatherv              same; row: the root
 *   Scatter              n blocks at the root, 0 elsewhere
 *   Scatterv             sum of the blocks at the root, 0 elsewhere; row: every rank (remote group)
 *   Allgather(v)         the rank's block, once; every rank (of the remote group) gets it: no row
 *   Alltoall             n blocks
 *   Alltoallv, Alltoallw sum of the blocks; row: every rank (of the remote group)
 *   Reduce               the vector; intercommunicator: 0 in the root's group
 *   Allreduce            the vector
 *   Reduce_scatter       the vector, all its blocks; row: every rank gets the block it will own;
 *                        intercommunicator: no row (the remote group's counts are not known here)
 *   Reduce_scatter_block the vector: one block per rank of the local group
 *   Scan, Exscan         the vector
 *   Neighbor_allgather(v)       the rank's block times its number of destinations
 *   Neighbor_alltoall(v)(w)     sum of the blocks sent to the destinations
 *                        row of all Neighbor_*: the destinations in the topology; MPI_PROC_NULL
 *                        neighbours count nowhere, a neighbour listed twice counts twice
 *
 * END: payload of 4 bytes
 *   u32      CRC-32 (IEEE 802.3, as in zlib) of all bytes of the file before the END section's tag
 * The file ends there. A file without a right END section was cut short.
 */
#ifndef RANKWRIGHT_TRACE_FORMAT_H
#define RANKWRIGHT_TRACE_FORMAT_H

#define RW_MAGIC "RWTRACE\n"
#define RW_FORMAT_VERSION 1u
#define RW_SECTION_COUNT 6u

#define RW_CLOCK_GETTIME 0u
#define RW_CLOCK_TSC 1u

#define RW_OUTSIDE 0xffffffffu
#define RW_NO_ROOT (-1)
#define RW_ROOT_NOT_STATED (-2)

#define RW_FLAG_NONBLOCKING 1u

#define RW_HISTOGRAM_BINS 64

enum rw_class {
    RW_CLASS_POINT_TO_POINT = 0,
    RW_CLASS_WAIT = 1,
    RW_CLASS_COLLECTIVE = 2,
    RW_CLASS_OTHER = 3,
    RW_CLASS_COUNT = 4
};

/* The numbers are part of the format: new operations are appended. */
enum rw_operation {
    RW_OPERATION_BARRIER = 0,
    RW_OPERATION_BCAST = 1,
    RW_OPERATION_GATHER = 2,
    RW_OPERATION_GATHERV = 3,
    RW_OPERATION_SCATTER = 4,
    RW_OPERATION_SCATTERV = 5,
    RW_OPERATION_ALLGATHER = 6,
    RW_OPERATION_ALLGATHERV = 7,
    RW_OPERATION_ALLTOALL = 8,
    RW_OPERATION_ALLTOALLV = 9,
    RW_OPERATION_ALLTOALLW = 10,
    RW_OPERATION_REDUCE = 11,
    RW_OPERATION_ALLREDUCE = 12,
    RW_OPERATION_REDUCE_SCATTER = 13,
    RW_OPERATION_REDUCE_SCATTER_BLOCK = 14,
    RW_OPERATION_SCAN = 15,
    RW_OPERATION_EXSCAN = 16,
    RW_OPERATION_NEIGHBOR_ALLGATHER = 17,
    RW_OPERATION_NEIGHBOR_ALLGATHERV = 18,
    RW_OPERATION_NEIGHBOR_ALLTOALL = 19,
    RW_OPERATION_NEIGHBOR_ALLTOALLV = 20,
    RW_OPERATION_NEIGHBOR_ALLTOALLW = 21
};

#endif
