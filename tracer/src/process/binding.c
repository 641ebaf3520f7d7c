#include "binding.h"

#include "../storage/allocate.h"
#include "../storage/arena.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct numbers {
    uint32_t count;
    uint32_t *values; /* ascending */
};

static void append(struct numbers *numbers, uint32_t value)
{
    uint32_t *larger = rw_reallocate(numbers->values, numbers->count + 1u, sizeof *larger);
    if (!larger)
        return;
    larger[numbers->count++] = value;
    numbers->values = larger;
}

/* The kernel refuses a mask that is smaller than its own and does not report its size: try larger ones. */
static struct numbers read_affinity(void)
{
    struct numbers pus = {0, NULL};
    for (int size = 1024; size <= 1 << 20; size *= 2) {
        cpu_set_t *mask = CPU_ALLOC(size);
        if (!mask)
            break;
        const int result = sched_getaffinity(0, CPU_ALLOC_SIZE(size), mask);
        for (int pu = 0; result == 0 && pu < size; pu++)
            if (CPU_ISSET_S(pu, CPU_ALLOC_SIZE(size), mask))
                append(&pus, (uint32_t)pu);
        CPU_FREE(mask);
        if (result == 0 || errno != EINVAL)
            break;
    }
    return pus;
}

static bool has_any(const struct numbers *numbers, unsigned long from, unsigned long to)
{
    for (uint32_t i = 0; i < numbers->count; i++)
        if (numbers->values[i] >= from && numbers->values[i] <= to)
            return true;
    return false;
}

/* The next range of a list like `0-3,8-11`; false at its end. */
static bool next_range(char **rest, unsigned long *from, unsigned long *to)
{
    if (**rest < '0' || **rest > '9')
        return false;
    *from = *to = strtoul(*rest, rest, 10);
    if (**rest == '-')
        *to = strtoul(*rest + 1, rest, 10);
    *rest += **rest == ',';
    return true;
}

/* Whether an OpenMP runtime may have bound this thread, and not the process, before main. */
static bool openmp_binds_threads(void)
{
    static const char *const variables[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return true;
    return false;
}

/* The PUs of the process: the affinity mask of this thread, or RANKWRIGHT_TRACE_PUS, the mask at program start, if an
 * OpenMP runtime has bound the thread since. */
static struct numbers read_pus(void)
{
    struct numbers current = read_affinity(), given = {0, NULL};
    const char *text = getenv("RANKWRIGHT_TRACE_PUS");
    if (!text || !openmp_binds_threads())
        return current;
    unsigned long from, to;
    char *rest = (char *)text;
    while (next_range(&rest, &from, &to))
        for (unsigned long pu = from; pu <= to && pu <= UINT16_MAX; pu++)
            append(&given, (uint32_t)pu);
    for (uint32_t i = 0; i < current.count; i++) {
        if (!has_any(&given, current.values[i], current.values[i])) {
            free(given.values);
            return current;
        }
    }
    free(current.values);
    return given;
}

/* Whether a NUMA node has one of the PUs, from the list in sysfs. */
static bool is_near(const char *node, const struct numbers *pus)
{
    char path[300], list[4096] = "";
    snprintf(path, sizeof path, "/sys/devices/system/node/%s/cpulist", node);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool read = fgets(list, sizeof list, file);
    fclose(file);
    char *rest = list;
    unsigned long from, to;
    while (read && next_range(&rest, &from, &to))
        if (has_any(pus, from, to))
            return true;
    return false;
}

static int ascending(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static struct numbers find_numa_nodes(const struct numbers *pus)
{
    struct numbers nodes = {0, NULL};
    DIR *folder = opendir("/sys/devices/system/node");
    if (!folder)
        return nodes;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char *end;
        if (strncmp(entry->d_name, "node", 4) != 0)
            continue;
        const unsigned long number = strtoul(entry->d_name + 4, &end, 10);
        if (end != entry->d_name + 4 && *end == '\0' && is_near(entry->d_name, pus))
            append(&nodes, (uint32_t)number);
    }
    closedir(folder);
    if (nodes.count > 1)
        qsort(nodes.values, nodes.count, sizeof *nodes.values, ascending);
    return nodes;
}

void rw_record_binding(void)
{
    const struct numbers pus = read_pus();
    const struct numbers nodes = find_numa_nodes(&pus);
    const struct rw_binding_record head = {.pu_count = pus.count, .numa_count = nodes.count};
    struct rw_binding_record *record =
        rw_arena_add(RW_RECORD_BINDING, &head, sizeof head,
                     sizeof head + (pus.count + nodes.count) * sizeof *record->numbers);
    if (record) {
        if (pus.count)
            memcpy(record->numbers, pus.values, pus.count * sizeof *pus.values);
        if (nodes.count)
            memcpy(record->numbers + pus.count, nodes.values, nodes.count * sizeof *nodes.values);
    }
    free(pus.values);
    free(nodes.values);
}
