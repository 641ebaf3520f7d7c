/* buffer.h - growing bytes. */
#ifndef RANKWRIGHT_BUFFER_H
#define RANKWRIGHT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct rw_buffer { /* all zero: empty */
    uint8_t *bytes;
    size_t length;
    size_t capacity;
};

/* Out of memory is remembered by allocate.h; the buffer then lacks what did not fit. */
void rw_put_bytes(struct rw_buffer *buffer, const void *bytes, size_t length);
void rw_free_buffer(struct rw_buffer *buffer);

#pragma GCC visibility pop
#endif
