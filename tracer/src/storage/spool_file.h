/*
 * spool_file.h - a file that grows piece by piece and is written by storing into memory.
 *
 * A piece is mapped only when its blocks are reserved: a full disk would otherwise end the program with
 * SIGBUS at some later store. What was stored is the kernel's: it outlives a process that is killed.
 */
#ifndef RANKWRIGHT_SPOOL_FILE_H
#define RANKWRIGHT_SPOOL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct rw_spool_file { /* all zero: none */
    char *path;
    dev_t device;
    ino_t inode;
    size_t size; /* of all pieces */
};

/* Makes folder/name, and the folder itself if only that is missing. Returns 0 or an error number. */
int rw_spool_create(struct rw_spool_file *file, const char *folder, const char *name);
/* The next `size` bytes, a multiple of 64 KiB, all zero; NULL with errno set. */
uint8_t *rw_spool_map_more(struct rw_spool_file *file, size_t size);
/* Drops what lies behind the first `length` bytes. */
void rw_spool_cut(const struct rw_spool_file *file, size_t length);
void rw_spool_remove(const struct rw_spool_file *file);

#pragma GCC visibility pop
#endif
