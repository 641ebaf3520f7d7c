#include "fortran.h"

#ifndef RW_WITHOUT_FORTRAN

#include <dlfcn.h>
#include <stdbool.h>

const void *rw_fortran_buffer(const void *buffer)
{
    static const char *const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                        "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
    enum { NAMES = sizeof names / sizeof *names };
    static _Atomic(void *) addresses[NAMES];
    static atomic_bool looked_up;
    if (!atomic_load_explicit(&looked_up, memory_order_acquire)) {
        for (int i = 0; i < NAMES; i++)
            atomic_store(&addresses[i], dlsym(RTLD_DEFAULT, names[i]));
        atomic_store_explicit(&looked_up, true, memory_order_release);
    }
    for (int i = 0; i < NAMES; i++)
        if (buffer && buffer == atomic_load_explicit(&addresses[i], memory_order_relaxed))
            return MPI_IN_PLACE;
    return buffer;
}

#endif
