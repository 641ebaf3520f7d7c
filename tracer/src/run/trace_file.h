/* trace_file.h - the file on rank 0: temporary name, checksum, then renamed; or one warning. */
#ifndef RANKWRIGHT_TRACE_FILE_H
#define RANKWRIGHT_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Opens path.tmp.PID and writes the head. False: warned. */
bool rw_file_open(const char *path, uint32_t world_size);
/* A failure is kept to the end, so that the ranks still sending need not care. */
void rw_file_write(const void *bytes, size_t length);
/* Keeps the first reason why there will be no trace. */
void rw_file_fail(const char *reason);
/* Writes the tail and gives the file its name, or warns and removes it; never over a file that is there: then
 * PATH.again says so. */
bool rw_file_close(void);

#pragma GCC visibility pop
#endif
