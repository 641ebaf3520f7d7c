#include "crc.h"

#include <pthread.h>

static uint32_t table[256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
        table[i] = crc;
    }
}

uint32_t rw_crc(uint32_t crc, const void *bytes, size_t length)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *next = bytes;
    pthread_once(&once, make_table);
    crc = ~crc;
    for (size_t i = 0; i < length; i++)
        crc = (crc >> 8) ^ table[(crc ^ next[i]) & 0xff];
    return ~crc;
}
