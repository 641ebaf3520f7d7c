/* The run time of an MPI program, from the end of MPI_Init of all ranks to the last MPI_Finalize, as
 * a line in the file of PROOF_CLOCK. To be preloaded. With PROOF_START, seconds since 1970, all ranks
 * begin at that time, also those of several jobs. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double begin;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void started(void)
{
    const char *start = getenv("PROOF_START");

    PMPI_Barrier(MPI_COMM_WORLD);
    if (start) {
        double wait = atof(start) - now();
        struct timespec pause = {(time_t)wait, (long)((wait - (time_t)wait) * 1e9)};
        if (wait <= 0) {
            fprintf(stderr, "PROOF_START is over\n");
            PMPI_Abort(MPI_COMM_WORLD, 3);
        }
        nanosleep(&pause, NULL);
    }
    begin = now();
}

static void ending(void)
{
    const char *file = getenv("PROOF_CLOCK");
    double mine[2] = {-begin, now()}, all[2];
    int rank;

    PMPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *lines = rank == 0 && file ? fopen(file, "a") : NULL;
    if (lines) {
        fprintf(lines, "%.6f %.6f\n", -all[0], all[1]);
        fclose(lines);
    }
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    started();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    started();
    return code;
}

int MPI_Finalize(void)
{
    ending();
    return PMPI_Finalize();
}

/* Open MPI's Fortran calls the PMPI functions directly. */
void mpi_init_(MPI_Fint *code)
{
    *code = PMPI_Init(NULL, NULL);
    started();
}

void mpi_finalize_(MPI_Fint *code)
{
    ending();
    *code = PMPI_Finalize();
}
