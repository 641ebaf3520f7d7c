#include "buffer.h"

#include "allocate.h"

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

void rw_free_buffer(struct rw_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct rw_buffer){NULL, 0, 0};
}
