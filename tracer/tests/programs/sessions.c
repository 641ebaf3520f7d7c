/*
 * sessions.c - a barrier in a communicator of a session; with an argument also MPI_Init and a message of 5 bytes from
 * each rank to itself.
 */
#include <mpi.h>

#include <stdio.h>

static void barrier_of_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "barrier", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    char out[5] = "five", in[5];
    if (argc > 1) {
        MPI_Init(&argc, &argv);
        MPI_Sendrecv(out, 5, MPI_CHAR, 0, 0, in, 5, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    barrier_of_session();
    if (argc > 1)
        MPI_Finalize();
    puts("done");
    return 0;
}
