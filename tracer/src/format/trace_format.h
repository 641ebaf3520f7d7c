/*
 * trace_format.h - what a rank records, byte by byte: in its spool file and in the gathered trace.
 *
 * Conventions
 *   - The structures below as a little-endian machine lays them out: every field at a multiple of its
 *     size, no hidden padding, records at multiples of 8 bytes. f64 = double = IEEE 754 binary64.
 *   - "world rank" is the rank in MPI_COMM_WORLD, 0 .. world size - 1.
 *   - Times are ticks of the writing rank's clock; rw_image says how long a tick is. Every rank has its
 *     own zero (begin_ticks); start_unix_ns relates them, as well as the hosts' clocks agree.
 *
 * Rank image = struct rw_image, then records up to `length` bytes in all.
 *   A spool file (rank-N.rwr) is the image of a rank as it lies in that rank's memory: it is right at any
 *   time, also after the rank was killed. Behind `length` it has unused bytes.
 *
 * Gathered trace = struct rw_trace_head, the images of all ranks in ascending order, struct rw_trace_tail.
 *   In it a pair lists only the bins of its histogram that are not zero at the ends, and there is no
 *   padding record. A file without a right tail was cut short.
 *
 * A reader refuses a version it does not know, and skips records of a kind it does not know.
 */
#ifndef RANKWRIGHT_TRACE_FORMAT_H
#define RANKWRIGHT_TRACE_FORMAT_H

#include <stdint.h>

#define RW_FORMAT_VERSION 2u
#define RW_IMAGE_MAGIC "RWRANK2\n"
#define RW_TRACE_MAGIC "RWTRACE\n"
#define RW_TAIL_MAGIC "RWTREND\n"

/* ---- the gathered trace ---- */

struct rw_trace_head {
    char magic[8];
    uint32_t version;
    uint32_t world_size;
};

struct rw_trace_tail {
    char magic[8];
    uint32_t crc; /* CRC-32 (IEEE 802.3, as in zlib) of all bytes before the tail */
    uint32_t zero;
};

/* ---- the image of a rank ---- */

/* How the rank ended. */
enum rw_state {
    RW_STATE_RUNNING = 0,   /* it still runs, was killed, or left by _exit */
    RW_STATE_FINALIZED = 1, /* it called MPI_Finalize */
    RW_STATE_ABORTED = 2,   /* it called MPI_Abort */
    RW_STATE_EXITED = 3     /* it left by exit or return from main, without MPI_Finalize */
};

/* The thread level that MPI provided. */
enum rw_thread_level {
    RW_THREAD_SINGLE = 0,
    RW_THREAD_FUNNELED = 1,
    RW_THREAD_SERIALIZED = 2,
    RW_THREAD_MULTIPLE = 3
};

enum rw_clock {
    RW_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC: a tick is a nanosecond */
    RW_CLOCK_TSC = 1,       /* invariant time stamp counter */
    RW_CLOCK_OFF = 2        /* no-gaps: times of calls are not taken, all ticks below are 0 */
};

#define RW_IMAGE_LOST_RECORDS 1u  /* out of memory: records are missing */
#define RW_IMAGE_SPOOL_ENDED 2u   /* the spool file could not grow: later records are missing from it */

/*
 * Classes of time. Point-to-point: sends of all modes, receives, probes, making and starting persistent
 * and partitioned requests, MPI_Pready*. Wait: MPI_Wait*, MPI_Test*, MPI_Request_get_status*,
 * MPI_Parrived, flushing attached buffers. Collective: collective operations, the starting call of
 * nonblocking ones, making and starting persistent ones (an MPI_Startall is in the class of its first
 * request). One-sided: communication on windows and its synchronisation. Other: creating and freeing
 * communicators, windows and requests. Calls that the tracer does not wrap are in no class.
 */
enum rw_class {
    RW_CLASS_POINT_TO_POINT = 0,
    RW_CLASS_WAIT = 1,
    RW_CLASS_COLLECTIVE = 2,
    RW_CLASS_ONE_SIDED = 3,
    RW_CLASS_OTHER = 4,
    RW_CLASS_COUNT = 5
};

struct rw_image {
    char magic[8];
    uint32_t version;
    uint32_t head_bytes;     /* size of this structure */
    uint32_t rank;
    uint32_t world_size;
    uint64_t run;            /* a number that all ranks of a run share and other runs do not have */
    uint32_t state;          /* enum rw_state */
    uint32_t flags;          /* RW_IMAGE_* */
    uint32_t thread_level;   /* enum rw_thread_level */
    uint32_t clock;          /* enum rw_clock */
    uint64_t length;         /* bytes of the image that are valid, this structure included */
    int64_t start_unix_ns;   /* CLOCK_REALTIME when MPI_Init returned, nanoseconds since 1970 */
    uint64_t begin_ticks;    /* when MPI_Init returned, on both clocks; the second is CLOCK_MONOTONIC */
    uint64_t begin_ns;
    uint64_t latest_ticks;   /* when MPI_Finalize was called; while running about every second */
    uint64_t latest_ns;
    uint64_t peak_memory;    /* largest resident set until `latest`, bytes; 0: not known */
    uint64_t outside_messages; /* with processes outside MPI_COMM_WORLD (connected jobs); in no pair */
    uint64_t outside_bytes;
    struct rw_class_total {
        uint64_t calls;
        uint64_t ticks;      /* summed over threads: may exceed the run time in threaded programs */
    } classes[RW_CLASS_COUNT];
};

enum rw_record_kind {
    RW_RECORD_END = 0, /* never written: what unused bytes look like */
    RW_RECORD_PADDING = 1,
    RW_RECORD_TEXT = 2,
    RW_RECORD_BINDING = 3,
    RW_RECORD_MEMBERS = 4,
    RW_RECORD_COMMUNICATOR = 5,
    RW_RECORD_PAIR = 6,
    RW_RECORD_COLLECTIVE = 7,
    RW_RECORD_ROW = 8,
    RW_RECORD_TOPOLOGY = 9
};

struct rw_record {
    uint32_t kind;
    uint32_t length; /* bytes, this structure included; a multiple of 8 */
};

enum rw_text { RW_TEXT_HOST = 0, RW_TEXT_LIBRARY = 1, RW_TEXT_TRACER = 2, RW_TEXT_PROGRAM = 3 };

/* gethostname, MPI_Get_library_version, the tracer's version, the program's file name; normally UTF-8, but not checked. */
struct rw_text_record {
    struct rw_record head;
    uint32_t which;
    uint32_t bytes;
    char text[];
};

/* Where the rank may run: its affinity mask when MPI_Init returned; with an OpenMP that binds the first
 * thread before main, the mask that the process was started with. Both counts 0: not readable. */
struct rw_binding_record {
    struct rw_record head;
    uint32_t pu_count;
    uint32_t numa_count;
    uint32_t numbers[]; /* PUs, then the NUMA nodes that have them: P# of the operating system, ascending */
};

/*
 * A list of world ranks in runs: first, first + stride, ..., `count` of them. The same list always gives
 * the same runs. A member outside MPI_COMM_WORLD is -1.
 */
struct rw_run {
    int32_t first;
    int32_t stride;
    uint32_t count;
};

/*
 * Member lists of communicators, in the order of their ranks. Of an intercommunicator the group with the
 * smaller lowest world rank is the first, so that all members write the same.
 */
struct rw_members_record {
    struct rw_record head;
    uint32_t id; /* within the image */
    uint32_t intercommunicator;
    uint32_t first_runs;
    uint32_t second_runs; /* 0 for an intracommunicator */
    struct rw_run runs[];
};

#define RW_NAME_BYTES 128

/*
 * Identity: two ranks speak of the same communicator when member lists and slot agree. A communicator
 * takes, when it is created, the lowest slot that no living communicator with the same member lists
 * holds, and gives it back when it is freed. Creation and release are collective, so all members see the
 * same order and agree on the slot without exchanging a message. (A program whose threads create or free
 * communicators with the same members in an order that differs between ranks may see them exchanged; the
 * members are right in any case.) A communicator created and freed in a loop is therefore one record with
 * a high `created`. Slot 0 of the world's list in order is MPI_COMM_WORLD.
 */
struct rw_communicator_record {
    struct rw_record head;
    uint32_t id; /* within the image */
    uint32_t members;
    uint32_t slot;
    uint32_t created; /* how many communicators have stood in this slot one after the other */
    /* Given by the program (MPI_Comm_set_name) to the last communicator in this slot that got one and was
     * freed, or lived at MPI_Finalize; ends at the first zero. */
    char name[RW_NAME_BYTES];
};

enum rw_pair_class {
    RW_PAIR_POINT_TO_POINT = 0, /* data go from this rank to the peer */
    RW_PAIR_PUT = 1,            /* one-sided, the same direction */
    RW_PAIR_GET = 2,            /* one-sided: data go from the peer to this rank */
    RW_PAIR_CLASS_COUNT = 3
};

#define RW_HISTOGRAM_BINS 64

/*
 * What this rank did with one peer; messages to oneself included, to MPI_PROC_NULL not. Only calls that
 * returned MPI_SUCCESS; a persistent send counts at each start. A partitioned send is at each start one
 * message of partitions times count elements: the program has one buffer and one completion, and how many
 * pieces travel is the library's choice.
 * One-sided calls, also in their R... form; n = bytes of the origin arguments, m = of the target arguments:
 *   Put, Accumulate      put of n
 *   Get                  get of m
 *   Get_accumulate       put of n and get of m; with MPI_NO_OP only the get
 *   Fetch_and_op         put and get of one element; with MPI_NO_OP only the get
 *   Compare_and_swap     put and get of one element
 * Loads and stores in shared memory (MPI_Win_allocate_shared) are not calls and are not seen.
 */
struct rw_pair_record {
    struct rw_record head;
    uint32_t peer; /* world rank */
    uint8_t class; /* enum rw_pair_class */
    uint8_t first_bin;
    uint16_t bins;
    uint64_t messages;
    uint64_t bytes;   /* count times MPI_Type_size, summed */
    uint64_t largest; /* bytes of the largest message */
    uint64_t first;   /* ticks when the first call began */
    uint64_t last;
    /* Gaps between the beginnings of successive calls to this peer; there are messages - 1 of them. The
     * coefficient of variation is sqrt(gap_m2 / gaps) / gap_mean. */
    double gap_mean;  /* ticks */
    double gap_m2;    /* sum of the squared deviations from the mean, square ticks */
    /* Messages by size, from first_bin on. Bin 0: 0 bytes; bin k+1: 2^k <= bytes < 2^(k+1). */
    uint64_t histogram[];
};

#define RW_NO_ROOT (-1)
#define RW_ROOT_NOT_STATED (-2)

#define RW_FLAG_NONBLOCKING 1u
#define RW_FLAG_PERSISTENT 2u

/*
 * Collective calls of this rank, one record per (communicator, operation, flags, root).
 *
 * Bytes contributed: what this rank puts into the operation as its own arguments define it, without any
 * assumption on the algorithm. A rank's own block counts too, whether it is copied or, with MPI_IN_PLACE,
 * lies in place already. n = size of the communicator, for an intercommunicator size of the remote group;
 * "block" = count times MPI_Type_size of the send arguments, or of the receive arguments where
 * MPI_IN_PLACE replaces the former.
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
 */
struct rw_collective_record {
    struct rw_record head;
    uint32_t id;           /* within the image */
    uint32_t communicator; /* id */
    uint16_t operation;    /* enum rw_operation */
    uint16_t flags;        /* RW_FLAG_* */
    /* A world rank; RW_NO_ROOT if the operation has none; RW_ROOT_NOT_STATED if the rank does not say which
     * (MPI_PROC_NULL in the root's group of an intercommunicator). */
    int32_t root;
    uint64_t calls; /* that returned MPI_SUCCESS; a persistent operation counts at each start */
    uint64_t bytes; /* contributed */
    uint64_t ticks; /* inside these calls (nonblocking or persistent: inside the starting call) */
    uint64_t first; /* when the first call began */
    uint64_t last;
};

/* What the arguments of a collective send to one destination. */
struct rw_row_record {
    struct rw_record head;
    uint32_t collective;  /* id */
    uint32_t destination; /* world rank */
    uint64_t messages;    /* calls that send it at least one byte */
    uint64_t bytes;       /* summed over the calls */
    uint64_t latest_call; /* number of the last of these calls, counted from 1 */
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

enum rw_topology {
    RW_TOPOLOGY_CARTESIAN = 1,
    RW_TOPOLOGY_GRAPH = 2,
    RW_TOPOLOGY_DISTRIBUTED_GRAPH = 3
};

/*
 * What the program declares of its pattern by MPI_Cart_create, MPI_Cart_sub, MPI_Graph_create or
 * MPI_Dist_graph_create*: the latest of the communicators in the slot that declared something new.
 */
struct rw_topology_record {
    struct rw_record head;
    uint32_t communicator; /* id */
    uint32_t kind;         /* enum rw_topology */
    uint32_t dimensions;   /* of a Cartesian grid, else 0 */
    uint32_t neighbours;   /* that this rank sends to */
    /* For every dimension its extent and whether it is periodic (0, 1); then for every neighbour its world
     * rank (-1: none there, or outside MPI_COMM_WORLD) and its weight (1 where the program gives none). */
    int32_t numbers[];
};

#endif
