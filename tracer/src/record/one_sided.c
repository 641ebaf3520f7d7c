#include "one_sided.h"

#include "../communicators/communicators.h"
#include "../storage/allocate.h"
#include "point_to_point.h"

#include <stdlib.h>
#include <string.h>

/* A window: found by a cache, or by an attribute of its handle, which is deleted with it. */
struct window {
    MPI_Win handle;
    const struct rw_members *members;
};

enum { CACHE_SIZE = 16 };

static struct window *cache[CACHE_SIZE]; /* guarded by the tracer's lock */
static int keyval = MPI_KEYVAL_INVALID;

static struct window **cache_entry(MPI_Win win)
{
    uint64_t key = 0;
    memcpy(&key, &win, sizeof win);
    return &cache[(key * 0x9e3779b97f4a7c15u) >> 60];
}

_Static_assert(CACHE_SIZE == 1 << (64 - 60), "cache_entry takes four bits");

/* MPI may call this while holding its own lock: it must not call MPI. */
static int on_delete(MPI_Win win, int key, void *value, void *state)
{
    (void)key;
    (void)state;
    rw_lock();
    if (*cache_entry(win) == value)
        *cache_entry(win) = NULL;
    rw_unlock();
    free(value);
    return MPI_SUCCESS;
}

/* Instead of MPI_WIN_NULL_COPY_FN, which may be an address in the library, unknown when the tracer is loaded. */
static int not_copied(MPI_Win window, int key, void *extra, void *from, void *to, int *copied)
{
    (void)window, (void)key, (void)extra, (void)from, (void)to;
    *copied = 0;
    return MPI_SUCCESS;
}

void rw_one_sided_begin(void)
{
    PMPI_Win_create_keyval(not_copied, on_delete, &keyval, NULL);
}

void rw_one_sided_end(void)
{
    PMPI_Win_free_keyval(&keyval);
}

/* Serialized, so that a window does not get two attributes. */
static struct window *look_up(MPI_Win win)
{
    static pthread_mutex_t serialize = PTHREAD_MUTEX_INITIALIZER;
    struct window *window = NULL;
    int has_attribute = 0;
    MPI_Group group;
    pthread_mutex_lock(&serialize);
    PMPI_Win_get_attr(win, keyval, &window, &has_attribute);
    if (!has_attribute) {
        window = rw_allocate(1, sizeof *window);
        if (window) {
            PMPI_Win_get_group(win, &group);
            *window = (struct window){win, rw_group_members(group)};
            PMPI_Group_free(&group);
            PMPI_Win_set_attr(win, keyval, window);
        }
    }
    pthread_mutex_unlock(&serialize);
    return window;
}

/* Takes the tracer's lock, also if it returns NULL: out of memory. */
static const struct rw_members *lock_members(MPI_Win win)
{
    struct window **entry = cache_entry(win);
    rw_lock();
    if (*entry && (*entry)->handle == win)
        return (*entry)->members;
    rw_unlock();
    struct window *window = look_up(win);
    rw_lock();
    *entry = window;
    return window ? window->members : NULL;
}

/* ---- recording ---- */

/* `target` is a rank that MPI has accepted. `put`, `get`: bytes in each direction; NULL: none. */
static void record(const struct rw_call *call, int target, MPI_Win win, const uint64_t *put,
                   const uint64_t *get)
{
    if (target < 0) /* MPI_PROC_NULL: no transfer */
        return;
    const struct rw_members *members = lock_members(win);
    if (members && put)
        rw_add_message(RW_PAIR_PUT, call->start, rw_rank_at(&members->local, target), *put);
    if (members && get)
        rw_add_message(RW_PAIR_GET, call->start, rw_rank_at(&members->local, target), *get);
    rw_unlock();
}

void rw_record_put(const struct rw_call *call, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target, MPI_Win win)
{
    const uint64_t put = rw_bytes(origin_count, origin_datatype);
    record(call, target, win, &put, NULL);
}

void rw_record_get(const struct rw_call *call, int target, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win)
{
    const uint64_t get = rw_bytes(target_count, target_datatype);
    record(call, target, win, NULL, &get);
}

/* With MPI_NO_OP, MPI ignores the origin buffer and its arguments. */
void rw_record_get_accumulate(const struct rw_call *call, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, int target, MPI_Count target_count,
                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    const uint64_t put = op == MPI_NO_OP ? 0 : rw_bytes(origin_count, origin_datatype);
    const uint64_t get = rw_bytes(target_count, target_datatype);
    record(call, target, win, op == MPI_NO_OP ? NULL : &put, &get);
}

void rw_record_fetch_and_op(const struct rw_call *call, MPI_Datatype datatype, int target, MPI_Op op,
                            MPI_Win win)
{
    const uint64_t size = rw_bytes(1, datatype);
    record(call, target, win, op == MPI_NO_OP ? NULL : &size, &size);
}

void rw_record_compare_and_swap(const struct rw_call *call, MPI_Datatype datatype, int target,
                                MPI_Win win)
{
    const uint64_t size = rw_bytes(1, datatype);
    record(call, target, win, &size, &size);
}
