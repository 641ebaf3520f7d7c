#include "buffer.h"

#include "allocate.h"
#include "trace_format.h"

#include <stdlib.h>
#include <string.h>

void rw_put_bytes(struct rw_buffer *buffer, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    if (buffer->length + length > buffer->capacity) {
        const size_t capacity = 2 * buffer->capacity + length + 256;
        uint8_t *larger = rw_reallocate(buffer->bytes, capacity, 1);
        if (!larger)
            return;
        buffer->bytes = larger;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

static void put_integer(struct rw_buffer *buffer, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    rw_put_bytes(buffer, bytes, size);
}

void rw_put_u16(struct rw_buffer *buffer, uint16_t value)
{
    put_integer(buffer, value, 2);
}

void rw_put_u32(struct rw_buffer *buffer, uint32_t value)
{
    put_integer(buffer, value, 4);
}

void rw_put_u64(struct rw_buffer *buffer, uint64_t value)
{
    put_integer(buffer, value, 8);
}

void rw_put_f64(struct rw_buffer *buffer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    rw_put_u64(buffer, bits);
}

void rw_put_string(struct rw_buffer *buffer, const char *string)
{
    const size_t length = strlen(string);
    rw_put_u32(buffer, (uint32_t)length);
    rw_put_bytes(buffer, string, length);
}

void rw_put_ranks(struct rw_buffer *buffer, const int *ranks, int count)
{
    rw_put_u32(buffer, (uint32_t)count);
    for (int i = 0; i < count; i++)
        rw_put_u32(buffer, ranks[i] < 0 ? RW_OUTSIDE : (uint32_t)ranks[i]);
}

void rw_free_buffer(struct rw_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct rw_buffer){NULL, 0, 0};
}
