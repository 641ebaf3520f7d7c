#include "pml.h"

#include "../mpi/arguments.h"
#include "../process/clock.h"
#include "../process/state.h"
#include "../storage/allocate.h"
#include "../storage/hash_table.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)

/* ---- what is needed of Open MPI's interface: its internal headers are not installed ---- */

typedef void (*Function)(void);
typedef int SendMode; /* an enumeration */

/* The head of a component, the same since Open MPI 1.9. The version of the project is that of Open MPI. */
struct component {
    int mca_version[3];
    char project[16];
    int project_version[3];
    char type[32];
    int type_version[3];
    char name[64];
};

/* Indices of functions in the table `mca_pml`, by the versions of the component type and of Open MPI. */
struct layout {
    int type[2];
    int oldest[2], newest; /* the oldest version of Open MPI, and the newest major one */
    int del_comm, isend_init, isend, send, start;
};
static const struct layout layouts[] = {
    /* Up to 3.0, MPI_Start calls the table too. */
    {{2, 0}, {3, 1}, 4, 5, 9, 10, 11, 14},
    /* With revoke_comm behind del_comm. */
    {{2, 1}, {5, 0}, 6, 5, 10, 11, 12, 15},
};
/* Releases of Open MPI 4 with fault tolerance (ULFM) have revoke_comm too, under the same version. */
static const char revokes[] = "MPIX_Comm_revoke";

/* ---- what is known ---- */

/* The receivers of a communicator. */
struct receivers {
    int count;
    int ranks[]; /* in MPI_COMM_WORLD; MPI_UNDEFINED: outside */
};

/* A persistent send that a collective operation made. */
struct persistent_send {
    int rank;
    uint64_t bytes;
};

static struct {
    Function *functions; /* Open MPI's table; NULL: nothing is replaced */
    const struct layout *layout;
    int (*del_comm)(MPI_Comm);
    int (*isend_init)(const void *, size_t, MPI_Datatype, int, int, SendMode, MPI_Comm, MPI_Request *);
    int (*isend)(const void *, size_t, MPI_Datatype, int, int, SendMode, MPI_Comm, MPI_Request *);
    int (*send)(const void *, size_t, MPI_Datatype, int, int, SendMode, MPI_Comm);
    int (*start)(size_t, MPI_Request *);
} replaced;

/* Guarded by the lock of the transport file. */
static struct {
    struct rw_table receivers;  /* struct receivers by communicator */
    struct rw_table persistent; /* struct persistent_send by request */
    uint32_t *connections;      /* by rank: the number of its connection plus 1; 0: none */
} known;

/* ---- receivers ---- */

static MPI_Group group_of_receivers(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    int between_groups = 0;
    PMPI_Comm_test_inter(comm, &between_groups);
    if (between_groups)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    return group;
}

static struct receivers *look_at(MPI_Comm comm)
{
    MPI_Group group = group_of_receivers(comm);
    int count = 0;
    PMPI_Group_size(group, &count);
    struct receivers *receivers = rw_allocate(1, sizeof *receivers + (size_t)count * sizeof(int));
    int *own = rw_allocate((size_t)count + 1, sizeof *own);
    if (receivers && own) {
        receivers->count = count;
        for (int i = 0; i < count; i++)
            own[i] = receivers->ranks[i] = i;
        /* Duplicates of MPI_COMM_WORLD have its group. Open MPI compares each rank with each. */
        if (group != rw_tracer.world_group)
            PMPI_Group_translate_ranks(group, count, own, rw_tracer.world_group, receivers->ranks);
    } else {
        free(receivers);
        receivers = NULL;
    }
    free(own);
    PMPI_Group_free(&group);
    return receivers;
}

static int rank_at(const struct receivers *receivers, int destination)
{
    const int rank = destination >= 0 && destination < receivers->count ? receivers->ranks[destination] : -1;
    return rank >= 0 ? rank : -1;
}

/* The receiver's rank in MPI_COMM_WORLD; -1: outside, or nobody. Communicators of the library are found too: they need not
 * have been made by a call of MPI. */
static int rank_of(int destination, MPI_Comm comm)
{
    if (destination < 0 || !rw_transport_lock())
        return -1;
    const struct receivers *receivers = rw_table_find(&known.receivers, (uintptr_t)comm);
    int rank = receivers ? rank_at(receivers, destination) : -1;
    rw_transport_unlock();
    if (receivers)
        return rank;
    struct receivers *found = look_at(comm); /* calls MPI: not with the lock */
    if (!found)
        return -1;
    rank = rank_at(found, destination);
    bool kept = false;
    if (rw_transport_lock()) {
        kept = !rw_table_find(&known.receivers, (uintptr_t)comm)
               && rw_table_insert(&known.receivers, (uintptr_t)comm, found);
        rw_transport_unlock();
    }
    if (!kept)
        free(found);
    return rank;
}

/* ---- sends ---- */

/* With the lock. */
static bool connect_rank(int rank, uint64_t now)
{
    struct rw_transport_ends ends = {.own_port = RW_TRANSPORT_PML, .other_port = RW_TRANSPORT_PML};
    uint32_t connection;
    memcpy(ends.other, &rank, sizeof rank);
    if (!rw_transport_connect(now, &ends, &connection))
        return false;
    known.connections[rank] = connection + 1;
    return true;
}

/* `rank`: of the receiver; what goes to this rank itself goes over no network. */
static void pass(uint64_t now, int rank, uint64_t bytes)
{
    if (rank < 0 || rank == rw_tracer.world_rank || rank >= rw_tracer.world_size || bytes == 0
        || !rw_transport_lock())
        return;
    if (atomic_load(&rw_transport_on) && known.connections
        && (known.connections[rank] > 0 || connect_rank(rank, now)))
        rw_transport_pass(now, known.connections[rank] - 1, bytes);
    rw_transport_unlock();
}

/* Called before the send, which may make progress on others while it waits: so rows stay in the order of time. */
static void record(size_t count, MPI_Datatype datatype, int destination, MPI_Comm comm)
{
    if (atomic_load_explicit(&rw_transport_on, memory_order_relaxed) && destination >= 0 && count > 0)
        pass(rw_nanoseconds(CLOCK_MONOTONIC), rank_of(destination, comm), rw_bytes((MPI_Count)count, datatype));
}

void rw_pml_started(int rank, uint64_t bytes)
{
    if (replaced.functions && atomic_load_explicit(&rw_transport_on, memory_order_relaxed))
        pass(rw_nanoseconds(CLOCK_MONOTONIC), rank, bytes);
}

static int send(const void *buffer, size_t count, MPI_Datatype datatype, int destination, int tag, SendMode mode,
                MPI_Comm comm)
{
    record(count, datatype, destination, comm);
    return replaced.send(buffer, count, datatype, destination, tag, mode, comm);
}

static int isend(const void *buffer, size_t count, MPI_Datatype datatype, int destination, int tag, SendMode mode,
                 MPI_Comm comm, MPI_Request *request)
{
    record(count, datatype, destination, comm);
    return replaced.isend(buffer, count, datatype, destination, tag, mode, comm, request);
}

/* ---- persistent sends of collective operations ---- */

static void keep(MPI_Request request, struct persistent_send send)
{
    struct persistent_send *kept = rw_allocate(1, sizeof *kept);
    if (!kept)
        return;
    *kept = send;
    if (!rw_transport_lock()) {
        free(kept);
        return;
    }
    /* A later request may have the address of a freed one, but is a send too: they have free lists of their own. */
    free(rw_table_remove(&known.persistent, (uintptr_t)request));
    if (!rw_table_insert(&known.persistent, (uintptr_t)request, kept))
        free(kept);
    rw_transport_unlock();
}

static int isend_init(const void *buffer, size_t count, MPI_Datatype datatype, int destination, int tag, SendMode mode,
                      MPI_Comm comm, MPI_Request *request)
{
    const int error = replaced.isend_init(buffer, count, datatype, destination, tag, mode, comm, request);
    if (error == 0 && destination >= 0 && atomic_load_explicit(&rw_transport_on, memory_order_relaxed))
        keep(*request, (struct persistent_send){rank_of(destination, comm), rw_bytes((MPI_Count)count, datatype)});
    return error;
}

static void record_start(MPI_Request request)
{
    struct persistent_send send = {.rank = -1};
    if (!rw_transport_lock())
        return;
    const struct persistent_send *kept = rw_table_find(&known.persistent, (uintptr_t)request);
    if (kept)
        send = *kept;
    rw_transport_unlock();
    pass(rw_nanoseconds(CLOCK_MONOTONIC), send.rank, send.bytes);
}

static int start(size_t count, MPI_Request *requests)
{
    if (atomic_load_explicit(&rw_transport_on, memory_order_relaxed))
        for (size_t i = 0; i < count; i++)
            record_start(requests[i]);
    return replaced.start(count, requests);
}

/* A later communicator may have the address of a freed one. */
static int del_comm(MPI_Comm comm)
{
    if (rw_transport_lock()) {
        free(rw_table_remove(&known.receivers, (uintptr_t)comm));
        rw_transport_unlock();
    }
    return replaced.del_comm(comm);
}

/* ---- begin and end ---- */

/* `monitoring` hands messages to another PML, which may be `ucx`. */
static bool is_recorded(const struct component *pml)
{
    return strncmp(pml->project, "ompi", sizeof pml->project) == 0 && strncmp(pml->type, "pml", sizeof pml->type) == 0
           && strncmp(pml->name, "ucx", sizeof pml->name) != 0
           && strncmp(pml->name, "monitoring", sizeof pml->name) != 0;
}

static bool is_of(const struct layout *layout, const struct component *pml)
{
    const int *own = pml->project_version, *oldest = layout->oldest;
    return pml->type_version[0] == layout->type[0] && pml->type_version[1] == layout->type[1]
           && (own[0] > oldest[0] || (own[0] == oldest[0] && own[1] >= oldest[1])) && own[0] <= layout->newest
           && (layout->oldest[0] >= 5 || !rw_look_up(revokes));
}

/* The layout of the table, if the selected PML is one that is recorded here. */
static const struct layout *find_layout(void)
{
    const struct component *selected = rw_look_up("mca_pml_base_selected_component");
    if (!selected || !is_recorded(selected))
        return NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (is_of(&layouts[i], selected))
            return &layouts[i];
    return NULL;
}

/* Other threads may send meanwhile: the original is stored before our function, which calls it, enters the table. */
static void put(int place, Function function)
{
    __atomic_store_n(&replaced.functions[place], function, __ATOMIC_RELEASE);
}

#define REPLACE(name)                                                                         \
    (replaced.name = (__typeof__(replaced.name))replaced.functions[replaced.layout->name],    \
     put(replaced.layout->name, (Function)name))
#define RESTORE(name) put(replaced.layout->name, (Function)replaced.name)

void rw_pml_begin(void)
{
    Function *functions = rw_look_up("mca_pml");
    replaced.layout = functions ? find_layout() : NULL;
    known.connections = replaced.layout ? rw_allocate((size_t)rw_tracer.world_size, sizeof *known.connections) : NULL;
    if (!known.connections)
        return;
    replaced.functions = functions;
    REPLACE(del_comm);
    REPLACE(isend_init);
    REPLACE(isend);
    REPLACE(send);
    REPLACE(start);
}

void rw_pml_end(void)
{
    if (!replaced.functions)
        return;
    RESTORE(del_comm);
    RESTORE(isend_init);
    RESTORE(isend);
    RESTORE(send);
    RESTORE(start);
    replaced.functions = NULL;
}

#else /* no Open MPI: no PML */

void rw_pml_begin(void) {}
void rw_pml_end(void) {}

void rw_pml_started(int rank, uint64_t bytes)
{
    (void)rank;
    (void)bytes;
}

#endif
