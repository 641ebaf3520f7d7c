#include "communicators.h"

#include "../storage/allocate.h"
#include "../storage/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_SIZE = 64 };

static struct {
    MPI_Comm handle;
    struct rw_communicator *communicator;
} cache[CACHE_SIZE]; /* under the tracer's lock */

/* Guards everything below. Lock order: this one, then the tracer's. The deletion callback does not take it: MPI may
 * call that while holding its own attribute lock. */
static pthread_mutex_t registration = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;
static struct rw_table by_digest;
static struct rw_table duplicating;
static struct rw_members *all_members;
static uint32_t members_count;
static uint32_t communicator_count;

static uint64_t key_of(MPI_Comm comm)
{
    uint64_t key = 0;
    memcpy(&key, &comm, sizeof comm);
    return key;
}

static size_t cache_index(MPI_Comm comm)
{
    return (size_t)((key_of(comm) * 0x9e3779b97f4a7c15u) >> 58);
}

_Static_assert(CACHE_SIZE == 1 << (64 - 58), "cache_index yields six bits");

/* ---- member lists ---- */

/* The members of a group as ranks of MPI_COMM_WORLD; empty if out of memory. */
static struct rw_rank_list world_ranks(MPI_Group group)
{
    int count = 0;
    PMPI_Group_size(group, &count);
    int *ranks = rw_allocate((size_t)count, sizeof *ranks);
    int *members = rw_allocate((size_t)count, sizeof *members);
    if (!ranks || !members) {
        free(ranks);
        free(members);
        return (struct rw_rank_list){0, 0, 0, NULL};
    }
    for (int i = 0; i < count; i++)
        members[i] = i;
    PMPI_Group_translate_ranks(group, count, members, rw_tracer.world_group, ranks);
    for (int i = 0; i < count; i++)
        if (ranks[i] == MPI_UNDEFINED)
            ranks[i] = -1;
    free(members);
    return rw_make_rank_list(ranks, count);
}

static void free_members(struct rw_members *members)
{
    rw_free_rank_list(&members->local);
    rw_free_rank_list(&members->remote);
    free(members);
}

static void complete_members(struct rw_members *members)
{
    const int world = rw_tracer.world_size;
    const int lowest = rw_lowest_rank(&members->remote, world);
    members->local_first = !members->intercommunicator || lowest == world
        || rw_lowest_rank(&members->local, world) < lowest;
    members->digest = rw_digest_rank_list(members->intercommunicator ? 2 : 1, rw_first_group(members));
    members->digest = rw_digest_rank_list(members->digest, rw_second_group(members));
}

static struct rw_members *ask_members(MPI_Comm comm)
{
    struct rw_members *members = rw_allocate(1, sizeof *members);
    if (!members)
        return NULL;
    int is_inter = 0;
    MPI_Group group;
    PMPI_Comm_test_inter(comm, &is_inter);
    members->intercommunicator = is_inter;
    PMPI_Comm_rank(comm, &members->local_rank);
    PMPI_Comm_group(comm, &group);
    members->local = world_ranks(group);
    PMPI_Group_free(&group);
    if (is_inter) {
        PMPI_Comm_remote_group(comm, &group);
        members->remote = world_ranks(group);
        PMPI_Group_free(&group);
    }
    if (rw_out_of_memory) {
        free_members(members);
        return NULL;
    }
    complete_members(members);
    return members;
}

static void record_members(const struct rw_members *members)
{
    const struct rw_rank_list *const first = rw_first_group(members);
    const struct rw_rank_list *const second = rw_second_group(members);
    const uint32_t first_runs = rw_find_runs(first, NULL);
    const uint32_t second_runs = rw_find_runs(second, NULL);
    const struct rw_members_record head = {.id = members->id,
                                           .intercommunicator = members->intercommunicator,
                                           .first_runs = first_runs,
                                           .second_runs = second_runs};
    struct rw_members_record *record =
        rw_arena_add(RW_RECORD_MEMBERS, &head, sizeof head,
                     sizeof head + (first_runs + second_runs) * sizeof *record->runs);
    if (!record)
        return;
    rw_find_runs(first, record->runs);
    rw_find_runs(second, record->runs + first_runs);
}

static bool same_members(const struct rw_members *a, const struct rw_members *b)
{
    return a->intercommunicator == b->intercommunicator && rw_same_rank_list(&a->local, &b->local)
        && rw_same_rank_list(&a->remote, &b->remote);
}

/* The shared copy of these member lists; takes ownership of the argument. */
static struct rw_members *intern_members(struct rw_members *members)
{
    struct rw_members *first = rw_table_find(&by_digest, members->digest);
    for (struct rw_members *other = first; other; other = other->next_same_digest) {
        if (same_members(other, members)) {
            free_members(members);
            return other;
        }
    }
    if (first) {
        members->next_same_digest = first->next_same_digest;
        first->next_same_digest = members;
    } else if (!rw_table_insert(&by_digest, members->digest, members)) {
        free_members(members);
        return NULL;
    }
    members->next = all_members;
    all_members = members;
    members->id = members_count++;
    record_members(members);
    return members;
}

const struct rw_members *rw_group_members(MPI_Group group)
{
    struct rw_members *members = rw_allocate(1, sizeof *members);
    if (!members)
        return NULL;
    PMPI_Group_rank(group, &members->local_rank);
    members->local = world_ranks(group);
    if (rw_out_of_memory) {
        free_members(members);
        return NULL;
    }
    complete_members(members);
    pthread_mutex_lock(&registration);
    members = intern_members(members);
    pthread_mutex_unlock(&registration);
    return members;
}

/* ---- slots ---- */

static struct rw_communicator *add_slot(struct rw_members *members, uint32_t slot)
{
    struct rw_communicator *communicator = rw_allocate(1, sizeof *communicator);
    if (!communicator)
        return NULL;
    communicator->members = members;
    const struct rw_communicator_record record = {
        .id = communicator_count, .members = members->id, .slot = slot};
    communicator->record = rw_arena_add(RW_RECORD_COMMUNICATOR, &record, sizeof record, sizeof record);
    if (!communicator->record) {
        free(communicator);
        return NULL;
    }
    communicator_count++;
    return communicator;
}

static struct rw_communicator *take_slot(struct rw_members *members)
{
    struct rw_communicator **link = &members->slots;
    uint32_t slot = 0;
    rw_lock();
    while (*link && (*link)->living) {
        link = &(*link)->next;
        slot++;
    }
    if (!*link)
        *link = add_slot(members, slot);
    struct rw_communicator *communicator = *link;
    if (communicator) {
        communicator->living = true;
        communicator->record->created++;
        communicator->neighbours_known = false;
    }
    rw_unlock();
    return communicator;
}

static void give_back_slot(struct rw_communicator *communicator)
{
    rw_lock();
    communicator->living = false;
    const size_t i = cache_index(communicator->handle);
    if (cache[i].communicator == communicator)
        cache[i].communicator = NULL;
    rw_unlock();
}

static void keep_name(struct rw_communicator *communicator, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Comm_get_name(comm, name, &length);
    /* Open MPI describes communicators without a name like this. */
    if (length > 0 && strncmp(name, "MPI COMMUNICATOR ", 17) != 0)
        snprintf(communicator->record->name, RW_NAME_BYTES, "%s", name);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)key;
    (void)state;
    if (!atomic_load(&rw_tracer.active))
        return MPI_SUCCESS;
    keep_name(value, comm);
    give_back_slot(value);
    return MPI_SUCCESS;
}

/* ---- registration and look-up ---- */

static struct rw_communicator *bind_handle(struct rw_communicator *communicator, MPI_Comm comm)
{
    if (communicator) {
        communicator->handle = comm;
        PMPI_Comm_set_attr(comm, keyval, communicator);
    }
    return communicator;
}

/* A duplicate that was neither used nor freed through a wrapper: its handle now means another communicator. */
static void drop_duplicating(MPI_Comm comm)
{
    struct rw_communicator *stale = rw_table_remove(&duplicating, key_of(comm));
    if (stale)
        give_back_slot(stale);
}

static struct rw_communicator *create(MPI_Comm comm, struct rw_members *members)
{
    drop_duplicating(comm);
    if (!members) {
        members = ask_members(comm);
        members = members ? intern_members(members) : NULL;
    }
    return members ? bind_handle(take_slot(members), comm) : NULL;
}

static struct rw_communicator *look_up(MPI_Comm comm)
{
    struct rw_communicator *communicator = NULL;
    int has_attribute = 0;
    pthread_mutex_lock(&registration);
    PMPI_Comm_get_attr(comm, keyval, &communicator, &has_attribute);
    if (!has_attribute) {
        communicator = rw_table_remove(&duplicating, key_of(comm));
        communicator = communicator ? bind_handle(communicator, comm) : create(comm, NULL);
    }
    pthread_mutex_unlock(&registration);
    return communicator;
}

struct rw_communicator *rw_lock_communicator(MPI_Comm comm)
{
    const size_t i = cache_index(comm);
    rw_lock();
    if (cache[i].communicator && cache[i].handle == comm)
        return cache[i].communicator;
    rw_unlock();
    struct rw_communicator *communicator = look_up(comm);
    rw_lock();
    cache[i].handle = comm;
    cache[i].communicator = communicator;
    return communicator;
}

struct rw_communicator *rw_find_communicator(MPI_Comm comm)
{
    struct rw_communicator *communicator = rw_lock_communicator(comm);
    rw_unlock();
    return communicator;
}

void rw_record_created(const struct rw_call *call, MPI_Comm created)
{
    (void)call;
    if (created == MPI_COMM_NULL)
        return;
    pthread_mutex_lock(&registration);
    create(created, NULL);
    pthread_mutex_unlock(&registration);
}

void rw_record_duplicated(const struct rw_call *call, MPI_Comm parent, MPI_Comm created)
{
    (void)call;
    const struct rw_communicator *original = rw_find_communicator(parent);
    if (!original)
        return;
    pthread_mutex_lock(&registration);
    create(created, original->members);
    pthread_mutex_unlock(&registration);
}

void rw_record_duplicating(const struct rw_call *call, MPI_Comm parent, MPI_Comm created)
{
    (void)call;
    const struct rw_communicator *original = rw_find_communicator(parent);
    if (!original)
        return;
    pthread_mutex_lock(&registration);
    drop_duplicating(created);
    struct rw_communicator *communicator = take_slot(original->members);
    if (communicator) {
        communicator->handle = created;
        rw_table_insert(&duplicating, key_of(created), communicator);
    }
    pthread_mutex_unlock(&registration);
}

/* ---- begin and end ---- */

static struct rw_members *world_members(void)
{
    struct rw_members *members = rw_allocate(1, sizeof *members);
    if (!members)
        return NULL;
    members->local_rank = rw_tracer.world_rank;
    members->local = (struct rw_rank_list){rw_tracer.world_size, 0, 1, NULL};
    complete_members(members);
    return intern_members(members);
}

/* Instead of MPI_COMM_NULL_COPY_FN, which may be an address in the library, unknown when the tracer is loaded. */
static int not_copied(MPI_Comm comm, int key, void *extra, void *from, void *to, int *copied)
{
    (void)comm, (void)key, (void)extra, (void)from, (void)to;
    *copied = 0;
    return MPI_SUCCESS;
}

void rw_communicators_begin(void)
{
    PMPI_Comm_create_keyval(not_copied, on_delete, &keyval, NULL);
    struct rw_members *members = world_members();
    struct rw_communicator *world = members ? create(MPI_COMM_WORLD, members) : NULL;
    struct rw_communicator *self = create(MPI_COMM_SELF, NULL);
    if (world)
        keep_name(world, MPI_COMM_WORLD);
    if (self)
        keep_name(self, MPI_COMM_SELF);
}

void rw_communicators_end(void)
{
    PMPI_Comm_free_keyval(&keyval);
}

void rw_keep_names(void)
{
    for (struct rw_members *members = all_members; members; members = members->next)
        for (struct rw_communicator *c = members->slots; c; c = c->next)
            if (c->living && rw_table_find(&duplicating, key_of(c->handle)) != c)
                keep_name(c, c->handle);
}
