/*
 * threads.c - MPI_THREAD_MULTIPLE: threads that send, reduce, start persistent requests and
 * create communicators at the same time. On 2 ranks, per round and thread:
 *   to the other rank 8 bytes (Isend) and 4 bytes (persistent), in the communicator of the thread;
 *   an Allreduce of 8 bytes in a duplicate for this call only.
 *
 *   mpicc threads.c -o threads -lpthread
 *   mpirun -np 2 ./threads THREADS ROUNDS
 *
 * Exit code 77 if the library does not provide MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };

static int rank, rounds;
static MPI_Comm communicators[MOST];

static void exchange(MPI_Comm comm, MPI_Request persistent[2])
{
    double out = 1, in, sum;
    MPI_Request requests[2];
    MPI_Comm copy;
    MPI_Irecv(&in, 1, MPI_DOUBLE, 1 - rank, 0, comm, &requests[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, 1 - rank, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(comm, &copy);
    MPI_Allreduce(&out, &sum, 1, MPI_DOUBLE, MPI_SUM, copy);
    MPI_Comm_free(&copy);
}

static void *work(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    int out = 1, in;
    MPI_Request persistent[2];
    MPI_Recv_init(&in, 1, MPI_INT, 1 - rank, 1, comm, &persistent[0]);
    MPI_Send_init(&out, 1, MPI_INT, 1 - rank, 1, comm, &persistent[1]);
    for (int i = 0; i < rounds; i++)
        exchange(comm, persistent);
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    int provided;
    const int count = argc > 2 && atoi(argv[1]) < MOST ? atoi(argv[1]) : 1;
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &communicators[i]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&communicators[i]);
    MPI_Finalize();
    return 0;
}
