#include "sockets.h"

#include "../format/transport_format.h"
#include "../mpi/mpi_library.h"
#include "../mpi/warning.h"
#include "../process/clock.h"
#include "../process/image.h"
#include "../process/state.h"
#include "../storage/allocate.h"
#include "../storage/arena.h"
#include "piece_file.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Descriptors from here on are not recorded. */
enum { MOST_DESCRIPTORS = 1 << 16 };
/* What is known of a descriptor; else the number of its connection plus FIRST. */
enum { UNKNOWN = 0, NOT_TCP = 1, FIRST = 2 };

static _Atomic bool on;

/* Guarded by the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct rw_piece_file file;
    uint64_t begin_ns;
    uint32_t *descriptors; /* by descriptor */
    uint32_t connections;
} transport;

/* A signal handler that sends while this thread holds the lock. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* ---- rows ---- */

static bool write_row(uint64_t time, uint32_t connection, uint32_t bytes)
{
    const struct rw_transport_row row = {time, connection, bytes};
    return rw_piece_file_write(&transport.file, &row, sizeof row);
}

/* The address as in IPv6; false if it is not one of the internet. */
static bool read_end(const struct sockaddr_storage *from, uint8_t address[16], uint32_t *port)
{
    memset(address, 0, 16);
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)from;
        address[10] = address[11] = 0xff;
        memcpy(address + 12, &in->sin_addr, 4);
        *port = ntohs(in->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;
        memcpy(address, &in->sin6_addr, 16);
        *port = ntohs(in->sin6_port);
    } else {
        return false;
    }
    return true;
}

static bool find_ends(int descriptor, struct rw_transport_ends *ends)
{
    struct sockaddr_storage own, other;
    socklen_t own_length = sizeof own, other_length = sizeof other, type_length = sizeof(int);
    int type = 0;
    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_length) == 0 && type == SOCK_STREAM
           && getsockname(descriptor, (struct sockaddr *)&own, &own_length) == 0
           && getpeername(descriptor, (struct sockaddr *)&other, &other_length) == 0
           && read_end(&own, ends->own, &ends->own_port) && read_end(&other, ends->other, &ends->other_port);
}

/* A descriptor is used for the first time. */
static bool define(int descriptor, uint64_t time)
{
    struct rw_transport_ends ends = {0};
    if (!find_ends(descriptor, &ends)) {
        transport.descriptors[descriptor] = NOT_TCP;
        return true;
    }
    transport.descriptors[descriptor] = transport.connections + FIRST;
    return write_row(time, transport.connections++, RW_TRANSPORT_CONNECTION)
           && rw_piece_file_write(&transport.file, &ends, sizeof ends);
}

_Static_assert(sizeof(struct rw_transport_ends) == 3 * sizeof(struct rw_transport_row), "as described");

static void record(int descriptor, ssize_t bytes, uint64_t now, uint32_t direction)
{
    const int error = errno;
    if (bytes <= 0 || descriptor < 0 || descriptor >= MOST_DESCRIPTORS || inside)
        return;
    inside = true;
    pthread_mutex_lock(&lock);
    if (atomic_load(&on)) {
        const uint64_t time = now > transport.begin_ns ? now - transport.begin_ns : 1;
        bool written = true;
        if (transport.descriptors[descriptor] == UNKNOWN)
            written = define(descriptor, time);
        const uint32_t known = transport.descriptors[descriptor];
        if (written && known >= FIRST)
            written = write_row(time, (known - FIRST) | direction, (uint32_t)bytes);
        if (!written) {
            atomic_store(&on, false);
            rw_warn("rank %d: the record of its TCP connections ends here: %s", rw_tracer.world_rank,
                    strerror(errno));
        }
    }
    pthread_mutex_unlock(&lock);
    inside = false;
    errno = error;
}

/* ---- the calls ---- */

/* Of libc, by number. */
enum { SEND, SENDMSG, WRITEV, RECV, RECVMSG, READV, CLOSE, CALLS };
static const char *const names[CALLS] = {"send", "sendmsg", "writev", "recv", "recvmsg", "readv", "close"};
static _Atomic(void *) addresses[CALLS];

/* Before main: looking up later, in a signal handler or a child, might not be safe. */
__attribute__((constructor)) static void look_up_calls(void)
{
    for (int call = 0; call < CALLS; call++)
        rw_next_symbol(&addresses[call], names[call]);
}

#define NEXT(result, call, parameters)                                             \
    result (*const next) parameters = (result(*) parameters)rw_next_symbol(&addresses[call], names[call])

#define SENDS(name, call, parameters, arguments, descriptor)                           \
    ssize_t name parameters                                                        \
    {                                                                              \
        NEXT(ssize_t, call, parameters);                                           \
        if (!atomic_load_explicit(&on, memory_order_relaxed))                      \
            return next arguments;                                                 \
        const uint64_t before = rw_nanoseconds(CLOCK_MONOTONIC);                   \
        const ssize_t bytes = next arguments;                                      \
        record(descriptor, bytes, before, 0);                                      \
        return bytes;                                                              \
    }

/* `taken`: the bytes do not stay in the socket (MSG_PEEK). */
#define RECEIVES(name, call, parameters, arguments, descriptor, taken)                 \
    ssize_t name parameters                                                        \
    {                                                                              \
        NEXT(ssize_t, call, parameters);                                           \
        const ssize_t bytes = next arguments;                                      \
        if (bytes > 0 && (taken) && atomic_load_explicit(&on, memory_order_relaxed)) \
            record(descriptor, bytes, rw_nanoseconds(CLOCK_MONOTONIC), RW_TRANSPORT_RECEIVED); \
        return bytes;                                                              \
    }

SENDS(send, SEND, (int socket, const void *from, size_t length, int flags), (socket, from, length, flags), socket)
SENDS(sendmsg, SENDMSG, (int socket, const struct msghdr *message, int flags), (socket, message, flags), socket)
SENDS(writev, WRITEV, (int file, const struct iovec *from, int count), (file, from, count), file)

RECEIVES(recv, RECV, (int socket, void *to, size_t length, int flags), (socket, to, length, flags), socket,
         !(flags & MSG_PEEK))
RECEIVES(recvmsg, RECVMSG, (int socket, struct msghdr *message, int flags), (socket, message, flags), socket,
         !(flags & MSG_PEEK))
RECEIVES(readv, READV, (int file, const struct iovec *to, int count), (file, to, count), file, true)

/* The descriptor may become another connection. */
int close(int descriptor)
{
    NEXT(int, CLOSE, (int descriptor));
    if (descriptor >= 0 && descriptor < MOST_DESCRIPTORS && atomic_load_explicit(&on, memory_order_relaxed)
        && !inside) {
        inside = true;
        pthread_mutex_lock(&lock);
        if (transport.descriptors)
            transport.descriptors[descriptor] = UNKNOWN;
        pthread_mutex_unlock(&lock);
        inside = false;
    }
    return next(descriptor);
}

/* ---- begin and end ---- */

static bool write_head(void)
{
    struct rw_transport_head head = {
        .version = RW_TRANSPORT_VERSION,
        .head_bytes = sizeof head,
        .rank = rw_image->rank,
        .world_size = rw_image->world_size,
        .run = rw_image->run,
        .start_unix_ns = rw_image->start_unix_ns,
        .begin_ns = rw_image->begin_ns,
    };
    memcpy(head.magic, RW_TRANSPORT_MAGIC, sizeof head.magic);
    return rw_piece_file_write(&transport.file, &head, sizeof head);
}

/* A forked child shares the file, and perhaps a lock that another thread held. */
static void in_child(void)
{
    atomic_store(&on, false);
}

static int begin(const char *folder)
{
    char name[32];
    snprintf(name, sizeof name, "rank-%d.transport", rw_tracer.world_rank);
    transport.begin_ns = rw_image->begin_ns;
    transport.descriptors = rw_allocate(MOST_DESCRIPTORS, sizeof *transport.descriptors);
    if (!transport.descriptors)
        return ENOMEM;
    const int error = rw_piece_file_begin(&transport.file, folder, name);
    if (error != 0)
        return error;
    if (!write_head())
        return errno;
    pthread_atfork(NULL, NULL, in_child);
    return 0;
}

void rw_sockets_begin(const char *folder)
{
    const int error = folder ? begin(folder) : 0;
    int largest = 0;
    PMPI_Allreduce(&error, &largest, 1, MPI_INT, MPI_MAX, rw_tracer.private_world);
    if (rw_tracer.world_rank == 0 && !folder)
        rw_warn("no record of TCP connections: it needs a spool folder, RANKWRIGHT_TRACE_SPOOL");
    else if (rw_tracer.world_rank == 0 && largest != 0)
        rw_warn("records of TCP connections are missing: no file in %s: %s", folder, strerror(largest));
    atomic_store(&on, folder && error == 0);
}

void rw_sockets_end(void)
{
    atomic_store(&on, false);
    pthread_mutex_lock(&lock);
    rw_piece_file_end(&transport.file);
    free(transport.descriptors);
    transport.descriptors = NULL;
    pthread_mutex_unlock(&lock);
}
