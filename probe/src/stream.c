/*
 * stream.c - messages one after another for some time, one way or both ways.
 *
 * The receiver's clock decides: what the sender hands over may wait in buffers on the way. The first third is left
 * out, because shaped devices let a burst through first and connections begin slowly. The rest is cut into blocks;
 * each gives a rate, from the first message that completes in a block to the first one of the next.
 *
 * Where ranks share PUs the receiver is paused now and then, and what has waited in its socket then comes in a burst.
 * The device of the sender sends on meanwhile: the sender reads its counters at the same blocks.
 */
#include "devices.h"
#include "order.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 9, SKIPPED = 3, MOST_IN_FLIGHT = 64, MORE = 0, LAST = 1, ANSWERED = 1 };

struct direction {
    char *buffers;
    MPI_Request *requests;
    int in_flight;
    int open;    /* requests that are not complete */
    int ending;  /* whether the time is over */
};

struct receiver {
    double start;
    double bytes;
    double first_time, first_bytes, last_time; /* of all messages */
    int block;                 /* the next whose first message is awaited */
    double time[BLOCKS + 1];   /* of the first message that completed in each block */
    double before[BLOCKS + 1]; /* bytes that had come then */
};

/* What the devices of the sender's host had sent at each block. */
struct sender {
    int block; /* the next */
    double time[BLOCKS + 1];
    struct devices sent[BLOCKS + 1];
};

static char *buffer_of(const struct order *order, struct direction *direction, int slot)
{
    return direction->buffers + (size_t)slot * (size_t)order->bytes;
}

static void post_send(const struct order *order, struct direction *out, int slot, MPI_Comm comm)
{
    char *buffer = buffer_of(order, out, slot);
    buffer[0] = out->ending ? LAST : MORE;
    int tag = order->role == ROLE_SECOND ? 1 : 0;
    MPI_Isend(buffer, order->bytes, MPI_BYTE, order->partner, tag, comm, &out->requests[slot]);
    out->open++;
}

static void post_receive(const struct order *order, struct direction *in, int slot, MPI_Comm comm)
{
    MPI_Irecv(buffer_of(order, in, slot), order->bytes, MPI_BYTE, order->partner, MPI_ANY_TAG, comm,
              &in->requests[slot]);
    in->open++;
}

static void note_receipt(const struct order *order, struct receiver *receiver, double time)
{
    receiver->bytes += order->bytes;
    if (receiver->first_time == 0) {
        receiver->first_time = time;
        receiver->first_bytes = receiver->bytes;
    }
    receiver->last_time = time;
    double share = (time - receiver->start) / order->seconds * BLOCKS;
    if (share >= receiver->block && receiver->block <= BLOCKS) {
        receiver->block = (int)share > BLOCKS ? BLOCKS : (int)share;
        receiver->time[receiver->block] = time;
        receiver->before[receiver->block] = receiver->bytes;
        receiver->block++;
    }
}

/* Sends again where a message has left; when the time is over, one last message instead, so that the receiver gets as
 * many as it has receives open. */
static void progress_sends(const struct order *order, struct direction *out, double start, struct answer *answer,
                           MPI_Comm comm)
{
    MPI_Status statuses[MOST_IN_FLIGHT];
    int indices[MOST_IN_FLIGHT], count = 0;
    MPI_Testsome(out->in_flight, out->requests, &count, indices, statuses);
    if (count == MPI_UNDEFINED || count == 0)
        return;
    out->open -= count;
    answer->messages += count;
    answer->sent += (double)count * order->bytes;
    out->ending = out->ending || now() - start >= order->seconds;
    for (int i = 0; i < count; i++)
        if (buffer_of(order, out, indices[i])[0] == MORE)
            post_send(order, out, indices[i], comm);
}

static void progress_receives(const struct order *order, struct direction *in, struct receiver *receiver,
                              MPI_Comm comm)
{
    MPI_Status statuses[MOST_IN_FLIGHT];
    int indices[MOST_IN_FLIGHT], count = 0;
    MPI_Testsome(in->in_flight, in->requests, &count, indices, statuses);
    if (count == MPI_UNDEFINED || count == 0)
        return;
    double time = now();
    in->open -= count;
    for (int i = 0; i < count; i++) {
        note_receipt(order, receiver, time);
        if (buffer_of(order, in, indices[i])[0] == MORE)
            post_receive(order, in, indices[i], comm);
    }
}

static void open_direction(const struct order *order, struct direction *direction)
{
    memset(direction, 0, sizeof *direction);
    direction->in_flight = order->count < MOST_IN_FLIGHT ? order->count : MOST_IN_FLIGHT;
    size_t slots = (size_t)direction->in_flight;
    direction->buffers = calloc(slots, (size_t)order->bytes);
    direction->requests = malloc(slots * sizeof *direction->requests);
    for (size_t slot = 0; slot < slots; slot++)
        direction->requests[slot] = MPI_REQUEST_NULL;
}

static void close_direction(struct direction *direction)
{
    free(direction->buffers);
    free(direction->requests);
}

/* Blocks without a message, as of one that takes longer than a block, are part of the block before. */
static void rates(const struct receiver *receiver, struct answer *answer)
{
    int before = -1;
    for (int block = SKIPPED; block < BLOCKS; block++) {
        if (receiver->time[block] == 0)
            continue;
        if (before >= 0 && receiver->time[block] > receiver->time[before])
            answer->sample[answer->samples++] = (receiver->before[block] - receiver->before[before])
                                                / (receiver->time[block] - receiver->time[before]);
        before = block;
    }
    /* A receiver that was paused most of the time has no blocks. */
    if (answer->samples == 0 && receiver->last_time > receiver->first_time)
        answer->sample[answer->samples++] =
            (receiver->bytes - receiver->first_bytes) / (receiver->last_time - receiver->first_time);
}

static void note_sent(const struct order *order, struct sender *sender, double start)
{
    double share = (now() - start) / order->seconds * BLOCKS;
    if (sender->block > BLOCKS || share < sender->block)
        return;
    /* A sender that was paused leaves blocks out. */
    if (share > sender->block + 1)
        sender->block = share < BLOCKS ? (int)share : BLOCKS;
    read_devices(&sender->sent[sender->block]);
    sender->time[sender->block++] = now();
}

/* The rates of the device that sent most, block by block. A counter that stands still is not kept up to date. */
static void wire_rates(const struct sender *sender, struct answer *answer)
{
    char name[DEVICE_NAME];
    int before = -1;
    for (int block = SKIPPED; block <= BLOCKS; block++) {
        if (sender->time[block] == 0)
            continue;
        if (before >= 0) {
            const struct devices *then = &sender->sent[before], *here = &sender->sent[block];
            if (answer->on_wire == 0)
                busiest_device(then, here, name, sizeof name);
            double bytes = sent_by(here, name) - sent_by(then, name);
            if (bytes <= 0) {
                answer->on_wire = 0;
                return;
            }
            answer->other[answer->on_wire++] = bytes / (sender->time[block] - sender->time[before]);
        }
        before = block;
    }
}

void stream(const struct order *order, struct answer *answer, MPI_Comm comm)
{
    struct direction out, in;
    struct receiver receiver;
    char received = 0;
    int sends = order->role & ROLE_FIRST, receives = order->role & ROLE_SECOND;
    int counts = probe_shares_pus && order->role == ROLE_FIRST;
    static struct sender sender;
    memset(&sender, 0, sizeof sender);
    memset(&receiver, 0, sizeof receiver);
    open_direction(order, &out);
    open_direction(order, &in);
    for (int slot = 0; receives && slot < in.in_flight; slot++)
        post_receive(order, &in, slot, comm);
    double start = receiver.start = now();
    for (int slot = 0; sends && slot < out.in_flight; slot++)
        post_send(order, &out, slot, comm);
    while (out.open > 0 || in.open > 0) {
        int before = answer->messages;
        double bytes = receiver.bytes;
        if (sends)
            progress_sends(order, &out, start, answer, comm);
        if (counts)
            note_sent(order, &sender, start);
        if (receives)
            progress_receives(order, &in, &receiver, comm);
        if (probe_shares_pus && before == answer->messages && bytes == receiver.bytes)
            sched_yield();
    }
    /* What is in buffers has passed the device only when it has come. */
    if (order->role == ROLE_FIRST)
        receive_from(order->partner, &received, 1, ANSWERED, comm);
    if (order->role == ROLE_SECOND)
        send_to(order->partner, &received, 1, ANSWERED, comm);
    rates(&receiver, answer);
    wire_rates(&sender, answer);
    close_direction(&out);
    close_direction(&in);
}
