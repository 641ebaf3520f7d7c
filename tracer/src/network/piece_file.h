/*
 * piece_file.h - a spool file that is written byte after byte. One piece of it is mapped at a time, so memory is bounded.
 */
#ifndef RANKWRIGHT_PIECE_FILE_H
#define RANKWRIGHT_PIECE_FILE_H

#include "../storage/spool_file.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)

struct rw_piece_file { /* all zero: none */
    struct rw_spool_file file;
    uint8_t *piece;
    size_t used; /* bytes of the piece */
};

/* Returns 0 or an error number. */
int rw_piece_file_begin(struct rw_piece_file *file, const char *folder, const char *name);
/* False, with errno set, if the file cannot grow. */
bool rw_piece_file_write(struct rw_piece_file *file, const void *bytes, size_t length);
void rw_piece_file_end(struct rw_piece_file *file);

#pragma GCC visibility pop
#endif
