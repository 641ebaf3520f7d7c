/*
 * arena.h - where the records of this rank lie, one after the other: struct rw_image first.
 *
 * With a spool folder it is a file mapped piece by piece, so that the kernel keeps what was recorded when
 * the rank is killed. A piece is mapped only when its blocks are reserved: a full disk would otherwise end
 * the program with SIGBUS at some later store. Where the file cannot grow, memory takes its place.
 */
#ifndef RANKWRIGHT_ARENA_H
#define RANKWRIGHT_ARENA_H

#include "../format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The image of this rank: before rw_arena_begin, and when there is no memory, one that nobody reads. */
extern struct rw_image *rw_image;

/* Makes folder/rank-N.rwr, and the folder itself if only that is missing; NULL: memory only. Returns 0,
 * or the error number for which there is no file. */
int rw_arena_begin(const char *folder, int rank);

/* A new record of this kind, `size` bytes: the first `filled` as in `content`, but for its head, zeros behind
 * them. A rank may be killed before it stores more: what readers rely on stands in the content. NULL: out of
 * memory. Any thread. */
void *rw_arena_add(enum rw_record_kind kind, const void *content, size_t filled, size_t size);

/* Every record in the order of its making: NULL asks for the first, NULL answers the end. */
struct rw_record *rw_arena_next(struct rw_record *record);

/* The image is complete: nothing is added any more. Keeps the spool file, without the unused bytes at
 * its end, or removes it. */
void rw_arena_end(bool keep);

#pragma GCC visibility pop
#endif
