/*
 * trace_format.h - the records of a rank, byte by byte: in its spool file and in the gathered trace.
 *
 * tools/generate.py copies the constants into the readers in Rust: every member of an enum states its number.
 *
 * Conventions
 *   - The structures are little-endian: each field at a multiple of its size, no hidden padding, records at multiples
 *     of 8 bytes. double = IEEE 754 binary64.
 *   - A world rank is a rank in MPI_COMM_WORLD, 0 .. world size - 1.
 *   - Times are ticks of the clock of the rank that writes them. struct rw_image has the length of a tick and the zero
 *     of the rank (begin_ticks); start_unix_ns relates ranks, as precisely as the clocks of the hosts agree.
 *
 * Rank image = struct rw_image, then records, `length` bytes in all.
 *   A spool file (rank-N.rwr) is the image as it is in the memory of the rank. It is valid at any time, also after the
 *   rank was killed. After `length` bytes the file is unused.
 *
 * Gathered trace = struct rw_trace_head, the images of all ranks in ascending order, struct rw_trace_tail.
 *   Pairs leave out zero bins at both ends of their histogram, and there are no padding records. A file without a
 *   valid tail is truncated.
 *
 * A reader refuses an unknown version and skips records of unknown kinds.
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
    RW_STATE_RUNNING = 0,   /* it is still running, was killed, or called _exit */
    RW_STATE_FINALIZED = 1, /* it called MPI_Finalize */
    RW_STATE_ABORTED = 2,   /* it called MPI_Abort */
    RW_STATE_EXITED = 3     /* it called exit or returned from main without MPI_Finalize */
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
    RW_CLOCK_OFF = 2        /* option no-gaps: the clock is not read, all ticks below are 0 */
};

#define RW_IMAGE_LOST_RECORDS 1u  /* out of memory: records are missing */
#define RW_IMAGE_SPOOL_ENDED 2u   /* the spool file could not grow: it lacks later records */

/*
 * Classes of time.
 *   Point-to-point  sends of all modes, receives, probes, creating and starting persistent and partitioned requests,
 *                   MPI_Pready*
 *   Wait            MPI_Wait*, MPI_Test*, MPI_Request_get_status*, MPI_Parrived, flushing attached buffers
 *   Collective      blocking collectives, the call that starts a nonblocking one, creating and starting persistent
 *                   ones; MPI_Startall has the class of its first request
 *   One-sided       communication on windows and its synchronization
 *   Other           creating and freeing communicators, windows and requests
 * Calls that the tracer does not wrap are in no class.
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
    uint64_t run;            /* identifies the run: equal on all its ranks */
    uint32_t state;          /* enum rw_state */
    uint32_t flags;          /* RW_IMAGE_* */
    uint32_t thread_level;   /* enum rw_thread_level */
    uint32_t clock;          /* enum rw_clock */
    uint64_t length;         /* valid bytes of the image, with this structure */
    int64_t start_unix_ns;   /* CLOCK_REALTIME when MPI_Init returned, nanoseconds since 1970 */
    uint64_t begin_ticks;    /* when MPI_Init returned; begin_ns is CLOCK_MONOTONIC */
    uint64_t begin_ns;
    uint64_t latest_ticks;   /* when MPI_Finalize was called; while running, a recent call (see rw_refresh) */
    uint64_t latest_ns;
    uint64_t peak_memory;    /* largest resident set until `latest`, bytes; 0: unknown */
    uint64_t outside_messages; /* with processes outside MPI_COMM_WORLD (connected jobs); in no pair */
    uint64_t outside_bytes;
    struct rw_class_total {
        uint64_t calls;
        uint64_t ticks;      /* sum over threads: may exceed the run time */
    } classes[RW_CLASS_COUNT];
    uint64_t waited_ticks;     /* outside MPI, waiting for a PU: in gaps long enough to be looked at (see waiting.h) */
    uint64_t processor_ns;     /* processor time since MPI_Init returned: of the thread that called it, and of all other
                                * threads of the process */
    uint64_t other_threads_ns;
    uint32_t waiting;          /* enum rw_waiting */
    uint32_t zero;
};

/* From what waited_ticks follows. */
enum rw_waiting {
    RW_WAITING_UNKNOWN = 0,   /* option no-gaps; 0 */
    RW_WAITING_RUN_DELAY = 1, /* the kernel's time in which the thread was ready and did not run */
    RW_WAITING_PROCESSOR = 2  /* the thread's processor clock: sleep counts too */
};

enum rw_record_kind {
    RW_RECORD_END = 0, /* never written: unused bytes */
    RW_RECORD_PADDING = 1,
    RW_RECORD_TEXT = 2,
    RW_RECORD_BINDING = 3,
    RW_RECORD_MEMBERS = 4,
    RW_RECORD_COMMUNICATOR = 5,
    RW_RECORD_PAIR = 6,
    RW_RECORD_COLLECTIVE = 7,
    RW_RECORD_ROW = 8,
    RW_RECORD_TOPOLOGY = 9,
    RW_RECORD_SETTING = 10
};

struct rw_record {
    uint32_t kind;
    uint32_t length; /* bytes, with this structure; a multiple of 8 */
};

enum rw_text {
    RW_TEXT_HOST = 0,          /* gethostname */
    RW_TEXT_LIBRARY = 1,       /* MPI_Get_library_version */
    RW_TEXT_TRACER = 2,        /* the version of the tracer */
    RW_TEXT_PROGRAM = 3,       /* the file name of the program, or of the script that an interpreter runs */
    RW_TEXT_BESIDE_MPI = 4,    /* libraries by which the program may send past MPI, with commas; the last record counts */
    RW_TEXT_CALLED_THROUGH = 5 /* the library through which the program calls MPI, if that is mpi4py */
};

/* Normally UTF-8, but not checked. A text that is missing is empty. */
struct rw_text_record {
    struct rw_record head;
    uint32_t which;
    uint32_t bytes;
    char text[];
};

/* A control variable of the MPI library (MPI_T) that says which algorithms and limits are in effect; from rank 0 only. */
struct rw_setting_record {
    struct rw_record head;
    uint32_t name_bytes;
    uint32_t value_bytes;
    char text[]; /* the name, then the value: a number in decimal digits, or a text */
};

/* The PUs that the rank may run on: its affinity mask when MPI_Init returned; if OpenMP binds the first thread before
 * main, the mask at program start. Both counts 0: unknown. */
struct rw_binding_record {
    struct rw_record head;
    uint32_t pu_count;
    uint32_t numa_count;
    uint32_t numbers[]; /* PUs, then their NUMA nodes: P# of the operating system, ascending */
};

/*
 * A list of world ranks is a sequence of runs: first, first + stride, ..., `count` ranks. Each run is as long as
 * possible, so equal lists have equal runs. A member outside MPI_COMM_WORLD is -1.
 */
struct rw_run {
    int32_t first;
    int32_t stride;
    uint32_t count;
};

/*
 * Member lists of communicators, in the order of their ranks. The first group of an intercommunicator is the one with
 * the smaller lowest world rank, so that all members write equal records.
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
 * Identity: records of two ranks mean the same communicator if member lists and slot are equal. A new communicator
 * takes the lowest free slot of its member lists, and releases it when it is freed. Creating and freeing are
 * collective, so all members see the same order and agree on the slot without messages. (If threads of a program create
 * or free communicators with equal members in different orders on different ranks, these communicators may be swapped;
 * their members are still right.) A communicator that is created and freed in a loop is one record with a high
 * `created`. Slot 0 of the list of all world ranks is MPI_COMM_WORLD.
 */
struct rw_communicator_record {
    struct rw_record head;
    uint32_t id; /* within the image */
    uint32_t members;
    uint32_t slot;
    uint32_t created; /* how many communicators have been in this slot, one after the other */
    /* From MPI_Comm_set_name, of the last communicator in this slot with a name when it was freed or at MPI_Finalize;
     * ends at the first zero. */
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
 * Messages or transfers between this rank and one peer, which may be the rank itself, not MPI_PROC_NULL. Only calls
 * that returned MPI_SUCCESS; a persistent send counts at each start. A partitioned send counts at each start as one
 * message of partitions times count elements: how many messages the library sends for it is not recorded.
 * One-sided calls, also MPI_R...; n: bytes of the origin arguments, m: bytes of the target arguments.
 *   Put, Accumulate      put of n
 *   Get                  get of m
 *   Get_accumulate       put of n and get of m; with MPI_NO_OP only the get
 *   Fetch_and_op         put and get of one element; with MPI_NO_OP only the get
 *   Compare_and_swap     put and get of one element
 * Loads and stores in shared memory (MPI_Win_allocate_shared) are not calls and are not recorded.
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
    uint64_t first;   /* begin of the first call, ticks */
    uint64_t last;    /* begin of the last call */
    /* Gaps between the begins of successive calls to this peer: messages - 1 gaps. Their coefficient of variation is
     * sqrt(gap_m2 / gaps) / gap_mean. */
    double gap_mean;  /* ticks */
    double gap_m2;    /* sum of squared deviations from the mean, square ticks */
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
 * Bytes contributed: the data that this rank puts into the operation by its own arguments, whatever the algorithm. The
 * block for the rank itself counts too, also with MPI_IN_PLACE. n: size of the communicator, of an intercommunicator
 * the size of the remote group. Block: count times MPI_Type_size of the send arguments, or of the receive arguments
 * where MPI_IN_PLACE replaces them.
 *   Barrier              0
 *   Bcast                the buffer at the root, 0 elsewhere
 *   Gather               the block of the rank; intercommunicator: 0 in the group of the root
 *   Gatherv              as Gather; row: the root
 *   Scatter              n blocks at the root, 0 elsewhere
 *   Scatterv             sum of the blocks at the root, 0 elsewhere; row: every rank (remote group)
 *   Allgather(v)         the block of the rank, once; no row: all ranks (of the remote group) get it
 *   Alltoall             n blocks
 *   Alltoallv, Alltoallw sum of the blocks; row: every rank (of the remote group)
 *   Reduce               the vector; intercommunicator: 0 in the group of the root
 *   Allreduce            the vector
 *   Reduce_scatter       the vector, all its blocks; row: every rank, its block of the result;
 *                        intercommunicator: no row, as the counts of the remote group are unknown
 *   Reduce_scatter_block the vector: one block per rank of the local group
 *   Scan, Exscan         the vector
 *   Neighbor_allgather(v)       the block of the rank times its number of destinations
 *   Neighbor_alltoall(v)(w)     sum of the blocks sent to the destinations
 *                        row of all Neighbor_*: the destinations in the topology without
 *                        MPI_PROC_NULL; a neighbour that is listed twice counts twice and gets
 *                        two messages
 */
struct rw_collective_record {
    struct rw_record head;
    uint32_t id;           /* within the image */
    uint32_t communicator; /* id */
    uint16_t operation;    /* enum rw_operation */
    uint16_t flags;        /* RW_FLAG_* */
    /* World rank; RW_NO_ROOT: the operation has none; RW_ROOT_NOT_STATED: the arguments of this rank do not state it
     * (MPI_PROC_NULL in the group of the root of an intercommunicator). */
    int32_t root;
    uint64_t calls; /* that returned MPI_SUCCESS; a persistent operation counts at each start */
    uint64_t bytes; /* contributed */
    uint64_t ticks; /* inside these calls; of a nonblocking or persistent operation inside the call that starts it */
    uint64_t first; /* begin of the first call, ticks */
    uint64_t last;  /* begin of the last call */
};

/* The bytes that the arguments of a collective state for one destination. */
struct rw_row_record {
    struct rw_record head;
    uint32_t collective;  /* id */
    uint32_t destination; /* world rank */
    uint64_t messages;    /* blocks of at least one byte for it: one per call, or as often as it is listed as neighbour */
    uint64_t bytes;       /* sum over the calls */
};

/* Append new operations: the numbers are part of the format. */
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
 * The topology that the program declares with MPI_Cart_create, MPI_Cart_sub, MPI_Graph_create or
 * MPI_Dist_graph_create*. A record is added when the topology in the slot changes; the last record counts.
 */
struct rw_topology_record {
    struct rw_record head;
    uint32_t communicator; /* id */
    uint32_t kind;         /* enum rw_topology */
    uint32_t dimensions;   /* of a Cartesian grid, else 0 */
    uint32_t neighbours;   /* that this rank sends to */
    /* For each dimension its extent, and 1 if it is periodic, else 0; then for each neighbour its world rank (-1:
     * MPI_PROC_NULL, or outside MPI_COMM_WORLD) and its weight (1 if the program gives none). */
    int32_t numbers[];
};

#endif
