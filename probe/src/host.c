/* host.c - the PUs of this host, from /sys. */
#include "host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first number in a file of a PU; -1 without one. */
static int number_of(int pu, const char *file)
{
    char path[256];
    int number = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", pu, file);
    FILE *opened = fopen(path, "r");
    if (opened == NULL)
        return -1;
    if (fscanf(opened, "%d", &number) != 1)
        number = -1;
    fclose(opened);
    return number;
}

/* The first PU of the core of a PU. */
static int core_of(int pu)
{
    int first = number_of(pu, "topology/thread_siblings_list");
    return first < 0 ? pu : first;
}

/* The first PU of those that share the last cache of a PU; -1 if unknown. */
static int cache_of(int pu)
{
    for (int index = 9; index >= 2; index--) {
        char file[64];
        snprintf(file, sizeof file, "cache/index%d/shared_cpu_list", index);
        int first = number_of(pu, file);
        if (first >= 0)
            return first;
    }
    return -1;
}

/* The NUMA node (P#) of a PU; `count`: how many there are. */
static int numa_of(int pu, int *count)
{
    int found = -1;
    *count = 0;
    for (int node = 0; node < 1024; node++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d", node);
        if (access(path, F_OK) != 0)
            continue;
        ++*count;
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpu%d", node, pu);
        if (access(path, F_OK) == 0)
            found = node;
    }
    return found;
}

void bind_to_own(int local, int count)
{
    cpu_set_t allowed, one;
    int pus[CPU_SETSIZE], core_of_pu[CPU_SETSIZE], cores = 0, all = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    /* First a PU of each core, then the others. */
    for (int pu = 0; pu < CPU_SETSIZE; pu++) {
        core_of_pu[pu] = CPU_ISSET(pu, &allowed) ? core_of(pu) : -1;
        int known = core_of_pu[pu] < 0;
        for (int i = 0; i < cores && !known; i++)
            known = core_of_pu[pus[i]] == core_of_pu[pu];
        if (!known)
            pus[cores++] = pu;
    }
    all = cores;
    for (int pu = 0; pu < CPU_SETSIZE; pu++) {
        int known = core_of_pu[pu] < 0;
        for (int i = 0; i < cores && !known; i++)
            known = pus[i] == pu;
        if (!known)
            pus[all++] = pu;
    }
    if (all < 2 || all < count)
        return;
    /* Over all cores, so that the caches and memories of all are measured. */
    size_t place = cores < count ? (size_t)local : (size_t)local * (size_t)cores / (size_t)count;
    CPU_ZERO(&one);
    CPU_SET(pus[place], &one);
    sched_setaffinity(0, sizeof one, &one);
}

void find_place(struct place *place)
{
    memset(place, 0, sizeof *place);
    gethostname(place->host, sizeof place->host - 1);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        if (fscanf(file, "%39s", place->kernel) != 1)
            place->kernel[0] = '\0';
        fclose(file);
    }
    place->pu = place->core = place->cache = place->numa = place->package = -1;
    if (sched_getaffinity(0, sizeof place->allowed, &place->allowed) != 0)
        return;
    int first = 0;
    while (first < CPU_SETSIZE && !CPU_ISSET(first, &place->allowed))
        first++;
    int core = core_of(first);
    for (int pu = first; pu < CPU_SETSIZE; pu++)
        if (CPU_ISSET(pu, &place->allowed) && core_of(pu) != core)
            return;
    place->pu = first;
    place->core = core;
    place->cache = cache_of(first);
    place->numa = numa_of(first, &place->memory);
    place->package = number_of(first, "topology/physical_package_id");
}
