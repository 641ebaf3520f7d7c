/* crc.h - CRC-32 as in IEEE 802.3 and zlib. */
#ifndef RANKWRIGHT_CRC_H
#define RANKWRIGHT_CRC_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Continues the checksum `crc` (0 at the begin) with these bytes. */
uint32_t rw_crc(uint32_t crc, const void *bytes, size_t length);

#pragma GCC visibility pop
#endif
