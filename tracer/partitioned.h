/* partitioned.h - partitioned point-to-point communication (MPI-4). */
#ifndef RANKWRIGHT_PARTITIONED_H
#define RANKWRIGHT_PARTITIONED_H

#include <mpi.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* The list of MPI_Pready_list: const in newer libraries. */
typedef __typeof__(_Generic(&PMPI_Pready_list, int (*)(int, const int *, MPI_Request): (const int *)0,
                            default: (int *)0)) rw_partition_list;
#endif

#endif
