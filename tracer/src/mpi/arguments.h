/* arguments.h - arguments of MPI calls: sizes in bytes, arrays from C and Fortran, handles as keys. */
#ifndef RANKWRIGHT_ARGUMENTS_H
#define RANKWRIGHT_ARGUMENTS_H

#include "mpi_library.h"

#include <stdint.h>
#include <string.h>

static inline uint64_t rw_bytes(MPI_Count count, MPI_Datatype datatype)
{
    MPI_Count size = 0;
    PMPI_Type_size_x(datatype, &size);
    return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

static inline uint64_t rw_request_key(MPI_Request request)
{
    uint64_t key = 0;
    memcpy(&key, &request, sizeof request);
    return key;
}

/* An array of datatypes, as C or as Fortran handles; the other member is NULL. */
struct rw_datatypes {
    const MPI_Datatype *c;
    const MPI_Fint *fortran;
};

/* An array of counts, of int or of a function with large counts; the other member is NULL. */
struct rw_counts {
    const int *small;
    const MPI_Count *large;
};

static inline MPI_Count rw_count_at(struct rw_counts counts, int i)
{
    return counts.large ? counts.large[i] : counts.small[i];
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* The array argument of MPI_Pready_list: const in newer libraries. */
typedef __typeof__(_Generic(&PMPI_Pready_list, int (*)(int, const int *, MPI_Request): (const int *)0,
                            default: (int *)0)) rw_partition_list;
#endif

#endif
