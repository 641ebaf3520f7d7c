/*
 * flush.c - gathering the images of all ranks on rank 0.
 *
 * Rank 0 requests one image after the other and writes each chunk as it arrives: it holds at most one chunk of another
 * rank, and no rank sends before rank 0 requests it.
 */
#include "flush.h"

#include "../mpi/warning.h"
#include "../process/image.h"
#include "../process/state.h"
#include "../storage/allocate.h"
#include "trace_file.h"

#include <stdlib.h>

enum { TAG_ASK = 1, TAG_DATA = 2 };
enum { CHUNK = 1 << 18 };

static void check(int result)
{
    if (result != MPI_SUCCESS)
        rw_file_fail("the ranks could not exchange their records");
}

static size_t chunk_at(size_t position, size_t length)
{
    return length - position < CHUNK ? length - position : CHUNK;
}

static void send_image(const struct rw_buffer *image)
{
    check(PMPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_ASK, rw_tracer.private_world, MPI_STATUS_IGNORE));
    for (size_t done = 0; done < image->length; done += CHUNK)
        check(PMPI_Send(image->bytes + done, (int)chunk_at(done, image->length), MPI_BYTE, 0, TAG_DATA,
                        rw_tracer.private_world));
}

static void receive_image(int rank, size_t length, uint8_t *chunk)
{
    check(PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG_ASK, rw_tracer.private_world));
    for (size_t done = 0; done < length; done += CHUNK) {
        check(PMPI_Recv(chunk, (int)chunk_at(done, length), MPI_BYTE, rank, TAG_DATA,
                        rw_tracer.private_world, MPI_STATUS_IGNORE));
        rw_file_write(chunk, chunk_at(done, length));
    }
}

/* Buffers of rank 0; NULL on other ranks. */
struct room {
    uint8_t *chunk;
    uint64_t *lengths; /* by rank */
};

/* Rank 0 opens the file and tells all ranks whether that worked. */
static bool prepare(struct room *room)
{
    int ready = 1;
    if (rw_tracer.world_rank == 0) {
        room->chunk = rw_allocate(CHUNK, 1);
        room->lengths = rw_allocate((size_t)rw_tracer.world_size, sizeof *room->lengths);
        ready = room->chunk && room->lengths;
        if (!ready)
            rw_warn("no trace written to %s: out of memory", rw_tracer.trace_file);
        ready = ready && rw_file_open(rw_tracer.trace_file, (uint32_t)rw_tracer.world_size);
    }
    return PMPI_Bcast(&ready, 1, MPI_INT, 0, rw_tracer.private_world) == MPI_SUCCESS && ready;
}

static void gather(const struct room *room)
{
    struct rw_buffer image = {0};
    rw_compact_image(&image);
    const uint64_t length = image.length;
    check(PMPI_Gather(&length, 1, MPI_UINT64_T, room->lengths, 1, MPI_UINT64_T, 0,
                      rw_tracer.private_world));
    if (rw_tracer.world_rank != 0) {
        send_image(&image);
    } else {
        rw_file_write(image.bytes, image.length);
        for (int rank = 1; rank < rw_tracer.world_size; rank++)
            receive_image(rank, room->lengths[rank], room->chunk);
    }
    rw_free_buffer(&image);
}

/* A rank that ran out of memory has lost records: no trace is better than one that is silently wrong. */
static void share_failure(void)
{
    int failed = atomic_load(&rw_out_of_memory), anywhere = 0;
    check(PMPI_Reduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, 0, rw_tracer.private_world));
    if (anywhere)
        rw_file_fail("out of memory");
}

bool rw_flush(void)
{
    struct room room = {NULL, NULL};
    int written = 0;
    if (prepare(&room)) {
        gather(&room);
        share_failure();
        if (rw_tracer.world_rank == 0)
            written = rw_file_close();
        check(PMPI_Bcast(&written, 1, MPI_INT, 0, rw_tracer.private_world));
    }
    free(room.chunk);
    free(room.lengths);
    return written;
}
