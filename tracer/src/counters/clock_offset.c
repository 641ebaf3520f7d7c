#include "clock_offset.h"

#include "../process/clock.h"

enum { ROUNDS = 16, TAG = 3 };

static void answer(MPI_Comm nodes, int rank)
{
    for (int round = 0; round < ROUNDS; round++) {
        PMPI_Recv(NULL, 0, MPI_BYTE, rank, TAG, nodes, MPI_STATUS_IGNORE);
        uint64_t now = rw_nanoseconds(CLOCK_REALTIME);
        PMPI_Send(&now, 1, MPI_UINT64_T, rank, TAG, nodes);
    }
}

static struct rw_clock_offset ask(MPI_Comm nodes)
{
    struct rw_clock_offset best = {0, UINT64_MAX};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t there = 0;
        const uint64_t before = rw_nanoseconds(CLOCK_REALTIME);
        PMPI_Send(NULL, 0, MPI_BYTE, 0, TAG, nodes);
        PMPI_Recv(&there, 1, MPI_UINT64_T, 0, TAG, nodes, MPI_STATUS_IGNORE);
        const uint64_t after = rw_nanoseconds(CLOCK_REALTIME);
        const uint64_t error = (after - before) / 2 + 1;
        if (error < best.error_ns) {
            best.error_ns = error;
            best.ahead_ns = (int64_t)there - (int64_t)(before + (after - before) / 2);
        }
    }
    return best;
}

struct rw_clock_offset rw_measure_clock_offset(MPI_Comm nodes)
{
    int rank = 0, size = 1;
    PMPI_Comm_rank(nodes, &rank);
    PMPI_Comm_size(nodes, &size);
    if (rank != 0)
        return ask(nodes);
    for (int other = 1; other < size; other++)
        answer(nodes, other);
    return (struct rw_clock_offset){0, 0};
}
