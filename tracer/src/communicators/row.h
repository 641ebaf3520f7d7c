/* row.h - the bytes that one call sends to each destination. */
#ifndef RANKWRIGHT_ROW_H
#define RANKWRIGHT_ROW_H

#include "rank_list.h"

/* The bytes that one call sends to each of these world ranks; -1: outside MPI_COMM_WORLD. */
struct rw_row {
    struct rw_rank_list destinations;
    uint64_t *bytes;
};

#endif
