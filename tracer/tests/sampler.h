/* sampler.h - what the parts of the sampler share. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <mpi.h>

#include <stdio.h>

extern int rank;
extern char outgoing[4096], incoming[4096];

/* Writes down what the tracer has to record. */
void expect_send(int destination, long bytes);
void expect_collective(MPI_Comm comm, const char *operation, int nonblocking, int root, long bytes,
                       const long row[4]);
/* The blocking call and its nonblocking form. */
void expect_both(MPI_Comm comm, const char *operation, int root, long bytes, const long row[4]);

void finish(MPI_Request *request);

void sample_point_to_point(void);
void sample_communicators(void);
void sample_collectives(void);
void sample_neighbourhoods(void);

#endif
