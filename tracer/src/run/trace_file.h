/* trace_file.h - the trace file on rank 0: written under a temporary name, then renamed; one warning if that fails. */
#ifndef RANKWRIGHT_TRACE_FILE_H
#define RANKWRIGHT_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Opens PATH.tmp.PID and writes the head. False: failed, and has warned. */
bool rw_file_open(const char *path, uint32_t world_size);
/* A failure is stored until rw_file_close; further calls do nothing. */
void rw_file_write(const void *bytes, size_t length);
/* Stores the first reason why the trace is not written. */
void rw_file_fail(const char *reason);
/* Writes the tail and renames the file; after a failure warns and removes it. An existing trace is never replaced: then
 * it creates PATH.again. */
bool rw_file_close(void);

#pragma GCC visibility pop
#endif
