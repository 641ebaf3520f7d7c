/* wrap_fortran_open_mpi_4.c - as wrap_c_open_mpi_4.c, in Fortran. */
#include "fortran_wrapper.h"

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define ONLY_NAMES_OF_OPEN_MPI_4 1
#include "call_forms.h"
#endif
