/* record.c - the record that rank 0 prints: lines of JSON behind a mark, because launchers print lines of their own. */
#include "plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Changes with every change of the record that readers would misunderstand. */
enum { VERSION = 1 };

#define MARK "@rankwright-probe "

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(const struct pool *pool, double share)
{
    double place = share * (pool->count - 1);
    int below = (int)place;
    int above = below + 1 < pool->count ? below + 1 : below;
    return pool->sample[below] + (place - below) * (pool->sample[above] - pool->sample[below]);
}

static double mean(const struct pool *pool)
{
    double sum = 0;
    for (int i = 0; i < pool->count; i++)
        sum += pool->sample[i];
    return sum / pool->count;
}

static void sort(struct pool *pool)
{
    qsort(pool->sample, (size_t)pool->count, sizeof *pool->sample, ascending);
}

void add_sample(struct pool *pool, double sample)
{
    if (pool->count < MOST_POOL)
        pool->sample[pool->count++] = sample;
}

/* The standard error of a median is about .93 of the distance of the quartiles by the root of the number. */
int is_settled(const struct pool *pool)
{
    if (pool->count < 12)
        return 0;
    if (pool->count == MOST_POOL)
        return 1;
    static struct pool sorted;
    sorted = *pool;
    sort(&sorted);
    double median = quantile(&sorted, 0.5);
    double distance = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
    return median > 0 && 0.93 * distance / sqrt(sorted.count) < 0.003 * median;
}

/* Prints a text as a JSON string; characters that need care do not occur in names of hosts and libraries. */
static void print_text(const char *name, const char *text)
{
    printf("\"%s\":\"", name);
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= ' ' && (unsigned char)*text < 127 && *text != '"' && *text != '\\')
            putchar(*text);
    putchar('"');
}

static void print_host(const char *name, const struct world *world, int rank)
{
    print_text(name, world->places[rank].host);
}

void tell_rate(const struct world *world, const struct step *step, const char *rate, int bytes, const char *device,
               struct pool *pool)
{
    if (pool->count == 0)
        return;
    sort(pool);
    printf(MARK "{\"rate\":\"%s\",\"level\":\"%s\",\"across\":%d,", rate, step->level, step->across);
    print_host("first", world, step->first);
    putchar(',');
    print_host("second", world, step->second);
    putchar(',');
    print_text("device", device);
    printf(",\"numa\":[%d,%d]", world->places[step->first].numa, world->places[step->second].numa);
    printf(",\"pairs\":%d,\"both\":%s,\"bytes\":%d,\"mean\":%.9g,\"median\":%.9g,\"low\":%.9g,\"high\":%.9g,\"samples\":%d}\n",
           step->pairs, step->both ? "true" : "false", bytes, mean(pool), quantile(pool, 0.5), quantile(pool, 0.25),
           quantile(pool, 0.75), pool->count);
    fflush(stdout);
}

/* The ranks of a host that have a core or a PU of their own. */
static int bound_on(const struct world *world, int host)
{
    int count = 0;
    for (int rank = 0; rank < world->size; rank++)
        count += world->host_of[rank] == host && world->places[rank].pu >= 0;
    return count;
}

void tell_world(const struct world *world)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = '\0';
    printf(MARK "{\"probe\":%d,", VERSION);
    print_text("mpi", library);
    printf(",\"ranks\":%d,\"shares_pus\":%s}\n", world->size, world->settings.shares_pus ? "true" : "false");
    for (int host = 0; host < world->hosts; host++) {
        printf(MARK "{");
        print_host("host", world, world->first_rank[host]);
        putchar(',');
        print_text("kernel", world->places[world->first_rank[host]].kernel);
        printf(",\"ranks\":%d,\"bound\":%d}\n", world->ranks_on[host], bound_on(world, host));
    }
    fflush(stdout);
}

void tell_step(const struct step *step, int number, int count)
{
    printf(MARK "{\"step\":%d,\"of\":%d,", number, count);
    print_text("what", step->what);
    printf("}\n");
    fflush(stdout);
}

void tell_end(double seconds)
{
    printf(MARK "{\"end\":%.3f}\n", seconds);
    fflush(stdout);
}
