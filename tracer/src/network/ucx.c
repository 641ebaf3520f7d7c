#include "ucx.h"

#include "../mpi/warning.h"
#include "../process/clock.h"
#include "../storage/allocate.h"
#include "../storage/hash_table.h"
#include "transport.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is needed of UCX's interface, which keeps its layout: the machine that builds this may not have UCX ---- */

typedef void *Endpoint;
typedef void *Worker;
typedef void *Request;      /* NULL: done; from LAST_ERROR on: an error */
typedef signed char Status; /* a packed enumeration; negative: an error */

static const uintptr_t LAST_ERROR = (uintptr_t)-100;

enum { FIELD_REMOTE_ADDRESS = 1 };
struct endpoint_parameters {
    uint64_t fields;
    const uint8_t *address;
};

enum { FIELD_WORKER_ADDRESS = 2 };
struct worker_attributes {
    uint64_t fields;
    uint32_t thread_mode;
    uint32_t address_flags;
    const uint8_t *address;
};

enum { FIELD_DATATYPE = 8 };
struct parameters { /* of a request */
    uint32_t fields;
    uint32_t flags;
    void *request;
    void *callback;
    uint64_t datatype;
};

/* The three low bits of a data type. */
enum { CONTIGUOUS = 0, PIECES = 2, GENERIC = 7, CLASS_BITS = 3, CLASS_MASK = 7 };
struct piece {
    const void *buffer;
    size_t length;
};
struct packing { /* of a generic type */
    void *(*start_pack)(void *context, const void *buffer, size_t count);
    void *(*start_unpack)(void *context, void *buffer, size_t count);
    size_t (*packed_size)(void *state);
    size_t (*pack)(void *state, size_t offset, void *to, size_t length);
    Status (*unpack)(void *state, size_t offset, const void *from, size_t length);
    void (*finish)(void *state);
};

/* ---- what is known ---- */

struct endpoint {
    uint64_t worker; /* of the other process; 0: unknown */
    uint32_t connection;
    bool connected;
};
enum { MOST_WORKERS = 64 };

/* Guarded by the lock of the transport file. MPI_Init makes workers and endpoints before anything is recorded. */
static struct {
    struct rw_table endpoints;
    struct rw_table generic_types; /* struct generic_type by data type */
    uint64_t workers[MOST_WORKERS]; /* of this process */
    int worker_count;
} known;

/* The old functions of UCX call the new ones. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* Whether sends will be recorded: from before MPI_Init, which empties the variable. */
static bool is_wanted(void)
{
    static _Atomic int answer; /* 1: no, 2: yes */
    if (atomic_load(&answer) == 0) {
        const char *options = getenv("RANKWRIGHT_TRACE_OPTIONS");
        atomic_store(&answer, options && strstr(options, "transport") ? 2 : 1);
    }
    return atomic_load(&answer) == 2;
}

/* The part of a worker's address that no other worker has: seven bytes of a number of eight, which begins at the second or
 * the third byte, depending on the version of the address. The rest differs between addresses of the same worker. */
static uint64_t worker_of(const uint8_t *address)
{
    uint64_t worker = 0;
    memcpy(&worker, address + 2, 7);
    return worker;
}

static void announce(uint64_t worker)
{
    struct rw_transport_ends ends = {.own_port = RW_TRANSPORT_UCX, .other_port = RW_TRANSPORT_UCX};
    uint32_t connection;
    memcpy(ends.own, &worker, sizeof worker);
    rw_transport_connect(rw_nanoseconds(CLOCK_MONOTONIC), &ends, &connection);
}

void rw_ucx_begin(void)
{
    if (!rw_transport_lock())
        return;
    for (int i = 0; i < known.worker_count && atomic_load(&rw_transport_on); i++)
        announce(known.workers[i]);
    rw_transport_unlock();
}

static void note_worker(const uint8_t *address)
{
    const uint64_t worker = worker_of(address);
    if (!rw_transport_lock())
        return;
    int i = 0;
    while (i < known.worker_count && known.workers[i] != worker)
        i++;
    if (i == known.worker_count && i < MOST_WORKERS) {
        known.workers[known.worker_count++] = worker;
        if (atomic_load(&rw_transport_on))
            announce(worker);
    }
    rw_transport_unlock();
}

static void note_endpoint(Endpoint made, const struct endpoint_parameters *parameters)
{
    const uint64_t worker = parameters->fields & FIELD_REMOTE_ADDRESS ? worker_of(parameters->address) : 0;
    if (!rw_transport_lock())
        return;
    /* The place of an endpoint that was closed is used again. */
    struct endpoint *endpoint = rw_table_find(&known.endpoints, (uintptr_t)made);
    if (endpoint) {
        *endpoint = (struct endpoint){.worker = worker};
    } else {
        endpoint = rw_allocate(1, sizeof *endpoint);
        if (endpoint)
            endpoint->worker = worker;
        if (endpoint && !rw_table_insert(&known.endpoints, (uintptr_t)made, endpoint))
            free(endpoint);
    }
    rw_transport_unlock();
}

/* ---- generic types: how long a message is only its type knows, which UCX asks while it sends ---- */

struct generic_type {
    struct packing packing;
    void *context;
};
struct packing_state {
    const struct packing *packing;
    void *state;
};

static _Thread_local size_t last_packed_size __attribute__((tls_model("initial-exec")));

static struct packing_state *keep_state(const struct generic_type *type, void *state)
{
    struct packing_state *kept = malloc(sizeof *kept);
    if (!kept)
        abort();
    *kept = (struct packing_state){&type->packing, state};
    return kept;
}

static void *start_pack(void *context, const void *buffer, size_t count)
{
    const struct generic_type *type = context;
    return keep_state(type, type->packing.start_pack(type->context, buffer, count));
}

static void *start_unpack(void *context, void *buffer, size_t count)
{
    const struct generic_type *type = context;
    return keep_state(type, type->packing.start_unpack(type->context, buffer, count));
}

static size_t packed_size(void *state)
{
    const struct packing_state *kept = state;
    return last_packed_size = kept->packing->packed_size(kept->state);
}

static size_t pack(void *state, size_t offset, void *to, size_t length)
{
    const struct packing_state *kept = state;
    return kept->packing->pack(kept->state, offset, to, length);
}

static Status unpack(void *state, size_t offset, const void *from, size_t length)
{
    const struct packing_state *kept = state;
    return kept->packing->unpack(kept->state, offset, from, length);
}

static void finish(void *state)
{
    struct packing_state *kept = state;
    kept->packing->finish(kept->state);
    free(kept);
}

static const struct packing watched = {start_pack, start_unpack, packed_size, pack, unpack, finish};

/* ---- sends ---- */

static uint64_t bytes_of(uint64_t datatype, const void *buffer, size_t count)
{
    uint64_t bytes = 0;
    switch (datatype & CLASS_MASK) {
    case CONTIGUOUS:
        return (datatype >> CLASS_BITS) * count;
    case PIECES:
        for (size_t i = 0; i < count; i++)
            bytes += ((const struct piece *)buffer)[i].length;
        return bytes;
    case GENERIC:
        return last_packed_size;
    default:
        return 0;
    }
}

/* Without a type, the count is in bytes. */
static uint64_t bytes_with(const struct parameters *parameters, const void *buffer, size_t count)
{
    return parameters->fields & FIELD_DATATYPE ? bytes_of(parameters->datatype, buffer, count) : count;
}

static bool connect_endpoint(struct endpoint *endpoint, uint64_t now)
{
    struct rw_transport_ends ends = {.own_port = RW_TRANSPORT_UCX, .other_port = RW_TRANSPORT_UCX};
    memcpy(ends.other, &endpoint->worker, sizeof endpoint->worker);
    endpoint->connected = rw_transport_connect(now, &ends, &endpoint->connection);
    return endpoint->connected;
}

static void record(Endpoint to, uint64_t now, uint64_t bytes, uint32_t direction)
{
    if (bytes == 0 || !rw_transport_lock())
        return;
    struct endpoint *endpoint = rw_table_find(&known.endpoints, (uintptr_t)to);
    if (endpoint && endpoint->worker != 0 && atomic_load(&rw_transport_on)
        && (endpoint->connected || connect_endpoint(endpoint, now)))
        rw_transport_pass(now, endpoint->connection | direction, bytes);
    rw_transport_unlock();
}

/* ---- the functions ---- */

/* A plug-in of the MPI library may have loaded UCX for itself, which RTLD_NEXT does not see. */
static void *find_function(_Atomic(void *) *cached, const char *name)
{
    void *function = atomic_load_explicit(cached, memory_order_acquire);
    if (function)
        return function;
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    function = library ? dlsym(library, name) : dlsym(RTLD_NEXT, name);
    if (!function) {
        rw_warn("%s: not found in libucp.so.0", name);
        abort();
    }
    atomic_store_explicit(cached, function, memory_order_release);
    return function;
}

#define NEXT(result, name, parameters)                                          \
    static _Atomic(void *) address;                                             \
    result (*const next) parameters = (result(*) parameters)find_function(&address, name)

static bool accepted_request(Request request)
{
    return (uintptr_t)request < LAST_ERROR;
}

static bool accepted_status(Status status)
{
    return status >= 0;
}

#define PASSES(result, accepted, name, parameters, arguments, bytes, direction)         \
    result name parameters                                                          \
    {                                                                               \
        NEXT(result, #name, parameters);                                            \
        if (!atomic_load_explicit(&rw_transport_on, memory_order_relaxed) || inside)\
            return next arguments;                                                  \
        const uint64_t now = rw_nanoseconds(CLOCK_MONOTONIC);                       \
        inside = true;                                                              \
        const result done = next arguments;                                         \
        inside = false;                                                             \
        if (accepted(done))                                                         \
            record(to, now, bytes, direction);                                      \
        return done;                                                                \
    }

#define REQUESTS(...) PASSES(Request, accepted_request, __VA_ARGS__)
#define FINISHES(...) PASSES(Status, accepted_status, __VA_ARGS__)

REQUESTS(ucp_tag_send_nbx,
         (Endpoint to, const void *buffer, size_t count, uint64_t tag, const struct parameters *parameters),
         (to, buffer, count, tag, parameters), bytes_with(parameters, buffer, count), 0)
REQUESTS(ucp_tag_send_sync_nbx,
         (Endpoint to, const void *buffer, size_t count, uint64_t tag, const struct parameters *parameters),
         (to, buffer, count, tag, parameters), bytes_with(parameters, buffer, count), 0)
REQUESTS(ucp_tag_send_nb,
         (Endpoint to, const void *buffer, size_t count, uint64_t datatype, uint64_t tag, void *callback),
         (to, buffer, count, datatype, tag, callback), bytes_of(datatype, buffer, count), 0)
REQUESTS(ucp_tag_send_sync_nb,
         (Endpoint to, const void *buffer, size_t count, uint64_t datatype, uint64_t tag, void *callback),
         (to, buffer, count, datatype, tag, callback), bytes_of(datatype, buffer, count), 0)
FINISHES(ucp_tag_send_nbr,
         (Endpoint to, const void *buffer, size_t count, uint64_t datatype, uint64_t tag, void *request),
         (to, buffer, count, datatype, tag, request), bytes_of(datatype, buffer, count), 0)

REQUESTS(ucp_am_send_nbx,
         (Endpoint to, unsigned id, const void *header, size_t header_length, const void *buffer, size_t count,
          const struct parameters *parameters),
         (to, id, header, header_length, buffer, count, parameters),
         header_length + bytes_with(parameters, buffer, count), 0)
REQUESTS(ucp_am_send_nb,
         (Endpoint to, uint16_t id, const void *buffer, size_t count, uint64_t datatype, void *callback, unsigned flags),
         (to, id, buffer, count, datatype, callback, flags), bytes_of(datatype, buffer, count), 0)

REQUESTS(ucp_put_nbx,
         (Endpoint to, const void *buffer, size_t count, uint64_t remote, void *key, const struct parameters *parameters),
         (to, buffer, count, remote, key, parameters), bytes_with(parameters, buffer, count), 0)
REQUESTS(ucp_put_nb, (Endpoint to, const void *buffer, size_t length, uint64_t remote, void *key, void *callback),
         (to, buffer, length, remote, key, callback), length, 0)
FINISHES(ucp_put_nbi, (Endpoint to, const void *buffer, size_t length, uint64_t remote, void *key),
         (to, buffer, length, remote, key), length, 0)
FINISHES(ucp_put, (Endpoint to, const void *buffer, size_t length, uint64_t remote, void *key),
         (to, buffer, length, remote, key), length, 0)

REQUESTS(ucp_get_nbx,
         (Endpoint to, void *buffer, size_t count, uint64_t remote, void *key, const struct parameters *parameters),
         (to, buffer, count, remote, key, parameters), bytes_with(parameters, buffer, count), RW_TRANSPORT_RECEIVED)
REQUESTS(ucp_get_nb, (Endpoint to, void *buffer, size_t length, uint64_t remote, void *key, void *callback),
         (to, buffer, length, remote, key, callback), length, RW_TRANSPORT_RECEIVED)
FINISHES(ucp_get_nbi, (Endpoint to, void *buffer, size_t length, uint64_t remote, void *key),
         (to, buffer, length, remote, key), length, RW_TRANSPORT_RECEIVED)
FINISHES(ucp_get, (Endpoint to, void *buffer, size_t length, uint64_t remote, void *key),
         (to, buffer, length, remote, key), length, RW_TRANSPORT_RECEIVED)

Status ucp_ep_create(Worker worker, const struct endpoint_parameters *parameters, Endpoint *made)
{
    NEXT(Status, "ucp_ep_create", (Worker worker, const struct endpoint_parameters *parameters, Endpoint *made));
    const Status status = next(worker, parameters, made);
    if (status == 0 && is_wanted())
        note_endpoint(*made, parameters);
    return status;
}

Status ucp_worker_get_address(Worker worker, uint8_t **its, size_t *length)
{
    NEXT(Status, "ucp_worker_get_address", (Worker worker, uint8_t * *its, size_t * length));
    const Status status = next(worker, its, length);
    if (status == 0 && is_wanted())
        note_worker(*its);
    return status;
}

Status ucp_worker_query(Worker worker, struct worker_attributes *attributes)
{
    NEXT(Status, "ucp_worker_query", (Worker worker, struct worker_attributes * attributes));
    const Status status = next(worker, attributes);
    if (status == 0 && is_wanted() && attributes->fields & FIELD_WORKER_ADDRESS)
        note_worker(attributes->address);
    return status;
}

Status ucp_dt_create_generic(const struct packing *packing, void *context, uint64_t *datatype)
{
    NEXT(Status, "ucp_dt_create_generic", (const struct packing *packing, void *context, uint64_t *datatype));
    struct generic_type *type = is_wanted() ? malloc(sizeof *type) : NULL;
    if (!type)
        return next(packing, context, datatype);
    *type = (struct generic_type){*packing, context};
    const Status status = next(&watched, type, datatype);
    if (status != 0) {
        free(type);
    } else if (rw_transport_lock()) {
        /* Without its place in the table it is only never freed. */
        rw_table_insert(&known.generic_types, *datatype, type);
        rw_transport_unlock();
    }
    return status;
}

void ucp_dt_destroy(uint64_t datatype)
{
    NEXT(void, "ucp_dt_destroy", (uint64_t datatype));
    next(datatype);
    if (rw_transport_lock()) {
        free(rw_table_remove(&known.generic_types, datatype));
        rw_transport_unlock();
    }
}
