/*
 * spool_file.h - a file that grows piece by piece and is written through memory maps.
 *
 * The blocks of a piece are reserved before it is mapped: otherwise a full disk would end the program with SIGBUS at
 * some later store. Stored bytes are in the page cache: they outlive a process that is killed.
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

/* Creates folder/name, and the folder if necessary. Returns 0 or an error number. */
int rw_spool_create(struct rw_spool_file *file, const char *folder, const char *name);
/* Maps `size` more bytes, a multiple of 64 KiB, all zero. On failure NULL, with errno set. */
uint8_t *rw_spool_map_more(struct rw_spool_file *file, size_t size);
/* Truncates the file to `length` bytes. */
void rw_spool_cut(const struct rw_spool_file *file, size_t length);
void rw_spool_remove(const struct rw_spool_file *file);

#pragma GCC visibility pop
#endif
