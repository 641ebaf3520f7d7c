/* Counts the bytes that MPICH passes to UCX, by destination. Compiled together with collectives.c.
 *
 * UCX is given an endpoint, not a rank: before anything is counted each rank sends one message to each
 * other, and the endpoint that it passes through is that rank's. Messages within a node go through
 * MPICH's own shared memory and are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The beginning of UCX's ucp_request_param_t. */
struct parameters {
    uint32_t given, flags;
    void *request;
    void *callback;
    uint64_t datatype;
};
enum { DATATYPE_GIVEN = 1 << 3, CLASS = 7, MOST = 4096 };

/* What UCX's ucp_datatype_t points at, for datatypes that the caller packs. */
struct packed_datatype {
    void *context;
    void *(*start_pack)(void *context, const void *buffer, size_t number);
    void *(*start_unpack)(void *context, void *buffer, size_t number);
    size_t (*packed_size)(void *state);
    size_t (*pack)(void *state, size_t offset, void *to, size_t most);
    int (*unpack)(void *state, size_t offset, const void *from, size_t length);
    void (*finish)(void *state);
};

typedef void *send_function(void *, const void *, size_t, uint64_t, const struct parameters *);
send_function ucp_tag_send_nbx, ucp_tag_send_sync_nbx;
void rankwright_wire_bytes(uint64_t *by_rank, int ranks);

static void *endpoints[MOST];
static uint64_t sent[MOST];
static int known, learning = -1;

static size_t length_of(const void *buffer, size_t number, const struct parameters *given)
{
    if (!(given->given & DATATYPE_GIVEN))
        return number;
    if ((given->datatype & CLASS) == 0)
        return number * (given->datatype >> 3);
    if ((given->datatype & CLASS) != CLASS) {
        fprintf(stderr, "count_ucp: a datatype of unknown length\n");
        abort();
    }
    const struct packed_datatype *packed = (void *)(uintptr_t)(given->datatype & ~(uint64_t)CLASS);
    void *state = packed->start_pack(packed->context, buffer, number);
    /* Not finished: MPICH's finish gives back the datatype, which only the message itself has taken. */
    return packed->packed_size(state);
}

static void count(void *endpoint, size_t bytes)
{
    if (learning >= 0)
        endpoints[learning] = endpoint;
    for (int rank = 0; rank < known; rank++)
        if (endpoints[rank] == endpoint) {
            sent[rank] += bytes;
            return;
        }
}

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t number, uint64_t tag,
                       const struct parameters *given)
{
    static send_function *next;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    count(endpoint, length_of(buffer, number, given));
    return next(endpoint, buffer, number, tag, given);
}

void *ucp_tag_send_sync_nbx(void *endpoint, const void *buffer, size_t number, uint64_t tag,
                            const struct parameters *given)
{
    static send_function *next;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_tag_send_sync_nbx");
    count(endpoint, length_of(buffer, number, given));
    return next(endpoint, buffer, number, tag, given);
}

static void learn(int ranks)
{
    int me;
    char byte = 0;
    MPI_Request request;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int distance = 1; distance < ranks; distance++) {
        int to = (me + distance) % ranks, from = (me + ranks - distance) % ranks;
        PMPI_Irecv(&byte, 1, MPI_CHAR, from, 4711, MPI_COMM_WORLD, &request);
        learning = to;
        char mine = 1;
        PMPI_Send(&mine, 1, MPI_CHAR, to, 4711, MPI_COMM_WORLD);
        learning = -1;
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    known = ranks;
}

void rankwright_wire_bytes(uint64_t *by_rank, int ranks)
{
    if (!known)
        learn(ranks);
    for (int rank = 0; rank < ranks; rank++)
        by_rank[rank] = sent[rank];
}
