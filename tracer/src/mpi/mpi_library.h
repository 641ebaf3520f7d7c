/*
 * mpi_library.h - the MPI library of the program; includes <mpi.h>.
 *
 * The tracer is not linked with an MPI library, so that one build serves every library of an ABI and can be preloaded
 * into programs without MPI (shells, numactl). Symbols are resolved at run time: functions are weak and bound lazily,
 * so that functions missing in an older library do no harm; Open MPI's handles, which are addresses of data, are
 * looked up with dlsym.
 */
#ifndef RANKWRIGHT_MPI_LIBRARY_H
#define RANKWRIGHT_MPI_LIBRARY_H

#include <mpi.h>

#include "../../generated/mpi_functions.h"

#include <stdatomic.h>

#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION >= 0 && (defined(MPI_ABI) || !defined(MPICH_NUMVERSION)) \
    && !defined(OPEN_MPI)
#define RW_ABI RW_ABI_STANDARD
/* Under the standard ABI, Fortran is a separate library that calls MPI in C. */
#define RW_WITHOUT_FORTRAN 1
typedef int MPI_Fint;
#define PMPI_Type_f2c PMPI_Type_fromint
#pragma weak PMPI_Type_fromint
#elif defined(OPEN_MPI)
#define RW_ABI RW_ABI_OPEN_MPI
#else
#define RW_ABI RW_ABI_MPICH
#endif

enum rw_abi { RW_ABI_NONE, RW_ABI_OPEN_MPI, RW_ABI_MPICH, RW_ABI_STANDARD };

#pragma GCC visibility push(hidden)

/* The library's definition of a function that the tracer wraps; ends the program if there is none. */
void *rw_find_next_symbol(_Atomic(void *) *cached, const char *symbol);

static inline void *rw_next_symbol(_Atomic(void *) *cached, const char *symbol)
{
    void *function = atomic_load_explicit(cached, memory_order_acquire);
    return function ? function : rw_find_next_symbol(cached, symbol);
}

/* The address of a predefined handle of Open MPI; ends the program if there is none. */
void *rw_find_handle(_Atomic(void *) *cached, const char *symbol);

static inline void *rw_handle(_Atomic(void *) *cached, const char *symbol)
{
    void *handle = atomic_load_explicit(cached, memory_order_acquire);
    return handle ? handle : rw_find_handle(cached, symbol);
}

/* The address of a symbol of the program or its libraries, or NULL. */
void *rw_look_up(const char *symbol);

/* Makes an MPI library that a plug-in loaded with RTLD_LOCAL visible to lazy binding. */
void rw_show_private_library(void);

#pragma GCC visibility pop

#if defined(OPEN_MPI)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                                         \
    (__extension__({                                                                                 \
        static _Atomic(void *) handle;                                                               \
        (type) rw_handle(&handle, #global);                                                          \
    }))
#endif

#endif
