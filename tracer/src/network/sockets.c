#include "sockets.h"

#include "../mpi/mpi_library.h"
#include "../process/clock.h"
#include "../storage/allocate.h"
#include "transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Descriptors from here on are not recorded. */
enum { MOST_DESCRIPTORS = 1 << 16 };
/* What is known of a descriptor; else the number of its connection plus FIRST. */
enum { UNKNOWN = 0, NOT_TCP = 1, FIRST = 2 };

/* By descriptor; NULL: nothing is recorded. Guarded by the lock of the transport file. */
static uint32_t *descriptors;

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
static void define(int descriptor, uint64_t now)
{
    struct rw_transport_ends ends = {0};
    uint32_t connection;
    if (!find_ends(descriptor, &ends))
        descriptors[descriptor] = NOT_TCP;
    else if (rw_transport_connect(now, &ends, &connection))
        descriptors[descriptor] = connection + FIRST;
}

static void record(int descriptor, ssize_t bytes, uint64_t now, uint32_t direction)
{
    const int error = errno;
    if (bytes <= 0 || descriptor < 0 || descriptor >= MOST_DESCRIPTORS || !rw_transport_lock())
        return;
    if (atomic_load(&rw_transport_on) && descriptors) {
        if (descriptors[descriptor] == UNKNOWN)
            define(descriptor, now);
        const uint32_t known = descriptors[descriptor];
        if (known >= FIRST)
            rw_transport_pass(now, (known - FIRST) | direction, (uint64_t)bytes);
    }
    rw_transport_unlock();
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
        if (!atomic_load_explicit(&rw_transport_on, memory_order_relaxed))                      \
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
        if (bytes > 0 && (taken) && atomic_load_explicit(&rw_transport_on, memory_order_relaxed)) \
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
    if (descriptor >= 0 && descriptor < MOST_DESCRIPTORS
        && atomic_load_explicit(&rw_transport_on, memory_order_relaxed) && rw_transport_lock()) {
        if (descriptors)
            descriptors[descriptor] = UNKNOWN;
        rw_transport_unlock();
    }
    return next(descriptor);
}

/* ---- begin and end ---- */

void rw_sockets_begin(void)
{
    if (!rw_transport_lock())
        return;
    descriptors = rw_allocate(MOST_DESCRIPTORS, sizeof *descriptors);
    rw_transport_unlock();
}

void rw_sockets_end(void)
{
    if (!rw_transport_lock())
        return;
    free(descriptors);
    descriptors = NULL;
    rw_transport_unlock();
}
