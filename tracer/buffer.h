/* buffer.h - growing bytes in the trace's encoding: little endian, strings with their length. */
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
void rw_put_u16(struct rw_buffer *buffer, uint16_t value);
void rw_put_u32(struct rw_buffer *buffer, uint32_t value);
void rw_put_u64(struct rw_buffer *buffer, uint64_t value);
void rw_put_f64(struct rw_buffer *buffer, double value);
void rw_put_string(struct rw_buffer *buffer, const char *string);
/* A list of world ranks, after its length; -1 becomes RW_OUTSIDE. */
void rw_put_ranks(struct rw_buffer *buffer, const int *ranks, int count);
void rw_free_buffer(struct rw_buffer *buffer);

#pragma GCC visibility pop
#endif
