/* send and recv that do nothing once `no_kernel` is set: preloaded behind the tracer, they leave what its own part of a
 * call takes. */
#include <stddef.h>
#include <sys/socket.h>

int no_kernel;

ssize_t send(int socket, const void *from, size_t length, int flags)
{
    return no_kernel ? (ssize_t)length : sendto(socket, from, length, flags, NULL, 0);
}

ssize_t recv(int socket, void *to, size_t length, int flags)
{
    return no_kernel ? (ssize_t)length : recvfrom(socket, to, length, flags, NULL, NULL);
}
