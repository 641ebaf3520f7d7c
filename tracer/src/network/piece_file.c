#include "piece_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECE = 64 << 10 };

static bool map_piece(struct rw_piece_file *file)
{
    uint8_t *piece = rw_spool_map_more(&file->file, PIECE);
    if (!piece)
        return false;
    if (file->piece)
        munmap(file->piece, PIECE);
    file->piece = piece;
    file->used = 0;
    return true;
}

int rw_piece_file_begin(struct rw_piece_file *file, const char *folder, const char *name)
{
    const int error = rw_spool_create(&file->file, folder, name);
    if (error != 0)
        return error;
    return map_piece(file) ? 0 : errno;
}

bool rw_piece_file_write(struct rw_piece_file *file, const void *from, size_t length)
{
    const uint8_t *bytes = from;
    while (length > 0) {
        if (file->used == PIECE && !map_piece(file))
            return false;
        const size_t part = length < PIECE - file->used ? length : PIECE - file->used;
        memcpy(file->piece + file->used, bytes, part);
        file->used += part;
        bytes += part;
        length -= part;
    }
    return true;
}

void rw_piece_file_end(struct rw_piece_file *file)
{
    if (!file->piece)
        return;
    const size_t length = file->file.size - PIECE + file->used;
    munmap(file->piece, PIECE);
    file->piece = NULL;
    rw_spool_cut(&file->file, length);
}
