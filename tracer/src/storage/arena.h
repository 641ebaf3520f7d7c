/*
 * arena.h - the memory that holds the records of this rank, in sequence: struct rw_image first.
 *
 * With a spool folder it is a file mapped piece by piece, so that the records outlive a rank that is killed. The
 * blocks of a piece are reserved before it is mapped: otherwise a full disk would end the program with SIGBUS at
 * some later store. Where the file cannot grow, anonymous memory takes its place.
 */
#ifndef RANKWRIGHT_ARENA_H
#define RANKWRIGHT_ARENA_H

#include "../format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The image of this rank. Before rw_arena_begin, and without memory, a dummy that is never read. */
extern struct rw_image *rw_image;

/* Creates folder/rank-N.rwr, and the folder if necessary; folder NULL: memory only. Returns 0, or an error number if
 * there is no file. */
int rw_arena_begin(const char *folder, int rank);

/* Adds a record of `size` bytes: the first `filled` are those of `content`, but for the record's head, which is filled
 * in; the rest are zeros. `content` must have all that readers rely on: the rank may be killed before it stores more.
 * NULL: out of memory. Thread-safe. */
void *rw_arena_add(enum rw_record_kind kind, const void *content, size_t filled, size_t size);

/* Iterates over the records in the order of their creation: NULL yields the first, the result NULL is the end. */
struct rw_record *rw_arena_next(struct rw_record *record);

/* After the last record: keeps the spool file, without the unused bytes at its end, or removes it. */
void rw_arena_end(bool keep);

#pragma GCC visibility pop
#endif
