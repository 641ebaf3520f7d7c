/* host.h - the host of a rank, and where on it the rank runs. */
#ifndef PROBE_HOST_H
#define PROBE_HOST_H

#include <sched.h>

struct place {
    char host[65];   /* Linux allows 64 characters */
    char kernel[40]; /* boot id: hosts with one are namespaces or containers of one machine */
    int pu;          /* P#; -1: the rank may run on PUs of several cores */
    int core, cache, numa, package; /* numbers that tell them apart on a host; -1: unknown */
    cpu_set_t allowed; /* PUs that the rank may use */
    int memory;      /* NUMA nodes of the host */
};

/* Binds this process to a core of its own among those that it may use, or to a PU of its own where there are more
 * ranks than cores; not at all where there are more ranks than PUs. `local` is its number among the `count` ranks of
 * the host that may use the same PUs: launchers bind each rank to a package or NUMA node. */
void bind_to_own(int local, int count);

/* Finds out where this process runs. */
void find_place(struct place *place);

#endif
