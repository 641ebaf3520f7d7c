/* Four ranks send in all ways that pass Open MPI's PML. Rank 0 prints how many bytes each rank sends to each, as JSON; the
 * library's own messages, which communicators need, are short. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, UNIT = 100000, STARTS = 3 };

static char out[RANKS * UNIT * 8], in[RANKS * UNIT * 8];
static int rank;
static long sent[RANKS];

static void count(int to, long bytes)
{
    if (to != rank)
        sent[to] += bytes;
}

/* To the next rank, in a communicator in which the ranks stand in reverse. */
static void blocking_and_nonblocking(void)
{
    MPI_Comm reversed;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    const int next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    MPI_Irecv(in, UNIT, MPI_BYTE, RANKS - 1 - before, 1, reversed, &request);
    MPI_Send(out, UNIT, MPI_BYTE, RANKS - 1 - next, 1, reversed);
    count(next, UNIT);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, UNIT / 4, MPI_INT, RANKS - 1 - before, 2, reversed, &request);
    count(before, UNIT);
    MPI_Recv(in, UNIT, MPI_BYTE, RANKS - 1 - next, 2, reversed, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&reversed);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Send_init(out, UNIT, MPI_BYTE, rank ^ 1, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, UNIT, MPI_BYTE, rank ^ 1, 3, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < STARTS; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        count(rank ^ 1, UNIT);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Made of persistent sends of the library, whose length depends on both ranks. */
static void collective(void)
{
    int out_counts[RANKS], in_counts[RANKS], places[RANKS];
    MPI_Datatype types[RANKS];
    for (int other = 0; other < RANKS; other++) {
        out_counts[other] = UNIT * (rank + 1);
        in_counts[other] = UNIT * (other + 1);
        places[other] = 4 * UNIT * other;
        types[other] = MPI_BYTE;
        count(other, out_counts[other]);
    }
    MPI_Alltoallw(out, out_counts, places, types, in, in_counts, places, types, MPI_COMM_WORLD);
}

/* Ranks 0 and 1 to ranks 2 and 3. */
static void between_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 4, &both);
    MPI_Sendrecv(out, UNIT, MPI_BYTE, rank % 2, 5, in, UNIT, MPI_BYTE, rank % 2, 5, both, MPI_STATUS_IGNORE);
    count((rank + 2) % RANKS, UNIT);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argument_count, char **arguments)
{
    long all[RANKS][RANKS];
    MPI_Init(&argument_count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    blocking_and_nonblocking();
    persistent();
    collective();
    between_groups();
    MPI_Gather(sent, RANKS, MPI_LONG, all, RANKS, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int from = 0; rank == 0 && from < RANKS; from++)
        printf("%s[%ld, %ld, %ld, %ld]%s", from ? ", " : "[", all[from][0], all[from][1], all[from][2], all[from][3],
               from < RANKS - 1 ? "" : "]\n");
    MPI_Finalize();
    return 0;
}
