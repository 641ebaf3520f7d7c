/* Between calls each rank computes for 60 ms of processor time, then sleeps for 60 ms; all ranks on one PU. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void use_one_pu(void)
{
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int pu = 0; pu < CPU_SETSIZE && CPU_COUNT(&one) == 0; pu++)
        if (CPU_ISSET(pu, &allowed))
            CPU_SET(pu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    use_one_pu();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        const double before = processor_time();
        while (processor_time() - before < 0.06)
            ;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    usleep(60000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
