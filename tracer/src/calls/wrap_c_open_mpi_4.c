/*
 * wrap_c_open_mpi_4.c - persistent collectives by the names that they have in Open MPI 4: a tracer made with
 * Open MPI 5 serves its programs too.
 */
#include "c_wrapper.h"

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define ONLY_NAMES_OF_OPEN_MPI_4 1
#include "call_forms.h"
#endif
