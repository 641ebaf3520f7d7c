/* loaded.h - what else this process has loaded that matters to its traffic. */
#ifndef RANKWRIGHT_LOADED_H
#define RANKWRIGHT_LOADED_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

struct rw_loaded {
    /* Names with commas between them: libraries by which the program may send past MPI. MPI libraries themselves load
     * UCX and libfabric: these count only if the executable names them. */
    char beside_mpi[128];
    /* The library through which the program calls MPI, if it chooses the thread level: `mpi4py`. */
    const char *called_through;
};

void rw_look_at_loaded(struct rw_loaded *loaded);

#pragma GCC visibility pop
#endif
