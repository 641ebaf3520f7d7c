/*
 * rank_list.h - lists of world ranks. A list with a constant stride (the world, its halves, rows and columns of a
 * grid) needs no array.
 */
#ifndef RANKWRIGHT_RANK_LIST_H
#define RANKWRIGHT_RANK_LIST_H

#include "../format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

struct rw_rank_list { /* all zero: empty */
    int count;
    int first;
    int stride;
    int *ranks; /* NULL: first, first + stride, ... */
};

/* The world rank at a position; -1: outside MPI_COMM_WORLD. */
static inline int rw_rank_at(const struct rw_rank_list *list, int i)
{
    return list->ranks ? list->ranks[i] : list->first + i * list->stride;
}

/* As above; -1 also for a position that the list does not have. */
static inline int rw_rank_at_or_outside(const struct rw_rank_list *list, int i)
{
    return i >= 0 && i < list->count ? rw_rank_at(list, i) : -1;
}

/* A list of `count` ranks; takes ownership of `ranks`. */
struct rw_rank_list rw_make_rank_list(int *ranks, int count);
void rw_free_rank_list(struct rw_rank_list *list);

bool rw_same_rank_list(const struct rw_rank_list *a, const struct rw_rank_list *b);
/* The lowest rank of the list in MPI_COMM_WORLD; `none` if none is below that. */
int rw_lowest_rank(const struct rw_rank_list *list, int none);
/* A hash of `digest`, the ranks and their order. */
uint64_t rw_digest_rank_list(uint64_t digest, const struct rw_rank_list *list);
/* The number of runs of the list, as trace_format.h defines them; stores them in `runs` unless that is NULL. */
uint32_t rw_find_runs(const struct rw_rank_list *list, struct rw_run *runs);

#pragma GCC visibility pop
#endif
