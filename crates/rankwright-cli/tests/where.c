/* Every rank prints where it is, and who: one line
 *   rank R app A host H pus LIST threads LIST/LIST... args WORD...
 * A is MPI_APPNUM; `pus` are those that the rank may run on (P#), `threads` those of each thread of
 * an OpenMP region. */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_THREADS = 16, TEXT = 64 };

/* Writes the PUs of the calling thread: "0,1". */
static void own_pus(char text[TEXT])
{
    cpu_set_t set;
    int used = 0;
    text[0] = '\0';
    sched_getaffinity(0, sizeof set, &set);
    for (int pu = 0; pu < CPU_SETSIZE && used < TEXT - 8; pu++)
        if (CPU_ISSET(pu, &set))
            used += sprintf(text + used, used > 0 ? ",%d" : "%d", pu);
}

int main(int argc, char **argv)
{
    int provided;
    int rank;
    int ranks;
    int from;
    int found;
    int *app = NULL;
    int used;
    int threads = 0;
    char host[256] = "";
    char pus[TEXT];
    char of_thread[MOST_THREADS][TEXT];
    char line[4096];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, &from, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &found);
    gethostname(host, sizeof host - 1);
    own_pus(pus);
#pragma omp parallel num_threads(omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() : MOST_THREADS)
    {
        own_pus(of_thread[omp_get_thread_num()]);
#pragma omp single
        threads = omp_get_num_threads();
    }
    used = sprintf(line, "rank %d app %d host %s pus %s threads ", rank, found ? *app : -1, host, pus);
    for (int thread = 0; thread < threads; thread++)
        used += sprintf(line + used, thread > 0 ? "/%s" : "%s", of_thread[thread]);
    used += sprintf(line + used, " args");
    for (int word = 0; word < argc; word++)
        used += snprintf(line + used, sizeof line - 1 - used, " %s", argv[word]);
    line[used++] = '\n';
    /* In one piece, so that launchers do not mix the lines of ranks. */
    found = (int)write(STDOUT_FILENO, line, used);
    MPI_Finalize();
    return found != used;
}
