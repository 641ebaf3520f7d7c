/* sampler_partitioned.c - partitioned sends: one message of all partitions at each start. */
#include "sampler.h"

#if HAS_MPI_4

enum { PARTITIONS = 4 };

static void make_ready(int round, MPI_Request request)
{
    int rest[2] = {3, 1};
    if (round == 0) {
        for (int i = 0; i < PARTITIONS; i++)
            MPI_Pready(i, request);
    } else {
        MPI_Pready(0, request);
        MPI_Pready_range(2, 2, request);
        MPI_Pready_list(2, rest, request);
    }
}

void sample_partitioned(void)
{
    const int next = (rank + 1) % 4, previous = (rank + 3) % 4;
    MPI_Request requests[3];
    MPI_Precv_init(incoming, PARTITIONS, 5, MPI_INT, previous, 11, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Psend_init(outgoing, PARTITIONS, 5, MPI_INT, next, 11, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, requests);
        expect_send(next, 4 * 5 * PARTITIONS);
        make_ready(round, requests[1]);
        for (int arrived = 0; !arrived;)
            MPI_Parrived(requests[0], 1, &arrived);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

#else

void sample_partitioned(void)
{
}

#endif
