/*
 * flush.c - gathering over rank 0.
 *
 * Rank 0 asks one rank after the other and writes what it gets at once, so it never holds more than a
 * chunk of another rank's records, and no rank sends before it is asked.
 */
#include "flush.h"

#include "allocate.h"
#include "serialize.h"
#include "trace_file.h"

#include <stdlib.h>

enum { TAG_ASK = 1, TAG_DATA = 2 };
enum { CHUNK = 1 << 18 };

/* What one rank contributes to a section. */
struct part {
    uint64_t records;
    uint64_t length;
};

static struct { /* of rank 0 */
    uint8_t *chunk;
    struct part *parts; /* by rank */
} gathering;

/* ---- transport ---- */

static void check(int result)
{
    if (result != MPI_SUCCESS)
        rw_file_fail("the ranks could not exchange their records");
}

static void send_bytes(const void *bytes, size_t length, int rank)
{
    check(PMPI_Send(bytes, (int)length, MPI_BYTE, rank, TAG_DATA, rw_tracer.private_world));
}

static void receive_bytes(void *bytes, size_t length, int rank)
{
    check(PMPI_Recv(bytes, (int)length, MPI_BYTE, rank, TAG_DATA, rw_tracer.private_world,
                    MPI_STATUS_IGNORE));
}

static size_t chunk_at(size_t position, size_t length)
{
    return length - position < CHUNK ? length - position : CHUNK;
}

static void send_in_chunks(const struct rw_buffer *buffer, int rank)
{
    for (size_t done = 0; done < buffer->length; done += CHUNK)
        send_bytes(buffer->bytes + done, chunk_at(done, buffer->length), rank);
}

static void ask(int rank)
{
    check(PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG_ASK, rw_tracer.private_world));
}

static void wait_until_asked(void)
{
    check(PMPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_ASK, rw_tracer.private_world, MPI_STATUS_IGNORE));
}

/* ---- sections with one part per rank ---- */

static void write_section(const char tag[4], const struct rw_buffer *own)
{
    uint64_t records = 0, length = 8;
    for (int rank = 0; rank < rw_tracer.world_size; rank++) {
        records += gathering.parts[rank].records;
        length += gathering.parts[rank].length;
    }
    struct rw_buffer count = {0};
    rw_put_u64(&count, records);
    rw_file_section(tag, length);
    rw_file_write(count.bytes, count.length);
    rw_free_buffer(&count);
    rw_file_write(own->bytes, own->length);
    for (int rank = 1; rank < rw_tracer.world_size; rank++) {
        const size_t part = gathering.parts[rank].length;
        if (part > 0)
            ask(rank);
        for (size_t done = 0; done < part; done += CHUNK) {
            receive_bytes(gathering.chunk, chunk_at(done, part), rank);
            rw_file_write(gathering.chunk, chunk_at(done, part));
        }
    }
}

static void gather_section(const char tag[4], const struct rw_buffer *own, uint64_t records)
{
    const struct part part = {records, own->length};
    check(PMPI_Gather(&part, 2, MPI_UINT64_T, gathering.parts, 2, MPI_UINT64_T, 0,
                      rw_tracer.private_world));
    if (rw_tracer.world_rank == 0) {
        write_section(tag, own);
    } else if (own->length > 0) {
        wait_until_asked();
        send_in_chunks(own, 0);
    }
}

/* ---- communicators: identifiers given by rank 0 ---- */

struct directory { /* of rank 0 */
    struct rw_table identifiers; /* identity -> identifier + 1 */
    struct rw_buffer section;
};

/* What rank 0 answers for each communicator of a rank. */
struct answer {
    uint32_t identifier;
    uint32_t is_new; /* its description is wanted */
};

/* Stands for kind, members and slot. That two of a million communicators agree has a probability of
 * less than one in ten million. */
static uint64_t identity(const struct rw_communicator *communicator)
{
    uint64_t hash = communicator->members->digest + communicator->slot * 0xd6e8feb86659fd93u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
}

static struct answer identify(struct directory *directory, uint64_t communicator)
{
    const uintptr_t known = (uintptr_t)rw_table_find(&directory->identifiers, communicator);
    if (known)
        return (struct answer){(uint32_t)(known - 1), 0};
    const size_t identifier = directory->identifiers.count;
    rw_table_insert(&directory->identifiers, communicator, (void *)(uintptr_t)(identifier + 1));
    return (struct answer){(uint32_t)identifier, 1};
}

static void identify_own(struct directory *directory, struct rw_communicator **communicators,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct answer answer = identify(directory, identity(communicators[i]));
        communicators[i]->identifier = answer.identifier;
        if (answer.is_new)
            rw_serialize_communicator(&directory->section, communicators[i]);
    }
}

/* Everything in pieces of one chunk at most, as a rank may have any number of communicators. */
static void answer_rank(struct directory *directory, int rank)
{
    enum { PER_CHUNK = CHUNK / sizeof(uint64_t) };
    uint64_t *identities = (uint64_t *)gathering.chunk;
    struct answer *answers = (struct answer *)gathering.chunk;
    uint64_t count = 0, length = 0;
    _Static_assert(sizeof(struct answer) == sizeof(uint64_t), "answers replace identities in place");
    ask(rank);
    receive_bytes(&count, sizeof count, rank);
    for (uint64_t done = 0; done < count; done += PER_CHUNK) {
        const uint64_t now = count - done < PER_CHUNK ? count - done : PER_CHUNK;
        receive_bytes(identities, now * sizeof *identities, rank);
        for (uint64_t i = 0; i < now; i++)
            answers[i] = identify(directory, identities[i]);
        send_bytes(answers, now * sizeof *answers, rank);
    }
    receive_bytes(&length, sizeof length, rank);
    for (size_t done = 0; done < length; done += CHUNK) {
        receive_bytes(gathering.chunk, chunk_at(done, length), rank);
        rw_put_bytes(&directory->section, gathering.chunk, chunk_at(done, length));
    }
}

static void ask_identifiers(struct rw_communicator **communicators, size_t count)
{
    enum { PER_CHUNK = CHUNK / sizeof(uint64_t) };
    static union {
        uint64_t identity;
        struct answer answer;
    } exchange[PER_CHUNK];
    const uint64_t total = count;
    struct rw_buffer wanted = {0};
    wait_until_asked();
    send_bytes(&total, sizeof total, 0);
    for (size_t done = 0; done < count; done += PER_CHUNK) {
        const size_t now = count - done < PER_CHUNK ? count - done : PER_CHUNK;
        for (size_t i = 0; i < now; i++)
            exchange[i].identity = identity(communicators[done + i]);
        send_bytes(exchange, now * sizeof *exchange, 0);
        receive_bytes(exchange, now * sizeof *exchange, 0);
        for (size_t i = 0; i < now; i++) {
            communicators[done + i]->identifier = exchange[i].answer.identifier;
            if (exchange[i].answer.is_new)
                rw_serialize_communicator(&wanted, communicators[done + i]);
        }
    }
    const uint64_t length = wanted.length;
    send_bytes(&length, sizeof length, 0);
    send_in_chunks(&wanted, 0);
    rw_free_buffer(&wanted);
}

static void write_communicators(struct directory *directory)
{
    struct rw_buffer count = {0};
    rw_put_u64(&count, directory->identifiers.count);
    rw_file_section("COMM", count.length + directory->section.length);
    rw_file_write(count.bytes, count.length);
    rw_file_write(directory->section.bytes, directory->section.length);
    rw_free_buffer(&count);
    rw_free_buffer(&directory->section);
}

static void gather_communicators(struct rw_communicator **communicators, size_t count)
{
    struct directory directory = {0};
    if (rw_tracer.world_rank != 0) {
        ask_identifiers(communicators, count);
        return;
    }
    identify_own(&directory, communicators, count);
    for (int rank = 1; rank < rw_tracer.world_size; rank++)
        answer_rank(&directory, rank);
    write_communicators(&directory);
}

/* All communicators of this rank, in the order of their creation; NULL only when out of memory. */
static struct rw_communicator **list_communicators(size_t *count)
{
    *count = 0;
    for (const struct rw_members *members = rw_all_members(); members; members = members->next)
        for (struct rw_communicator *c = members->slots; c; c = c->next)
            ++*count;
    struct rw_communicator **list = rw_allocate(*count, sizeof *list);
    size_t i = 0;
    for (const struct rw_members *members = rw_all_members(); members; members = members->next)
        for (struct rw_communicator *c = members->slots; list && c; c = c->next)
            list[i++] = c;
    if (!list)
        *count = 0;
    return list;
}

static int by_identifier(const void *left, const void *right)
{
    const uint32_t a = (*(struct rw_communicator *const *)left)->identifier;
    const uint32_t b = (*(struct rw_communicator *const *)right)->identifier;
    return (a > b) - (a < b);
}

/* ---- the whole ---- */

/* Rank 0 opens the file; all ranks learn whether to go on. */
static bool prepare(void)
{
    int ready = 1;
    if (rw_tracer.world_rank == 0) {
        gathering.chunk = rw_allocate(CHUNK, 1);
        gathering.parts = rw_allocate((size_t)rw_tracer.world_size, sizeof *gathering.parts);
        ready = gathering.chunk && gathering.parts;
        if (!ready)
            rw_warn("no trace written to %s: out of memory", rw_tracer.trace_file);
        ready = ready && rw_file_open(rw_tracer.trace_file);
    }
    return PMPI_Bcast(&ready, 1, MPI_INT, 0, rw_tracer.private_world) == MPI_SUCCESS && ready;
}

static void gather_all(double wall_seconds)
{
    struct rw_buffer buffer = {0};
    size_t count = 0;
    if (rw_tracer.world_rank == 0) {
        rw_serialize_facts(&buffer);
        rw_file_section("FACT", buffer.length);
        rw_file_write(buffer.bytes, buffer.length);
        rw_free_buffer(&buffer);
    }
    rw_serialize_rank(&buffer, wall_seconds);
    gather_section("RANK", &buffer, 1);
    rw_free_buffer(&buffer);

    struct rw_communicator **communicators = list_communicators(&count);
    gather_communicators(communicators, count);

    uint64_t records = rw_serialize_pairs(&buffer);
    gather_section("PAIR", &buffer, records);
    rw_free_buffer(&buffer);

    qsort(communicators, count, sizeof *communicators, by_identifier);
    records = rw_serialize_collectives(&buffer, communicators, count);
    gather_section("COLL", &buffer, records);
    rw_free_buffer(&buffer);
    free(communicators);
}

/* A rank that ran out of memory has lost records: the trace would be wrong without a sign of it. */
static void share_failure(void)
{
    int failed = atomic_load(&rw_out_of_memory), anywhere = 0;
    check(PMPI_Reduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, 0, rw_tracer.private_world));
    if (anywhere)
        rw_file_fail("out of memory");
}

void rw_flush(double wall_seconds)
{
    rw_keep_names();
    if (prepare()) {
        gather_all(wall_seconds);
        share_failure();
        if (rw_tracer.world_rank == 0)
            rw_file_close();
    }
    free(gathering.chunk);
    free(gathering.parts);
}
