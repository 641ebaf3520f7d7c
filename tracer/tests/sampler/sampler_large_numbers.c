/* sampler_large_numbers.c - counts of more than 32 bits, in operations of one rank, which move no
 * data. */
#include "sampler.h"

#ifdef LARGE_COUNTS

void sample_large_numbers(void)
{
    const long many = 5000000000;
    const MPI_Count counts[1] = {many};
    const MPI_Aint displacements[1] = {0};
    ALL_FORMS(Bcast, bcast, incoming, many, MPI_CHAR, 0, MPI_COMM_SELF);
    expect_all(MPI_COMM_SELF, "bcast", rank, many, NULL);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, incoming, counts, displacements, MPI_CHAR,
                   MPI_COMM_SELF);
    expect_collective(MPI_COMM_SELF, "allgatherv", BLOCKING, -1, many, NULL);
}

#else

void sample_large_numbers(void)
{
}

#endif
