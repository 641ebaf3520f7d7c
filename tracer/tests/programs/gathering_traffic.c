/*
 * gathering_traffic.c - preloaded before the tracer in tests: counts the messages by which the tracer gathers its
 * records, because Open MPI's monitoring counts them as messages of the program.
 *
 * Writes "SOURCE DESTINATION MESSAGES BYTES" lines to $GATHERING_TRAFFIC.RANK at the end.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static int finalizing;
static long messages[MOST], bytes[MOST];

int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "PMPI_Send");
    if (finalizing && dest >= 0 && dest < MOST) {
        int size;
        PMPI_Type_size(datatype, &size);
        messages[dest]++;
        bytes[dest] += (long)count * size;
    }
    return next(buf, count, datatype, dest, tag, comm);
}

static void write_counts(void)
{
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("GATHERING_TRAFFIC"), rank);
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    for (int i = 0; i < MOST; i++)
        if (messages[i] > 0)
            fprintf(file, "%d %d %ld %ld\n", rank, i, messages[i], bytes[i]);
    fclose(file);
}

/* The tracer gathers in its wrapper, before PMPI_Finalize. */
int PMPI_Finalize(void)
{
    int (*next)(void) = dlsym(RTLD_NEXT, "PMPI_Finalize");
    write_counts();
    return next();
}

int MPI_Finalize(void)
{
    int (*next)(void) = dlsym(RTLD_NEXT, "MPI_Finalize");
    finalizing = 1;
    return next();
}

void mpi_finalize_(MPI_Fint *ierror)
{
    void (*next)(MPI_Fint *) = dlsym(RTLD_NEXT, "mpi_finalize_");
    finalizing = 1;
    next(ierror);
}

void mpi_finalize_f08_(MPI_Fint *ierror)
{
    void (*next)(MPI_Fint *) = dlsym(RTLD_NEXT, "mpi_finalize_f08_");
    finalizing = 1;
    next(ierror);
}
