/* sampler_point_to_point.c - sends of all modes in a ring, receives, probes, completion. */
#include "sampler.h"

#include <stdlib.h>

static int next, previous;

static void receive_into(MPI_Request *request)
{
    MPI_Irecv(incoming, sizeof incoming, MPI_CHAR, previous, 0, MPI_COMM_WORLD, request);
    MPI_Barrier(MPI_COMM_WORLD); /* a ready send needs its receive */
    expect_collective(MPI_COMM_WORLD, "barrier", 0, -1, 0, NULL);
}

static void blocking_sends(void)
{
    MPI_Request request;
    receive_into(&request);
    MPI_Send(outgoing, 100, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    expect_send(next, 100);
    finish(&request);

    void *attached;
    int size = 1000 + MPI_BSEND_OVERHEAD;
    MPI_Buffer_attach(malloc((size_t)size), size);
    receive_into(&request);
    MPI_Bsend(outgoing, 10, MPI_INT, next, 0, MPI_COMM_WORLD);
    expect_send(next, 40);
    finish(&request);
    MPI_Buffer_detach(&attached, &size);
    free(attached);

    receive_into(&request);
    MPI_Ssend(outgoing, 3, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
    expect_send(next, 24);
    finish(&request);

    receive_into(&request);
    MPI_Rsend(outgoing, 0, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
    expect_send(next, 0);
    finish(&request);
}

static void nonblocking_sends(void)
{
    MPI_Request requests[2];
    int flag = 0;
    receive_into(&requests[0]);
    MPI_Isend(outgoing, 1024, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]);
    expect_send(next, 1024);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    void *attached;
    int size = 3000 + MPI_BSEND_OVERHEAD;
    MPI_Buffer_attach(malloc((size_t)size), size);
    receive_into(&requests[0]);
    MPI_Ibsend(outgoing, 1023, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]);
    expect_send(next, 1023);
    while (!flag)
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&attached, &size);
    free(attached);

    int index, count, indices[2];
    receive_into(&requests[0]);
    MPI_Issend(outgoing, 2048, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]);
    expect_send(next, 2048);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);

    receive_into(&requests[0]);
    MPI_Irsend(outgoing, 1, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]);
    expect_send(next, 1);
    for (flag = 0; !flag;)
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    for (count = 0; count == 0;)
        MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
}

static void combined_sends(void)
{
    MPI_Sendrecv(outgoing, 11, MPI_SHORT, next, 0, incoming, 100, MPI_CHAR, previous, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_send(next, 22);
    MPI_Sendrecv_replace(outgoing, 33, MPI_CHAR, previous, 0, next, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    expect_send(previous, 33);
#if HAS_MPI_4
    MPI_Request request;
    MPI_Isendrecv(outgoing, 5, MPI_CHAR, next, 0, incoming, 100, MPI_CHAR, previous, 0,
                  MPI_COMM_WORLD, &request);
    expect_send(next, 5);
    finish(&request);
    MPI_Isendrecv_replace(outgoing, 6, MPI_CHAR, next, 0, previous, 0, MPI_COMM_WORLD, &request);
    expect_send(next, 6);
    finish(&request);
#endif
}

static void persistent_sends(void)
{
    enum { REQUESTS = 6 };
    MPI_Request requests[REQUESTS];
    void *attached;
    int size = 3000 + 10 * MPI_BSEND_OVERHEAD;
    MPI_Buffer_attach(malloc((size_t)size), size);
    MPI_Recv_init(incoming, 200, MPI_CHAR, previous, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(outgoing, 7, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Bsend_init(outgoing, 8, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Ssend_init(outgoing, 9, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[3]);
    MPI_Rsend_init(outgoing, 10, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[4]);
    MPI_Send_init(outgoing, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[5]);
    for (int round = 0; round < 3; round++)
        for (int mode = 1; mode <= 4; mode++) {
            MPI_Request pair[2] = {requests[0], requests[mode]};
            if (round == 0) {
                MPI_Start(&pair[0]);
                MPI_Barrier(MPI_COMM_WORLD); /* the ready send needs its receive */
                expect_collective(MPI_COMM_WORLD, "barrier", 0, -1, 0, NULL);
                MPI_Start(&pair[1]);
                MPI_Start(&requests[5]);
                finish(&requests[5]);
            } else if (mode != 4) {
                MPI_Startall(2, pair);
            } else {
                continue;
            }
            expect_send(next, 4 * (6 + mode));
            MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
            requests[0] = pair[0];
            requests[mode] = pair[1];
        }
    for (int i = 0; i < REQUESTS; i++)
        MPI_Request_free(&requests[i]);
    MPI_Buffer_detach(&attached, &size);
    free(attached);
}

/* These receives may get the handles of the freed requests: a stale table entry would count them as sends. */
static void receives_after_persistent_sends(void)
{
    MPI_Request requests[4];
    for (int i = 0; i < 4; i++)
        MPI_Recv_init(incoming, 10, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
}

static void probes(void)
{
    MPI_Request send, receive;
    MPI_Message message;
    MPI_Status status;
    int flag;
    for (int round = 0; round < 4; round++) {
        MPI_Isend(outgoing, 50 + round, MPI_CHAR, next, 4, MPI_COMM_WORLD, &send);
        expect_send(next, 50 + round);
        if (round == 0) {
            MPI_Probe(previous, 4, MPI_COMM_WORLD, &status);
            MPI_Recv(incoming, 100, MPI_CHAR, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (round == 1) {
            for (flag = 0; !flag;)
                MPI_Iprobe(previous, 4, MPI_COMM_WORLD, &flag, &status);
            MPI_Recv(incoming, 100, MPI_CHAR, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (round == 2) {
            MPI_Mprobe(previous, 4, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(incoming, 100, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        } else {
            for (flag = 0; !flag;)
                MPI_Improbe(previous, 4, MPI_COMM_WORLD, &flag, &message, &status);
            MPI_Imrecv(incoming, 100, MPI_CHAR, &message, &receive);
            finish(&receive);
        }
        for (flag = 0; !flag;)
            MPI_Request_get_status(send, &flag, MPI_STATUS_IGNORE);
        for (flag = 0; !flag;)
            MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    }
}

static void special_destinations_and_types(void)
{
    MPI_Request requests[2];
    MPI_Datatype columns;
    MPI_Send(outgoing, 10, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Isend(outgoing, 10, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    finish(&requests[0]);
    MPI_Sendrecv(outgoing, 10, MPI_CHAR, MPI_PROC_NULL, 0, incoming, 10, MPI_CHAR, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    MPI_Irecv(incoming, 64, MPI_CHAR, 0, 5, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(outgoing, 64, MPI_CHAR, 0, 5, MPI_COMM_SELF, &requests[1]);
    expect_send(rank, 64);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    MPI_Type_vector(5, 2, 10, MPI_INT, &columns);
    MPI_Type_commit(&columns);
    MPI_Irecv(incoming, 200, MPI_CHAR, previous, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(outgoing, 3, columns, next, 6, MPI_COMM_WORLD);
    expect_send(next, 3 * 5 * 2 * 4);
    finish(&requests[0]);
    MPI_Type_free(&columns);
}

/* Tests and waits that MPI 4.1 added. */
static void newer_completion(void)
{
#if HAS_MPI_4_1
    MPI_Request requests[2];
    MPI_Session session;
    int flag, index, count, indices[2];
    void *attached;
    int size;
    MPI_Irecv(incoming, 60, MPI_CHAR, previous, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(outgoing, 60, MPI_CHAR, next, 7, MPI_COMM_WORLD, &requests[1]);
    expect_send(next, 60);
    for (flag = 0; !flag;)
        MPI_Request_get_status_any(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    for (count = 0; count == 0;)
        MPI_Request_get_status_some(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    for (flag = 0; !flag;)
        MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    MPI_Irecv(incoming, 61, MPI_CHAR, previous, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Buffer_attach(malloc(4096), 4096);
    MPI_Bsend(outgoing, 61, MPI_CHAR, next, 8, MPI_COMM_WORLD);
    expect_send(next, 61);
    MPI_Buffer_flush();
    MPI_Buffer_iflush(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&attached, &size);
    free(attached);

    char buffer[4096];
    MPI_Comm_attach_buffer(MPI_COMM_WORLD, buffer, sizeof buffer);
    MPI_Comm_flush_buffer(MPI_COMM_WORLD);
    MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &requests[0]);
    finish(&requests[0]);
    MPI_Comm_detach_buffer(MPI_COMM_WORLD, &attached, &size);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_attach_buffer(session, buffer, sizeof buffer);
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &requests[0]);
    finish(&requests[0]);
    MPI_Session_detach_buffer(session, &attached, &size);
    MPI_Session_finalize(&session);
#endif
}

void sample_point_to_point(void)
{
    next = (rank + 1) % 4;
    previous = (rank + 3) % 4;
    blocking_sends();
    nonblocking_sends();
    combined_sends();
    persistent_sends();
    receives_after_persistent_sends();
    probes();
    special_destinations_and_types();
    newer_completion();
}
