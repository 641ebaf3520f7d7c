/* persistent_collectives.h - whether the MPI library has persistent collectives, and under which names. */
#ifndef RANKWRIGHT_PERSISTENT_COLLECTIVES_H
#define RANKWRIGHT_PERSISTENT_COLLECTIVES_H

#include "mpi_library.h"

/* MPI 4 has them; so has Open MPI 5, although it announces MPI 3.1; Open MPI 4.1 has them as an extension, MPIX_*. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define RW_PERSISTENT_COLLECTIVES 1
#elif defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define RW_PERSISTENT_COLLECTIVES 1
#define RW_PERSISTENT_COLLECTIVES_ARE_EXTENSIONS 1
#endif
#endif
#endif

#endif
