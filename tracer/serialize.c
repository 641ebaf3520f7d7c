#include "serialize.h"

#include "allocate.h"
#include "collectives.h"
#include "point_to_point.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    char host[256];
    uint32_t pu_count;
    uint32_t *pus;
} self;

/* The kernel refuses a mask smaller than its own, whose size it does not tell. */
static void read_affinity(void)
{
    for (int size = 1024; size <= 1 << 20; size *= 2) {
        cpu_set_t *mask = CPU_ALLOC(size);
        if (!mask)
            return;
        const int result = sched_getaffinity(0, CPU_ALLOC_SIZE(size), mask);
        if (result == 0) {
            const int count = CPU_COUNT_S(CPU_ALLOC_SIZE(size), mask);
            self.pus = rw_allocate((size_t)count, sizeof *self.pus);
            for (int pu = 0; self.pus && pu < size; pu++)
                if (CPU_ISSET_S(pu, CPU_ALLOC_SIZE(size), mask))
                    self.pus[self.pu_count++] = (uint32_t)pu;
        }
        CPU_FREE(mask);
        if (result == 0 || errno != EINVAL)
            return;
    }
}

void rw_describe_process(void)
{
    gethostname(self.host, sizeof self.host - 1);
    read_affinity();
}

void rw_serialize_facts(struct rw_buffer *buffer)
{
    static const struct {
        int mpi;
        uint32_t trace;
    } levels[] = {{MPI_THREAD_SINGLE, 0}, {MPI_THREAD_FUNNELED, 1}, {MPI_THREAD_SERIALIZED, 2},
                  {MPI_THREAD_MULTIPLE, 3}};
    uint32_t level = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (levels[i].mpi == rw_tracer.thread_level)
            level = levels[i].trace;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(library, &length);
    rw_put_u32(buffer, (uint32_t)rw_tracer.world_size);
    rw_put_u32(buffer, level);
    rw_put_u32(buffer, rw_clock_is_tsc ? RW_CLOCK_TSC : RW_CLOCK_GETTIME);
    rw_put_string(buffer, library);
    rw_put_string(buffer, RW_TRACER_VERSION);
}

void rw_serialize_rank(struct rw_buffer *buffer, double wall_seconds)
{
    rw_put_u32(buffer, (uint32_t)rw_tracer.world_rank);
    rw_put_string(buffer, self.host);
    rw_put_u32(buffer, self.pu_count);
    for (uint32_t i = 0; i < self.pu_count; i++)
        rw_put_u32(buffer, self.pus[i]);
    rw_put_u64(buffer, (uint64_t)rw_tracer.start_unix_ns);
    rw_put_f64(buffer, wall_seconds);
    for (int class = 0; class < RW_CLASS_COUNT; class++) {
        rw_put_u64(buffer, atomic_load(&rw_tracer.classes[class].calls));
        rw_put_f64(buffer, rw_duration((double)atomic_load(&rw_tracer.classes[class].ticks)));
    }
    rw_put_u64(buffer, rw_point_to_point.outside_messages);
    rw_put_u64(buffer, rw_point_to_point.outside_bytes);
}

/* The canonical order of the two groups, so that it does not matter which member describes them. */
void rw_serialize_communicator(struct rw_buffer *buffer, const struct rw_communicator *communicator)
{
    const struct rw_members *members = communicator->members;
    rw_put_u32(buffer, communicator->identifier);
    rw_put_u32(buffer, members->intercommunicator);
    rw_put_u32(buffer, communicator->slot);
    rw_put_u32(buffer, communicator->created);
    rw_put_string(buffer, communicator->name);
    if (members->local_first)
        rw_put_ranks(buffer, members->local, members->local_size);
    rw_put_ranks(buffer, members->remote, members->remote_size);
    if (!members->local_first)
        rw_put_ranks(buffer, members->local, members->local_size);
}

static void serialize_pair(struct rw_buffer *buffer, uint32_t destination,
                           const struct rw_partner *partner)
{
    uint32_t first = 0, end = RW_HISTOGRAM_BINS;
    while (partner->histogram[first] == 0)
        first++;
    while (partner->histogram[end - 1] == 0)
        end--;
    rw_put_u32(buffer, (uint32_t)rw_tracer.world_rank);
    rw_put_u32(buffer, destination);
    rw_put_u64(buffer, partner->messages);
    rw_put_u64(buffer, partner->bytes);
    rw_put_u64(buffer, partner->largest);
    rw_put_f64(buffer, rw_time(partner->first));
    rw_put_f64(buffer, rw_time(partner->last));
    rw_put_f64(buffer, rw_duration(partner->gap_mean));
    rw_put_f64(buffer, rw_duration(rw_duration(partner->gap_m2)));
    rw_put_u32(buffer, first);
    rw_put_u32(buffer, end - first);
    for (uint32_t bin = first; bin < end; bin++)
        rw_put_u64(buffer, partner->histogram[bin]);
}

uint64_t rw_serialize_pairs(struct rw_buffer *buffer)
{
    const struct rw_table *partners = &rw_point_to_point.partners;
    struct rw_entry *sorted = rw_table_sorted(partners);
    if (!sorted)
        return 0;
    for (size_t i = 0; i < partners->count; i++)
        serialize_pair(buffer, (uint32_t)sorted[i].key, sorted[i].value);
    free(sorted);
    return partners->count;
}

static void serialize_row(struct rw_buffer *buffer, const struct rw_table *row)
{
    struct rw_entry *sorted = rw_table_sorted(row);
    rw_put_u32(buffer, sorted ? (uint32_t)row->count : 0);
    for (size_t i = 0; sorted && i < row->count; i++) {
        const struct rw_row_entry *entry = sorted[i].value;
        rw_put_u32(buffer, (uint32_t)sorted[i].key);
        rw_put_u64(buffer, entry->messages);
        rw_put_u64(buffer, entry->bytes);
    }
    free(sorted);
}

static void serialize_collective(struct rw_buffer *buffer, uint32_t communicator,
                                 const struct rw_collective *collective)
{
    rw_put_u32(buffer, (uint32_t)rw_tracer.world_rank);
    rw_put_u32(buffer, communicator);
    rw_put_u16(buffer, collective->operation);
    rw_put_u16(buffer, collective->flags);
    rw_put_u32(buffer, (uint32_t)collective->root);
    rw_put_u64(buffer, collective->calls);
    rw_put_u64(buffer, collective->bytes);
    rw_put_f64(buffer, rw_duration((double)collective->ticks));
    rw_put_f64(buffer, rw_time(collective->first));
    rw_put_f64(buffer, rw_time(collective->last));
    serialize_row(buffer, &collective->row);
}

uint64_t rw_serialize_collectives(struct rw_buffer *buffer,
                                  struct rw_communicator *const *communicators, size_t count)
{
    uint64_t records = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rw_table *collectives = &communicators[i]->collectives;
        struct rw_entry *sorted = rw_table_sorted(collectives);
        for (size_t j = 0; sorted && j < collectives->count; j++)
            serialize_collective(buffer, communicators[i]->identifier, sorted[j].value);
        records += sorted ? collectives->count : 0;
        free(sorted);
    }
    return records;
}
