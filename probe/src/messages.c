/* messages.c - measurements between two ranks. Tag 0 is the forward direction, tag 1 the answers. */
#include "order.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "devices.h"

int probe_shares_pus;

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void pause_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    while (nanosleep(&time, &time) != 0) {
    }
}

void wait_for(MPI_Request *request)
{
    for (;;) {
        int done = 0;
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        if (probe_shares_pus)
            sched_yield();
    }
}

void send_to(int rank, void *bytes, int length, int tag, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Isend(bytes, length, MPI_BYTE, rank, tag, comm, &request);
    wait_for(&request);
}

void receive_from(int rank, void *bytes, int length, int tag, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Irecv(bytes, length, MPI_BYTE, rank, tag, comm, &request);
    wait_for(&request);
}

void round_trips(const struct order *order, struct answer *answer, MPI_Comm comm)
{
    char *buffer = calloc(1, (size_t)order->bytes + 1);
    int first = order->role == ROLE_FIRST;
    for (int i = 0; i < order->count; i++) {
        double start = now(), sent;
        MPI_Request request;
        if (first) {
            MPI_Isend(buffer, order->bytes, MPI_BYTE, order->partner, 0, comm, &request);
            sent = now();
            wait_for(&request);
            receive_from(order->partner, buffer, order->bytes, 1, comm);
            /* The first few set up connections and fill caches. */
            int place = i - order->count / 4;
            if (place >= 0 && place < MOST_SAMPLES) {
                answer->sample[place] = 0.5 * (now() - start);
                answer->other[place] = sent - start;
                answer->samples = place + 1;
            }
        } else {
            receive_from(order->partner, buffer, order->bytes, 0, comm);
            send_to(order->partner, buffer, order->bytes, 1, comm);
        }
    }
    answer->messages = order->count;
    answer->sent = (double)order->count * order->bytes;
    free(buffer);
}

/* `seconds` is a time in which a message has surely arrived. */
void receive(const struct order *order, struct answer *answer, MPI_Comm comm)
{
    char *buffer = calloc(1, (size_t)order->bytes + 1);
    for (int i = 0; i < order->count; i++) {
        if (order->role == ROLE_FIRST) {
            send_to(order->partner, buffer, order->bytes, 0, comm);
            receive_from(order->partner, buffer, 1, 1, comm);
            continue;
        }
        /* Awake, because a rank that computes is awake when its message comes. */
        double start = now();
        while (now() - start < order->seconds)
            if (probe_shares_pus)
                sched_yield();
        start = now();
        receive_from(order->partner, buffer, order->bytes, 0, comm);
        if (i > 0 && i <= MOST_SAMPLES) {
            answer->sample[i - 1] = now() - start;
            answer->samples = i;
        }
        send_to(order->partner, buffer, 1, 1, comm);
    }
    free(buffer);
}

/* `seconds` is how long the receiver stays away from MPI; the sender is patient half as long. */
void eager(const struct order *order, struct answer *answer, MPI_Comm comm)
{
    char *buffer = calloc(1, (size_t)order->bytes + 1);
    if (order->role == ROLE_SECOND) {
        send_to(order->partner, buffer, 1, 1, comm);
        pause_for(order->seconds);
        receive_from(order->partner, buffer, order->bytes, 0, comm);
        free(buffer);
        return;
    }
    receive_from(order->partner, buffer, 1, 1, comm);
    MPI_Request request;
    int done = 0;
    double start = now();
    MPI_Isend(buffer, order->bytes, MPI_BYTE, order->partner, 0, comm, &request);
    do {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done && probe_shares_pus)
            sched_yield();
    } while (!done && now() - start < 0.5 * order->seconds);
    answer->sample[0] = done;
    answer->samples = 1;
    if (!done)
        wait_for(&request);
    free(buffer);
}

/* An MPI library shares out messages over at most so many devices. */
enum { MOST_SHARED_OUT = 16 };

void carry_out(const struct order *order, struct answer *answer, MPI_Comm comm)
{
    struct devices before, after;
    memset(answer, 0, sizeof *answer);
    read_devices(&before);
    switch (order->item) {
    case ITEM_ROUND_TRIPS: round_trips(order, answer, comm); break;
    case ITEM_RECEIVE: receive(order, answer, comm); break;
    case ITEM_STREAM: stream(order, answer, comm); break;
    case ITEM_EAGER: eager(order, answer, comm); break;
    case ITEM_COPY: copy_memory(order, answer); break;
    default: break;
    }
    read_devices(&after);
    answer->wire = busiest_device(&before, &after, answer->device, DEVICE_NAME);
    /* Of a fabric that counts elsewhere: what another device sent meanwhile says nothing. */
    if (answer->wire < answer->sent / MOST_SHARED_OUT) {
        answer->wire = 0;
        answer->device[0] = '\0';
    }
}
