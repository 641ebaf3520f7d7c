/* sampler_one_sided.c - windows of all kinds, all transfers, all synchronization. */
#include "sampler.h"

#include <stdlib.h>

enum { LENGTH = 4096 };

/* Each transfer once, to rank `target` of the group of the window, which is world rank `world`. */
static void all_transfers(MPI_Win win, int target, int world)
{
    int one = 1, zero = 0, result;
    MPI_Win_lock_all(0, win);
    MPI_Put(outgoing, 10, MPI_INT, target, 0, 40, MPI_CHAR, win);
    expect_put(world, 40);
    MPI_Win_flush(target, win);
    MPI_Get(incoming, 44, MPI_CHAR, target, 0, 11, MPI_INT, win);
    expect_get(world, 44);
    MPI_Win_flush_local(target, win);
    MPI_Accumulate(outgoing, 12, MPI_INT, target, 0, 12, MPI_INT, MPI_SUM, win);
    expect_put(world, 48);
    MPI_Win_flush_all(win);
    MPI_Get_accumulate(outgoing, 13, MPI_INT, incoming, 13, MPI_INT, target, 0, 13, MPI_INT, MPI_SUM,
                       win);
    expect_put(world, 52);
    expect_get(world, 52);
    MPI_Win_flush_local_all(win);
    MPI_Fetch_and_op(&one, &result, MPI_INT, target, 0, MPI_SUM, win);
    expect_put(world, 4);
    expect_get(world, 4);
    MPI_Win_flush(target, win);
    MPI_Compare_and_swap(&one, &zero, &result, MPI_INT, target, 0, win);
    expect_put(world, 4);
    expect_get(world, 4);
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
}

/* No put: MPI ignores the origin arguments. */
static void fetch_only(MPI_Win win, int target, int world)
{
    int result;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, incoming, 7, MPI_INT, target, 0, 7, MPI_INT, MPI_NO_OP, win);
    expect_get(world, 28);
    MPI_Fetch_and_op(NULL, &result, MPI_INT, target, 0, MPI_NO_OP, win);
    expect_get(world, 4);
    MPI_Put(outgoing, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, win);
    MPI_Get(incoming, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, win);
    MPI_Win_unlock(target, win);
}

static void with_requests(MPI_Win win, int target, int world)
{
    MPI_Request request;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Rput(outgoing, 20, MPI_INT, target, 0, 20, MPI_INT, win, &request);
    expect_put(world, 80);
    finish(&request);
    MPI_Rget(incoming, 21, MPI_INT, target, 0, 21, MPI_INT, win, &request);
    expect_get(world, 84);
    finish(&request);
    MPI_Raccumulate(outgoing, 22, MPI_INT, target, 0, 22, MPI_INT, MPI_SUM, win, &request);
    expect_put(world, 88);
    finish(&request);
    MPI_Rget_accumulate(outgoing, 23, MPI_INT, incoming, 23, MPI_INT, target, 0, 23, MPI_INT, MPI_SUM,
                        win, &request);
    expect_put(world, 92);
    expect_get(world, 92);
    finish(&request);
    MPI_Win_unlock(target, win);
}

/* To the rank itself, and between fences. */
static void active(MPI_Win win, int own)
{
    MPI_Win_fence(0, win);
    MPI_Put(outgoing, 5, MPI_INT, own, 0, 5, MPI_INT, win);
    expect_put(rank, 20);
    MPI_Win_fence(0, win);
}

/* With the next and the previous rank of the group of the window only. */
static void general(MPI_Win win, int own, int world_next)
{
    MPI_Group group, to, from;
    const int next = (own + 1) % 4, previous = (own + 3) % 4;
    int flag = 0;
    MPI_Win_get_group(win, &group);
    MPI_Group_incl(group, 1, &next, &to);
    MPI_Group_incl(group, 1, &previous, &from);
    for (int round = 0; round < 2; round++) {
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(outgoing, 30 + round, MPI_CHAR, next, 0, 30 + round, MPI_CHAR, win);
        expect_put(world_next, 30 + round);
        MPI_Win_complete(win);
        if (round == 0)
            MPI_Win_wait(win);
        else
            while (!flag)
                MPI_Win_test(win, &flag);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&group);
}

void sample_one_sided(void)
{
    MPI_Comm backwards;
    MPI_Win win;
    char *memory = calloc(LENGTH, 1), *allocated;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    const int own = 3 - rank, next = (own + 1) % 4, world_next = 3 - next;

    MPI_Win_create(memory, LENGTH, 1, MPI_INFO_NULL, backwards, &win);
    all_transfers(win, next, world_next);
    fetch_only(win, next, world_next);
    active(win, own);
    general(win, own, world_next);
    MPI_Win_free(&win);

    MPI_Win_allocate(LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
    all_transfers(win, (rank + 1) % 4, (rank + 1) % 4);
    with_requests(win, (rank + 2) % 4, (rank + 2) % 4);
    MPI_Win_free(&win);

    MPI_Win_allocate_shared(LENGTH, 1, MPI_INFO_NULL, backwards, &allocated, &win);
    active(win, own);
    MPI_Win_free(&win);

    MPI_Aint address;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_attach(win, memory, LENGTH);
    MPI_Get_address(memory, &address);
    MPI_Win_fence(0, win);
    MPI_Put(outgoing, 9, MPI_CHAR, 0, address, 9, MPI_CHAR, win);
    expect_put(rank, 9);
    MPI_Win_fence(0, win);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);

    MPI_Comm_free(&backwards);
    free(memory);
}
