/* row.h - what one call sends to each of several ranks. */
#ifndef RANKWRIGHT_ROW_H
#define RANKWRIGHT_ROW_H

#include "rank_list.h"

/* What one call sends to each of some world ranks; -1 stands for no one in the trace. */
struct rw_row {
    struct rw_rank_list destinations;
    uint64_t *bytes;
};

#endif
