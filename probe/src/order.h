/*
 * order.h - what rank 0 asks of the ranks, and what they answer.
 *
 * Rank 0 sends an order to each rank that takes part in a measurement, takes part itself if it is one of them, and
 * collects the answers. All other ranks nap: they must not occupy PUs that those that are measured may share.
 */
#ifndef PROBE_ORDER_H
#define PROBE_ORDER_H

#include <mpi.h>

enum item {
    ITEM_END,
    ITEM_ROUND_TRIPS, /* short messages to and fro: times of half a round trip, and of the calls that send */
    ITEM_RECEIVE,     /* times of calls that receive a message which has arrived */
    ITEM_STREAM,      /* messages one after another: bytes per second, by the receiver's clock */
    ITEM_EAGER,       /* whether a send completes before its receive is posted */
    ITEM_COPY,        /* copies in memory: bytes per second */
};

enum role { ROLE_FIRST = 1, ROLE_SECOND = 2, ROLE_BOTH = 3 };

struct order {
    int item;
    int role;        /* ROLE_FIRST sends, ROLE_SECOND receives, ROLE_BOTH does both */
    int partner;     /* its rank */
    int bytes;       /* length of a message */
    int count;       /* messages, or messages in flight */
    int numa;        /* NUMA node of the memory (P#), -1: the rank's own */
    double seconds;  /* how long */
};

enum { MOST_SAMPLES = 128, DEVICE_NAME = 32 };

struct answer {
    int samples;                  /* used places of `sample` and `other` */
    int messages;                 /* messages sent */
    double sample[MOST_SAMPLES];
    double other[MOST_SAMPLES];   /* ITEM_ROUND_TRIPS: seconds of each call that sends */
    int on_wire;                  /* ITEM_STREAM, a sender where ranks share PUs: used places of `other`, which has the */
                                  /* bytes per second that its device sent, block by block */
    double sent;                  /* payload bytes sent */
    double wire;                  /* bytes that the device below sent meanwhile */
    char device[DEVICE_NAME];     /* the device that sent most; empty: none that counts */
};

/* Whether ranks share PUs, so that waiting ranks must leave them to others. */
extern int probe_shares_pus;

/* Does this rank's part of a measurement. */
void carry_out(const struct order *order, struct answer *answer, MPI_Comm comm);

/* Waits for a request without occupying a PU that others need. */
void wait_for(MPI_Request *request);

/* A message to or from a rank, as a blocking call. */
void send_to(int rank, void *bytes, int length, int tag, MPI_Comm comm);
void receive_from(int rank, void *bytes, int length, int tag, MPI_Comm comm);

/* Seconds since some moment. */
double now(void);

/* Pauses without calling MPI. */
void pause_for(double seconds);

/* The parts of carry_out. */
void round_trips(const struct order *order, struct answer *answer, MPI_Comm comm);
void receive(const struct order *order, struct answer *answer, MPI_Comm comm);
void stream(const struct order *order, struct answer *answer, MPI_Comm comm);
void eager(const struct order *order, struct answer *answer, MPI_Comm comm);
void copy_memory(const struct order *order, struct answer *answer);

#endif
