/*
 * wrap_c_open_mpi_4.c - persistent collectives under their names in Open MPI 4: a tracer built with Open MPI 5 serves
 * programs of both.
 */
#include "c_wrapper.h"

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define ONLY_NAMES_OF_OPEN_MPI_4 1
#include "call_forms.h"
#endif
