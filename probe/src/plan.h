/* plan.h - what is measured between which ranks, and the record of it. */
#ifndef PROBE_PLAN_H
#define PROBE_PLAN_H

#include <mpi.h>

#include "host.h"
#include "order.h"

enum { MOST_STEPS = 512, MOST_ACROSS = 16, MOST_HOSTS_MEASURED = 16, MOST_POOL = 4096 };

/* A pair of hosts and the number of switch levels that messages between them climb. */
struct across {
    char first[256], second[256]; /* of the description; with or without a domain */
    int levels;
};

struct settings {
    double time_per_item; /* seconds */
    int shares_pus;       /* given by the user, or found */
    struct across across[MOST_ACROSS];
    int across_count;
};

/* All ranks, as rank 0 sees them. */
struct world {
    MPI_Comm comm;
    int size;
    struct place *places;
    int *host_of;     /* by rank; numbers in the order of the first ranks */
    int hosts;
    int *first_rank;  /* by host */
    int *ranks_on;    /* by host */
    struct settings settings;
};

struct step;
typedef void (*measurement)(const struct world *world, const struct step *step);

struct step {
    measurement run;
    char what[96];
    const char *level;
    int first, second; /* ranks; of ITEM_COPY: host and NUMA node */
    int pairs, both;
    int across;
};

/* A part of a measurement: an order and the rank that gets it. */
struct part {
    int rank;
    struct order order;
};

/* Sends the orders and collects the answers. */
void measure(const struct world *world, const struct part *parts, int count, struct answer *answers);

/* Makes the list of steps; the number of them. */
int make_plan(const struct world *world, struct step *steps);

/* The rank of a host with this local number; -1 if it has none. */
int rank_on(const struct world *world, int host, int local);

/* The measurements. */
void measure_latency(const struct world *world, const struct step *step);
void measure_receive(const struct world *world, const struct step *step);
void measure_gap(const struct world *world, const struct step *step);
void measure_eager(const struct world *world, const struct step *step);
void measure_bandwidth(const struct world *world, const struct step *step);
void measure_copies(const struct world *world, const struct step *step);
void measure_far_copies(const struct world *world, const struct step *step);

/* Samples of one rate. */
struct pool {
    int count;
    double sample[MOST_POOL];
};

void add_sample(struct pool *pool, double sample);

/* Whether more samples would hardly change the median. */
int is_settled(const struct pool *pool);

/* Prints a line of the record: the median and the quartiles of the pool. */
void tell_rate(const struct world *world, const struct step *step, const char *rate, int bytes, const char *device,
               struct pool *pool);

/* Prints the beginning of the record, a step, the end. */
void tell_world(const struct world *world);
void tell_step(const struct step *step, int number, int count);
void tell_end(double seconds);

#endif
