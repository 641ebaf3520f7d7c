/* buffer.h - a byte buffer that grows. */
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

/* Out of memory sets rw_out_of_memory; the buffer then lacks these bytes. */
void rw_put_bytes(struct rw_buffer *buffer, const void *bytes, size_t length);
void rw_free_buffer(struct rw_buffer *buffer);

#pragma GCC visibility pop
#endif
