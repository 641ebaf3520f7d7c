/* measure.c - the measurements, as rank 0 leads them. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 8, ROUND_TRIPS = 40, RECEIVES = 24, IN_FLIGHT = 4, MANY_IN_FLIGHT = 64 };

static struct pool pool, other_pool;

static void begin_pools(void)
{
    pool.count = other_pool.count = 0;
}

/* The orders for a pair of ranks: one sends, the other receives, or each does both. */
static void order_pair(struct part *parts, int first, int second, struct order order, int both)
{
    order.numa = -1;
    parts[0].rank = first;
    parts[0].order = order;
    parts[0].order.role = both ? ROLE_BOTH : ROLE_FIRST;
    parts[0].order.partner = second;
    parts[1].rank = second;
    parts[1].order = order;
    parts[1].order.role = both ? ROLE_BOTH : ROLE_SECOND;
    parts[1].order.partner = first;
}

/* One measurement between the two ranks of a step, one way. */
static void measure_pair(const struct world *world, const struct step *step, struct order order,
                         struct answer answers[2])
{
    struct part parts[2];
    order_pair(parts, step->first, step->second, order, 0);
    measure(world, parts, 2, answers);
}

/* The least of a few half round trips. */
static double one_way(const struct world *world, const struct step *step, int bytes)
{
    struct answer answers[2];
    measure_pair(world, step, (struct order){.item = ITEM_ROUND_TRIPS, .bytes = bytes, .count = 8}, answers);
    double least = answers[0].sample[0];
    for (int i = 1; i < answers[0].samples; i++)
        least = answers[0].sample[i] < least ? answers[0].sample[i] : least;
    return least;
}

void measure_latency(const struct world *world, const struct step *step)
{
    struct answer answers[2];
    double begin = now(), wire = 0, messages = 0, sent = 0;
    char device[DEVICE_NAME] = "";
    begin_pools();
    do {
        struct order order = {.item = ITEM_ROUND_TRIPS, .bytes = SHORT, .count = ROUND_TRIPS};
        measure_pair(world, step, order, answers);
        for (int i = 0; i < answers[0].samples; i++) {
            add_sample(&pool, answers[0].sample[i]);
            add_sample(&other_pool, answers[0].other[i]);
        }
        wire += answers[0].wire;
        sent += answers[0].sent;
        messages += answers[0].messages;
        memcpy(device, answers[0].device, sizeof device);
    } while (!is_settled(&pool) && now() - begin < world->settings.time_per_item);
    tell_rate(world, step, "one_way", SHORT, device, &pool);
    tell_rate(world, step, "send_overhead", SHORT, device, &other_pool);
    if (strcmp(step->level, "nodes") == 0 && wire > sent) {
        begin_pools();
        add_sample(&pool, (wire - sent) / messages);
        tell_rate(world, step, "wire_per_message", SHORT, device, &pool);
    }
}

void measure_receive(const struct world *world, const struct step *step)
{
    struct answer answers[2];
    double begin = now(), way = one_way(world, step, SHORT);
    begin_pools();
    do {
        /* Long enough for the message to have come. */
        struct order order = {.item = ITEM_RECEIVE, .bytes = SHORT, .count = RECEIVES, .seconds = 4 * way + 1e-3};
        measure_pair(world, step, order, answers);
        for (int i = 0; i < answers[1].samples; i++)
            add_sample(&pool, answers[1].sample[i]);
    } while (!is_settled(&pool) && now() - begin < world->settings.time_per_item);
    tell_rate(world, step, "receive_overhead", SHORT, "", &pool);
}

/* Whether a message of this length is sent before its receive is posted: one of up to three tries says so. A send that
 * completes cannot have needed the receiver; one that does not may have been interrupted. */
static int is_eager(const struct world *world, const struct step *step, int bytes, double away)
{
    struct answer answers[2];
    for (int tries = 0; tries < 3; tries++) {
        measure_pair(world, step, (struct order){.item = ITEM_EAGER, .bytes = bytes, .seconds = away}, answers);
        if (answers[0].sample[0] != 0)
            return 1;
    }
    return 0;
}

void measure_eager(const struct world *world, const struct step *step)
{
    enum { SHORTEST = 64, LONGEST = 8 << 20, EXACT = 64 };
    double begin = now(), limit = 2 * world->settings.time_per_item;
    double patience = 10e-3 + 2 * one_way(world, step, SHORT);
    int low = 0, high = SHORTEST;
    begin_pools();
    for (; high <= LONGEST; high *= 2) {
        /* The time that the bytes need counts too: a slow device keeps the socket full. */
        if (!is_eager(world, step, high, 2 * patience) || now() - begin > limit)
            break;
        low = high;
    }
    if (low == 0 || high > LONGEST)
        return;
    while (high - low > EXACT && now() - begin < limit) {
        int middle = low + (high - low) / 2;
        if (is_eager(world, step, middle, 2 * patience))
            low = middle;
        else
            high = middle;
    }
    add_sample(&pool, low);
    tell_rate(world, step, "eager_limit", high - low, "", &pool);
}

/* How long a stream takes: ranks that share PUs are paused now and then. */
static double stream_time(const struct world *world)
{
    double most = world->settings.shares_pus ? 1.5 : 0.5;
    return world->settings.time_per_item < most ? world->settings.time_per_item : most;
}

void measure_gap(const struct world *world, const struct step *step)
{
    struct answer answers[2];
    double begin = now();
    begin_pools();
    do {
        struct order order = {.item = ITEM_STREAM, .bytes = SHORT, .count = MANY_IN_FLIGHT,
                              .seconds = 0.5 * stream_time(world)};
        measure_pair(world, step, order, answers);
        for (int i = 0; i < answers[1].samples; i++)
            if (answers[1].sample[i] > 0)
                add_sample(&pool, SHORT / answers[1].sample[i]);
    } while (!is_settled(&pool) && now() - begin < world->settings.time_per_item);
    tell_rate(world, step, "gap", SHORT, "", &pool);
}

/* A length of which some hundred fit into a stream: blocks must have several, and every message costs an overhead. */
static int stream_length(const struct world *world, const struct step *step)
{
    enum { PILOT = 64 << 10, SHORTEST = 4 << 10, LONGEST = 4 << 20, IN_CACHE = 256 << 10 };
    if (strcmp(step->level, "cache") == 0 || strcmp(step->level, "core") == 0)
        return IN_CACHE;
    if (strcmp(step->level, "nodes") != 0)
        return LONGEST;
    double wanted = PILOT / one_way(world, step, PILOT) * stream_time(world) / (150.0 * step->pairs);
    int length = SHORTEST;
    while (length < LONGEST && 2 * length < wanted)
        length *= 2;
    return length;
}

/* The sum of what the receivers of one measurement got, block by block. */
static void add_sums(const struct answer *answers, int parts)
{
    int blocks = MOST_SAMPLES;
    for (int part = 0; part < parts; part++)
        if (answers[part].samples > 0 && answers[part].samples < blocks)
            blocks = answers[part].samples;
    for (int block = 0; block < blocks && blocks < MOST_SAMPLES; block++) {
        double sum = 0;
        for (int part = 0; part < parts; part++)
            if (answers[part].samples > 0)
                sum += answers[part].sample[block];
        add_sample(&pool, sum);
    }
}

/* Bytes on the wire for each byte of payload, by the last stream of one pair one way. */
static double wire_per_byte;

/* Whether the counters of the sender's device tell the rate better than the clocks of the receivers. */
static int counts_on_wire(const struct step *step, const struct answer *answer)
{
    if (step->pairs == 1 && !step->both)
        wire_per_byte = answer->sent > 0 ? answer->wire / answer->sent : 0;
    return answer->on_wire > 0 && !step->both && wire_per_byte >= 1;
}

/* Streams between as many pairs as the step says: the ranks of two hosts, or the two ranks of the step. */
void measure_bandwidth(const struct world *world, const struct step *step)
{
    int count = 2 * step->pairs, bytes = stream_length(world, step);
    struct part *parts = calloc((size_t)count, sizeof *parts);
    struct answer *answers = calloc((size_t)count, sizeof *answers);
    double begin = now(), sent = 0, wire = 0;
    char device[DEVICE_NAME] = "";
    struct order order = {.item = ITEM_STREAM, .bytes = bytes, .count = world->settings.shares_pus ? MANY_IN_FLIGHT / 4 : IN_FLIGHT,
                          .seconds = stream_time(world)};
    for (int pair = 0; pair < step->pairs; pair++) {
        int first = step->first, second = step->second;
        if (step->pairs > 1) {
            first = rank_on(world, world->host_of[step->first], pair);
            second = rank_on(world, world->host_of[step->second], pair);
        }
        order_pair(&parts[2 * pair], first, second, order, step->both);
    }
    begin_pools();
    do {
        measure(world, parts, count, answers);
        if (counts_on_wire(step, &answers[0]))
            for (int i = 0; i < answers[0].on_wire; i++)
                add_sample(&pool, answers[0].other[i] / wire_per_byte);
        else
            add_sums(answers, count);
        sent += answers[0].sent;
        wire += answers[0].wire;
        memcpy(device, answers[0].device, sizeof device);
    } while (!is_settled(&pool) && now() - begin < world->settings.time_per_item);
    tell_rate(world, step, "bandwidth", bytes, device, &pool);
    if (step->pairs == 1 && !step->both && strcmp(step->level, "nodes") == 0 && device[0] != '\0') {
        begin_pools();
        /* Below 1 where the MPI library shares out a message over several devices, which its reader refuses. */
        add_sample(&pool, wire / sent);
        tell_rate(world, step, "wire_per_byte", bytes, device, &pool);
    }
    free(parts);
    free(answers);
}

static void measure_copies_of(const struct world *world, const struct step *step, int numa, const char *rate)
{
    enum { LENGTH = 64 << 20 };
    int found = 0;
    struct part *parts = calloc((size_t)world->size, sizeof *parts);
    struct answer *answers = calloc((size_t)world->size, sizeof *answers);
    for (int rank = 0; rank < world->size && found < step->pairs; rank++) {
        const struct place *place = &world->places[rank], *first = &world->places[step->first];
        if (world->host_of[rank] != world->host_of[step->first] || place->numa != first->numa)
            continue;
        parts[found].rank = rank;
        parts[found++].order =
            (struct order){.item = ITEM_COPY, .bytes = LENGTH, .numa = numa, .seconds = stream_time(world)};
    }
    double begin = now();
    begin_pools();
    do {
        measure(world, parts, found, answers);
        int before = pool.count;
        add_sums(answers, found);
        /* Without the right to choose the memory there is nothing to measure. */
        if (pool.count == before)
            break;
    } while (!is_settled(&pool) && now() - begin < world->settings.time_per_item);
    tell_rate(world, step, rate, LENGTH, "", &pool);
    free(parts);
    free(answers);
}

void measure_copies(const struct world *world, const struct step *step)
{
    measure_copies_of(world, step, -1, "copy");
}

/* One rank copies in the memory of the NUMA node of another rank. */
void measure_far_copies(const struct world *world, const struct step *step)
{
    measure_copies_of(world, step, world->places[step->second].numa, "far_copy");
}
