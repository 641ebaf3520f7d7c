/*
 * main.c - measures the rates of a cluster between the ranks of an MPI job.
 *
 *   rankwright-probe [--time-per-item SECONDS] [--shares-pus] [--across HOST:HOST:LEVELS]..
 */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 10, ANSWER = 11 };

/* Waits for a message of rank 0, or of another rank, without occupying a PU. */
static void nap_until(MPI_Request *request)
{
    for (;;) {
        int done = 0;
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        pause_for(probe_shares_pus ? 2e-3 : 100e-6);
    }
}

static void work(MPI_Comm comm)
{
    struct order order;
    struct answer answer;
    MPI_Request request;
    for (;;) {
        MPI_Irecv(&order, sizeof order, MPI_BYTE, 0, ORDER, comm, &request);
        nap_until(&request);
        if (order.item == ITEM_END)
            return;
        carry_out(&order, &answer, comm);
        MPI_Isend(&answer, sizeof answer, MPI_BYTE, 0, ANSWER, comm, &request);
        nap_until(&request);
    }
}

void measure(const struct world *world, const struct part *parts, int count, struct answer *answers)
{
    MPI_Request *requests = calloc(2 * (size_t)count, sizeof *requests);
    int own = -1;
    for (int i = 0; i < count; i++) {
        requests[2 * i] = requests[2 * i + 1] = MPI_REQUEST_NULL;
        if (parts[i].rank == 0) {
            own = i;
            continue;
        }
        MPI_Irecv(&answers[i], sizeof *answers, MPI_BYTE, parts[i].rank, ANSWER, world->comm, &requests[2 * i]);
        MPI_Isend(&parts[i].order, sizeof parts[i].order, MPI_BYTE, parts[i].rank, ORDER, world->comm,
                  &requests[2 * i + 1]);
    }
    if (own >= 0)
        carry_out(&parts[own].order, &answers[own], world->comm);
    for (int i = 0; i < 2 * count; i++)
        nap_until(&requests[i]);
    free(requests);
}

static void lead(struct world *world, double begin)
{
    static struct step steps[MOST_STEPS];
    tell_world(world);
    int count = make_plan(world, steps);
    for (int i = 0; i < count; i++) {
        tell_step(&steps[i], i + 1, count);
        steps[i].run(world, &steps[i]);
    }
    for (int rank = 1; rank < world->size; rank++) {
        struct order end = {.item = ITEM_END};
        MPI_Request request;
        MPI_Isend(&end, sizeof end, MPI_BYTE, rank, ORDER, world->comm, &request);
        nap_until(&request);
    }
    tell_end(now() - begin);
}

/* The number of ranks before `end` on the host of a rank that may use the same PUs. */
static int alike_before(const struct world *world, int rank, int end)
{
    int count = 0;
    for (int other = 0; other < end; other++)
        count += world->host_of[other] == world->host_of[rank]
                 && CPU_EQUAL(&world->places[other].allowed, &world->places[rank].allowed);
    return count;
}

/* Numbers the hosts. */
static void find_hosts(struct world *world)
{
    world->hosts = 0;
    memset(world->ranks_on, 0, (size_t)world->size * sizeof *world->ranks_on);
    for (int rank = 0; rank < world->size; rank++) {
        int host = 0;
        while (host < world->hosts
               && strcmp(world->places[world->first_rank[host]].host, world->places[rank].host) != 0)
            host++;
        if (host == world->hosts)
            world->first_rank[world->hosts++] = rank;
        world->host_of[rank] = host;
        world->ranks_on[host]++;
    }
}

/* Whether ranks share PUs: hosts of one kernel, more ranks that may use the same PUs than there are, or two ranks on one
 * PU. */
static int ranks_share_pus(const struct world *world)
{
    for (int a = 0; a < world->hosts; a++) {
        const struct place *place = &world->places[world->first_rank[a]];
        for (int b = 0; b < a; b++)
            if (place->kernel[0] != '\0'
                && strcmp(place->kernel, world->places[world->first_rank[b]].kernel) == 0)
                return 1;
    }
    for (int a = 0; a < world->size; a++) {
        int allowed = CPU_COUNT(&world->places[a].allowed);
        if (allowed > 0 && alike_before(world, a, a + 1) > allowed)
            return 1;
        for (int b = 0; b < a; b++)
            if (world->host_of[a] == world->host_of[b] && world->places[a].pu >= 0
                && world->places[a].pu == world->places[b].pu)
                return 1;
    }
    return 0;
}

static void allocate(struct world *world)
{
    size_t size = (size_t)world->size;
    world->places = calloc(size, sizeof *world->places);
    world->host_of = calloc(size, sizeof *world->host_of);
    world->first_rank = calloc(size, sizeof *world->first_rank);
    world->ranks_on = calloc(size, sizeof *world->ranks_on);
}

/* The places of all ranks, on every rank. */
static void gather_places(struct world *world)
{
    struct place place;
    MPI_Request request;
    find_place(&place);
    MPI_Iallgather(&place, sizeof place, MPI_BYTE, world->places, sizeof place, MPI_BYTE, world->comm, &request);
    nap_until(&request);
    find_hosts(world);
    world->settings.shares_pus = world->settings.shares_pus || ranks_share_pus(world);
}

static int usage(int rank, const char *word)
{
    if (rank == 0)
        fprintf(stderr, "rankwright-probe: `%s`: expected --time-per-item SECONDS, --shares-pus or --across "
                        "HOST:HOST:LEVELS\n", word);
    return 0;
}

static int read_options(struct settings *settings, int rank, int count, char **words)
{
    settings->time_per_item = 2;
    for (int i = 1; i < count; i++) {
        struct across *across = &settings->across[settings->across_count];
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (strcmp(words[i], "--shares-pus") == 0) {
            settings->shares_pus = 1;
        } else if (strcmp(words[i], "--time-per-item") == 0 && atof(value) > 0) {
            settings->time_per_item = atof(words[++i]);
        } else if (strcmp(words[i], "--across") == 0 && settings->across_count < MOST_ACROSS
                   && sscanf(value, "%255[^:]:%255[^:]:%d", across->first, across->second, &across->levels) == 3) {
            settings->across_count++;
            i++;
        } else {
            return usage(rank, words[i]);
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    static struct world world;
    double begin = now();
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
    MPI_Comm_rank(world.comm, &rank);
    MPI_Comm_size(world.comm, &world.size);
    if (!read_options(&world.settings, rank, argc, argv)) {
        MPI_Finalize();
        return 2;
    }
    probe_shares_pus = 1;
    allocate(&world);
    gather_places(&world);
    if (!world.settings.shares_pus) {
        bind_to_own(alike_before(&world, rank, rank), alike_before(&world, rank, world.size));
        gather_places(&world);
    }
    probe_shares_pus = world.settings.shares_pus;
    if (rank == 0)
        lead(&world, begin);
    else
        work(world.comm);
    MPI_Finalize();
    return 0;
}
