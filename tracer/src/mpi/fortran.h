/*
 * fortran.h - which Fortran entry points are wrapped: those that do not call MPI_* in C.
 *
 * Open MPI: all its Fortran wrappers call PMPI_*. Each function has `mpi_xxx_` (mpif.h and `use mpi`) and
 * `mpi_xxx_f08_` (`use mpi_f08`), with the same arguments; the latter's ierror may be absent (NULL).
 * MPICH: the wrappers of mpif.h and `use mpi` call MPI_*, and so do those of `use mpi_f08` for functions with a buffer
 * (`mpi_xxx_f08ts_`); those without a buffer (`mpi_xxx_f08_`) call PMPI_*.
 * If an entry point calls MPI_* nevertheless, rw_enter sees that the call is being recorded already.
 */
#ifndef RANKWRIGHT_FORTRAN_H
#define RANKWRIGHT_FORTRAN_H

#include "mpi_library.h"

#if defined(OPEN_MPI)
#define RW_WRAP_ALL_FORTRAN 1 /* otherwise only `use mpi_f08`, functions without a buffer */
#endif

_Static_assert(sizeof(MPI_Fint) == sizeof(int),
               "this MPI was built for 8-byte Fortran integers, which the tracer does not handle");

#pragma GCC visibility push(hidden)

/* MPI_IN_PLACE if the buffer is Fortran's MPI_IN_PLACE, else the buffer. */
const void *rw_fortran_buffer(const void *buffer);

#pragma GCC visibility pop
#endif
