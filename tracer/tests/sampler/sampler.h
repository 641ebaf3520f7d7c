/* sampler.h - shared by the parts of the sampler. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <mpi.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#endif

#include <stdio.h>

/* Open MPI 5 has these calls although it announces MPI 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI_4 1
#else
#define HAS_MPI_4 0
#endif
#define HAS_MPI_4_1 (MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1))

/* With LARGE_COUNTS, macros turn calls into their large-count forms (harness.py). */
#ifdef LARGE_COUNTS
typedef MPI_Count count_type;
typedef MPI_Aint displacement_type;
#else
typedef int count_type;
typedef int displacement_type;
#endif

/* MPICH 4.0.2 hangs when persistent collectives mix with others, also without the tracer. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define HAS_PERSISTENT_COLLECTIVES 0
#elif HAS_MPI_4
#define HAS_PERSISTENT_COLLECTIVES 1
#define PERSISTENT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define HAS_PERSISTENT_COLLECTIVES 1
#define PERSISTENT(name) MPIX_##name##_init
#else
#define HAS_PERSISTENT_COLLECTIVES 0
#endif

/* A collective call, its nonblocking form, and its persistent form, started twice. */
#define ALL_FORMS(name, lower_name, ...)             \
    do {                                             \
        MPI_Request request;                         \
        MPI_##name(__VA_ARGS__);                     \
        MPI_I##lower_name(__VA_ARGS__, &request);    \
        finish(&request);                            \
        PERSISTENT_FORM(name, __VA_ARGS__);          \
    } while (0)

#if HAS_PERSISTENT_COLLECTIVES
#define PERSISTENT_FORM(name, ...)                              \
    PERSISTENT(name)(__VA_ARGS__, MPI_INFO_NULL, &request);     \
    MPI_Start(&request);                                        \
    finish(&request);                                           \
    MPI_Startall(1, &request);                                  \
    finish(&request);                                           \
    MPI_Request_free(&request)
#else
#define PERSISTENT_FORM(name, ...)
#endif

extern int rank;
extern char outgoing[4096], incoming[4096];

/* Write an expected record. */
enum form { BLOCKING = 0, NONBLOCKING = 1, PERSISTENT_START = 2 };
void expect_send(int destination, long bytes);
void expect_put(int target, long bytes);
void expect_get(int target, long bytes);
void expect_collective(MPI_Comm comm, const char *operation, enum form form, int root, long bytes,
                       const long row[4]);
/* Used by ALL_FORMS. */
void expect_all(MPI_Comm comm, const char *operation, int root, long bytes, const long row[4]);
/* `bytes` to each destination as often as it is listed; -1: MPI_PROC_NULL. */
void expect_neighbours(MPI_Comm comm, const char *operation, int neighbours, const int destinations[],
                       long bytes);
/* `description`: a line as sampler.c describes it. */
void expect_topology(const char *description);

void finish(MPI_Request *request);

void sample_point_to_point(void);
void sample_communicators(void);
void sample_collectives(void);
void sample_neighbourhoods(void);
void sample_one_sided(void);
void sample_partitioned(void);
void sample_large_numbers(void);

#endif
