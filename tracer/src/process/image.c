#include "image.h"

#include "../storage/allocate.h"
#include "binding.h"
#include "clock.h"
#include "loaded.h"
#include "program.h"
#include "state.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void add_text(enum rw_text which, const char *text)
{
    const size_t length = strlen(text);
    const struct rw_text_record head = {.which = which, .bytes = (uint32_t)length};
    struct rw_text_record *record =
        rw_arena_add(RW_RECORD_TEXT, &head, sizeof head, sizeof head + length);
    if (record)
        memcpy(record->text, text, length);
}

void rw_describe_loaded(void)
{
    static struct rw_loaded described = {.called_through = ""};
    struct rw_loaded loaded;
    rw_look_at_loaded(&loaded);
    if (strcmp(loaded.beside_mpi, described.beside_mpi) != 0)
        add_text(RW_TEXT_BESIDE_MPI, loaded.beside_mpi);
    if (strcmp(loaded.called_through, described.called_through) != 0)
        add_text(RW_TEXT_CALLED_THROUGH, loaded.called_through);
    described = loaded;
}

static void describe_process(void)
{
    char host[256] = "", program[256], library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    gethostname(host, sizeof host - 1);
    PMPI_Get_library_version(library, &length);
    add_text(RW_TEXT_HOST, host);
    add_text(RW_TEXT_LIBRARY, library);
    add_text(RW_TEXT_TRACER, RW_TRACER_VERSION);
    rw_program_name(program, sizeof program);
    add_text(RW_TEXT_PROGRAM, program);
    rw_describe_loaded();
    rw_record_binding();
}

static enum rw_thread_level thread_level(void)
{
    if (rw_tracer.thread_level == MPI_THREAD_MULTIPLE)
        return RW_THREAD_MULTIPLE;
    if (rw_tracer.thread_level == MPI_THREAD_SERIALIZED)
        return RW_THREAD_SERIALIZED;
    return rw_tracer.thread_level == MPI_THREAD_FUNNELED ? RW_THREAD_FUNNELED : RW_THREAD_SINGLE;
}

void rw_begin_image(uint64_t run)
{
    memcpy(rw_image->magic, RW_IMAGE_MAGIC, sizeof rw_image->magic);
    rw_image->version = RW_FORMAT_VERSION;
    rw_image->head_bytes = sizeof *rw_image;
    rw_image->rank = (uint32_t)rw_tracer.world_rank;
    rw_image->world_size = (uint32_t)rw_tracer.world_size;
    rw_image->run = run;
    rw_image->thread_level = thread_level();
    rw_image->clock = rw_clock;
    rw_image->start_unix_ns = (int64_t)rw_nanoseconds(CLOCK_REALTIME);
    const struct rw_instant now = rw_now();
    rw_image->begin_ticks = now.ticks;
    rw_image->begin_ns = now.nanoseconds;
    rw_refresh_image(RW_STATE_RUNNING);
    describe_process();
}

void rw_refresh_image(enum rw_state state)
{
    struct rusage usage;
    const struct rw_instant now = rw_now();
    rw_image->latest_ticks = now.ticks;
    rw_image->latest_ns = now.nanoseconds;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        rw_image->peak_memory = (uint64_t)usage.ru_maxrss * 1024;
    rw_store_processor_time();
    if (rw_out_of_memory)
        rw_image->flags |= RW_IMAGE_LOST_RECORDS;
    rw_image->state = state;
}

enum { FIRST_REFRESH = 1 << 20, LONGEST_REFRESH = 1 << 30 }; /* ticks: 0.3 ms to 0.5 s at 2 to 3 GHz */

void rw_refresh(uint64_t now)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&busy))
        return;
    const uint64_t elapsed = now - rw_image->begin_ticks;
    const uint64_t wait = elapsed < FIRST_REFRESH   ? FIRST_REFRESH
                        : elapsed < LONGEST_REFRESH ? elapsed
                                                    : LONGEST_REFRESH;
    rw_refresh_image(RW_STATE_RUNNING);
    atomic_store_explicit(&rw_tracer.next_refresh, now + wait, memory_order_relaxed);
    atomic_flag_clear(&busy);
}

/* ---- for the gathered trace ---- */

static void put_pair(struct rw_buffer *buffer, const struct rw_pair_record *pair)
{
    struct rw_pair_record copy = *pair;
    uint32_t first = 0, end = pair->bins;
    while (first < end && pair->histogram[first] == 0)
        first++;
    while (end > first && pair->histogram[end - 1] == 0)
        end--;
    copy.first_bin = (uint8_t)(pair->first_bin + first);
    copy.bins = (uint16_t)(end - first);
    copy.head.length = (uint32_t)(sizeof copy + copy.bins * sizeof *pair->histogram);
    rw_put_bytes(buffer, &copy, sizeof copy);
    rw_put_bytes(buffer, &pair->histogram[first], copy.bins * sizeof *pair->histogram);
}

void rw_compact_image(struct rw_buffer *buffer)
{
    rw_put_bytes(buffer, rw_image, sizeof *rw_image);
    for (struct rw_record *record = rw_arena_next(NULL); record; record = rw_arena_next(record)) {
        if (record->kind == RW_RECORD_PAIR)
            put_pair(buffer, (const struct rw_pair_record *)record);
        else if (record->kind != RW_RECORD_PADDING)
            rw_put_bytes(buffer, record, record->length);
    }
    if (buffer->length < sizeof *rw_image)
        return;
    struct rw_image *image = (struct rw_image *)buffer->bytes;
    image->length = buffer->length;
    image->flags &= ~RW_IMAGE_SPOOL_ENDED;
}
