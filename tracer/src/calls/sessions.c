/*
 * sessions.c - a warning to programs that use MPI sessions without MPI_Init: they have no MPI_COMM_WORLD, whose ranks
 * the trace is about, and are not traced.
 */
#include "../mpi/fortran.h"
#include "../mpi/mpi_library.h"
#include "../mpi/warning.h"

#include <stdbool.h>
#include <stdlib.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

static bool is_first_process(MPI_Session session)
{
    MPI_Group world = MPI_GROUP_NULL;
    int rank = 0;
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) == MPI_SUCCESS) {
        PMPI_Group_rank(world, &rank);
        PMPI_Group_free(&world);
    }
    return rank == 0;
}

/* At the end of a session: at its begin, MPI_Init could still follow. */
static void warn_if_untraced(MPI_Session session)
{
    static atomic_bool warned;
    const char *path = getenv("RANKWRIGHT_TRACE_FILE"); /* emptied in a traced run */
    if (!path || !path[0] || atomic_exchange(&warned, true) || !is_first_process(session))
        return;
    rw_warn("this program uses MPI sessions without MPI_Init, which the tracer cannot follow: no "
            "trace of this run");
}

int MPI_Session_finalize(MPI_Session *session)
{
    warn_if_untraced(*session);
    return PMPI_Session_finalize(session);
}

#ifndef RW_WITHOUT_FORTRAN

typedef void finalize_function(MPI_Fint *session, MPI_Fint *ierror);

void mpi_session_finalize_f08_(MPI_Fint *session, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    warn_if_untraced(PMPI_Session_f2c(*session));
    ((finalize_function *)rw_next_symbol(&next, "mpi_session_finalize_f08_"))(session, ierror);
}

#ifdef RW_WRAP_ALL_FORTRAN

void mpi_session_finalize_(MPI_Fint *session, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    warn_if_untraced(PMPI_Session_f2c(*session));
    ((finalize_function *)rw_next_symbol(&next, "mpi_session_finalize_"))(session, ierror);
}

#endif
#endif
#endif
