#include "rank_list.h"

#include <stdlib.h>

/* The longest run that begins at position `from`. */
static struct rw_run longest_run(const struct rw_rank_list *list, int from)
{
    struct rw_run run = {rw_rank_at(list, from), 0, 1};
    int latest = run.first;
    for (int i = from + 1; i < list->count; i++, run.count++) {
        const int next = rw_rank_at(list, i);
        if (run.count == 1)
            run.stride = next - latest;
        else if (next - latest != run.stride)
            break;
        latest = next;
    }
    return run;
}

struct rw_rank_list rw_make_rank_list(int *ranks, int count)
{
    struct rw_rank_list list = {count, 0, 0, ranks};
    if (count == 0 || longest_run(&list, 0).count == (uint32_t)count) {
        const struct rw_run run = count > 0 ? longest_run(&list, 0) : (struct rw_run){0, 0, 0};
        list = (struct rw_rank_list){count, run.first, run.stride, NULL};
        free(ranks);
    }
    return list;
}

void rw_free_rank_list(struct rw_rank_list *list)
{
    free(list->ranks);
    *list = (struct rw_rank_list){0, 0, 0, NULL};
}

bool rw_same_rank_list(const struct rw_rank_list *a, const struct rw_rank_list *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (rw_rank_at(a, i) != rw_rank_at(b, i))
            return false;
    return true;
}

int rw_lowest_rank(const struct rw_rank_list *list, int none)
{
    int lowest = none;
    for (int i = 0; i < list->count; i++) {
        const int rank = rw_rank_at(list, i);
        if (rank >= 0 && rank < lowest)
            lowest = rank;
    }
    return lowest;
}

uint64_t rw_digest_rank_list(uint64_t digest, const struct rw_rank_list *list)
{
    digest = (digest ^ (uint64_t)list->count) * 0x100000001b3u;
    for (int i = 0; i < list->count; i++) {
        digest = (digest ^ (uint32_t)rw_rank_at(list, i)) * 0x9e3779b97f4a7c15u;
        digest ^= digest >> 29;
    }
    return digest;
}

uint32_t rw_find_runs(const struct rw_rank_list *list, struct rw_run *runs)
{
    uint32_t count = 0;
    for (int done = 0; done < list->count; count++) {
        const struct rw_run run = longest_run(list, done);
        if (runs)
            runs[count] = run;
        done += (int)run.count;
    }
    return count;
}
