/* plan.c - which ranks are measured, and in what order. */
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct list {
    const struct world *world;
    struct step *steps;
    int count;
};

static void add_step(struct list *list, struct step step, const char *format, ...)
{
    va_list arguments;
    if (list->count == MOST_STEPS)
        return;
    va_start(arguments, format);
    vsnprintf(step.what, sizeof step.what, format, arguments);
    va_end(arguments);
    list->steps[list->count++] = step;
}

int rank_on(const struct world *world, int host, int local)
{
    for (int rank = world->first_rank[host]; rank < world->size; rank++)
        if (world->host_of[rank] == host && local-- == 0)
            return rank;
    return -1;
}

/* The nearest thing that two ranks of a host share. */
static const char *level_of(const struct place *a, const struct place *b)
{
    if (a->core == b->core)
        return "core";
    if (a->cache >= 0 && a->cache == b->cache)
        return "cache";
    if (a->numa >= 0 && a->numa == b->numa)
        return "numa";
    return a->package == b->package ? "package" : "node";
}

static void add_messages(struct list *list, struct step step)
{
    const char *where = strcmp(step.level, "nodes") == 0 ? "between nodes" : "inside the node";
    step.pairs = 1;
    step.run = measure_latency;
    add_step(list, step, "latency %s (%s)", where, step.level);
    step.run = measure_receive;
    add_step(list, step, "overhead of the receiver %s (%s)", where, step.level);
    step.run = measure_gap;
    add_step(list, step, "message rate %s (%s)", where, step.level);
    step.run = measure_eager;
    add_step(list, step, "eager limit %s (%s)", where, step.level);
}

/* Messages inside a node, once for each thing that two ranks can share. */
static void add_levels(struct list *list)
{
    static const char *const levels[] = {"core", "cache", "numa", "package", "node"};
    const struct world *world = list->world;
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        int found = 0;
        for (int a = 0; a < world->size && !found; a++) {
            for (int b = a + 1; b < world->size && !found; b++) {
                const struct place *first = &world->places[a], *second = &world->places[b];
                found = world->host_of[a] == world->host_of[b] && first->pu >= 0 && second->pu >= 0
                        && first->pu != second->pu && strcmp(level_of(first, second), levels[level]) == 0;
                if (!found)
                    continue;
                struct step step = {.level = levels[level], .first = a, .second = b, .pairs = 1};
                add_messages(list, step);
                step.run = measure_bandwidth;
                add_step(list, step, "bandwidth inside the node (%s)", levels[level]);
            }
        }
    }
}

/* Copies of 1, 2, 4, .. ranks in the first NUMA node of the first host, and of one in another NUMA node. */
static void add_copies(struct list *list)
{
    const struct world *world = list->world;
    const struct place *first = &world->places[0];
    int here = 0, far = -1;
    if (first->pu < 0)
        return;
    for (int rank = 0; rank < world->size; rank++) {
        const struct place *place = &world->places[rank];
        if (world->host_of[rank] != 0 || place->pu < 0)
            continue;
        if (place->numa == first->numa)
            here++;
        else if (far < 0)
            far = rank;
    }
    for (int copying = 1; copying <= here; copying = copying * 2 <= here || copying == here ? copying * 2 : here) {
        struct step step = {.run = measure_copies, .level = "numa", .pairs = copying};
        add_step(list, step, "memory copies by %d", copying);
    }
    if (far >= 0) {
        struct step step = {.run = measure_far_copies, .level = "numa", .second = far, .pairs = 1};
        add_step(list, step, "copies in another NUMA node");
    }
}

/* The numbers of pairs at which the curve is measured: all up to 8, then with gaps, then all ranks. */
static int next_pairs(int pairs, int most)
{
    int next = pairs < 8 ? pairs + 1 : pairs + pairs / 2;
    return next > most && pairs < most ? most : next;
}

static void add_curve(struct list *list, int first_host, int second_host)
{
    const struct world *world = list->world;
    int most = world->ranks_on[first_host];
    if (world->ranks_on[second_host] < most)
        most = world->ranks_on[second_host];
    for (int both = 0; both <= 1; both++) {
        for (int pairs = 1; pairs <= most; pairs = next_pairs(pairs, most)) {
            struct step step = {.run = measure_bandwidth, .level = "nodes", .pairs = pairs, .both = both,
                                .first = world->first_rank[first_host], .second = world->first_rank[second_host]};
            add_step(list, step, "bandwidth of a device, %d pair%s%s", pairs, pairs == 1 ? "" : "s",
                     both ? ", both ways" : "");
        }
    }
}

/* From the other NUMA nodes of the first host: how much a far device costs. */
static void add_far_devices(struct list *list, int first_host, int second_host)
{
    const struct world *world = list->world;
    int seen[64], count = 0, second = world->first_rank[second_host];
    seen[count++] = world->places[world->first_rank[first_host]].numa;
    for (int rank = 0; rank < world->size && count < 64; rank++) {
        int numa = world->places[rank].numa, known = 0;
        for (int i = 0; i < count; i++)
            known = known || seen[i] == numa;
        if (world->host_of[rank] != first_host || numa < 0 || known)
            continue;
        seen[count++] = numa;
        struct step step = {.run = measure_latency, .level = "nodes", .first = rank, .second = second, .pairs = 1};
        add_step(list, step, "latency from NUMA node %d", numa);
        step.run = measure_bandwidth;
        add_step(list, step, "bandwidth from NUMA node %d", numa);
    }
}

/* Whether two names mean one host: equal, or one is short and the first label of the other. Case does not matter. */
static int same_host(const char *one, const char *other)
{
    size_t first = strcspn(one, "."), second = strcspn(other, ".");
    int has_short = one[first] == '\0' || other[second] == '\0';
    return strcasecmp(one, other) == 0
           || (has_short && first == second && strncasecmp(one, other, first) == 0);
}

static int host_named(const struct world *world, const char *name)
{
    for (int host = 0; host < world->hosts; host++)
        if (same_host(world->places[world->first_rank[host]].host, name))
            return host;
    return -1;
}

/* Every host once as a sender, so that a slow one shows; of many hosts, some that are far apart. */
static void add_devices(struct list *list)
{
    const struct world *world = list->world;
    int measured = world->hosts < MOST_HOSTS_MEASURED ? world->hosts : MOST_HOSTS_MEASURED;
    for (int i = 0; measured > 1 && i < measured; i++) {
        int first = i * world->hosts / measured, second = (first + 1) % world->hosts;
        struct step step = {.run = measure_bandwidth, .level = "nodes", .pairs = 1,
                            .first = world->first_rank[first], .second = world->first_rank[second]};
        if (i > 0)
            add_step(list, step, "bandwidth of the device of %s", world->places[step.first].host);
    }
}

/* Latency between hosts that several levels of switches separate. */
static void add_across(struct list *list)
{
    const struct world *world = list->world;
    for (int i = 0; i < world->settings.across_count; i++) {
        const struct across *across = &world->settings.across[i];
        int first = host_named(world, across->first), second = host_named(world, across->second);
        if (first < 0 || second < 0 || first == second)
            continue;
        struct step step = {.run = measure_latency, .level = "nodes", .pairs = 1, .across = across->levels,
                            .first = world->first_rank[first], .second = world->first_rank[second]};
        add_step(list, step, "latency through %d levels of switches", across->levels);
    }
}

int make_plan(const struct world *world, struct step *steps)
{
    struct list list = {.world = world, .steps = steps};
    if (!world->settings.shares_pus) {
        add_levels(&list);
        add_copies(&list);
    }
    if (world->hosts > 1) {
        add_messages(&list, (struct step){.level = "nodes", .first = 0, .second = world->first_rank[1]});
        add_across(&list);
        add_curve(&list, 0, 1);
        if (!world->settings.shares_pus)
            add_far_devices(&list, 0, 1);
        add_devices(&list);
    }
    return list.count;
}
