/*
 * lives.c - unusual runs and ends of a process, chosen by the first argument:
 *   message        rank 0 sends 5 bytes to itself
 *   code           as message, exit code 3
 *   abort          MPI_Abort with code 4
 *   killed         rank 1 kills itself
 *   exit           exit(6) without MPI_Finalize
 *   fork           rank 0 forks a child that ends without MPI, starts a program (/bin/true), and
 *                  prints what that program finds in RANKWRIGHT_TRACE_FILE
 *   again FOLDER   rank 0 starts this program again, as a singleton, after MPI_Init
 *   spawn          spawns two ranks of `message`
 *   error          a send to an invalid rank, whose error code is returned
 *   limited        sets its file size limit to 100 bytes before MPI_Finalize
 *   files          prints whether the tracer's file of scheduling statistics is open, before and after MPI_Finalize
 *   replaced       puts a file of its own in its place, and prints whether this one is open after MPI_Finalize
 *   many           creates and frees 3000 communicators, a broadcast in each
 */
#include <mpi.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;

static void message(void)
{
    char out[5] = "five", in[5];
    MPI_Request request;
    if (rank != 0)
        return;
    MPI_Irecv(in, 5, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Send(out, 5, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void fork_and_start(void)
{
    if (rank != 0)
        return;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    if (system("/bin/true; printf 'found [%s]\\n' \"$RANKWRIGHT_TRACE_FILE\"") != 0)
        printf("a program could not be started\n");
}

static void start_again(const char *program)
{
    char command[4096];
    if (rank != 0)
        return;
    /* A singleton: without the variables of the launcher. */
    snprintf(command, sizeof command,
             "for v in $(env | sed -n 's/^\\(OMPI_[A-Z_]*\\|PMI[A-Z_]*\\|HYDI[A-Z_]*\\)=.*/\\1/p'); "
             "do unset $v; done; %s message", program);
    printf("again: %d\n", system(command));
}

static void spawn(char *program)
{
    char *arguments[] = {"message", NULL};
    MPI_Comm children;
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&children);
}

static void send_to_nowhere(void)
{
    char out = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int result = MPI_Send(&out, 1, MPI_CHAR, 1000, 0, MPI_COMM_WORLD);
    int class;
    MPI_Error_class(result, &class);
    if (rank == 0)
        printf("error %s\n", class == MPI_ERR_RANK ? "rank" : "other");
}

static void limit_file_size(void)
{
    const struct rlimit limit = {100, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void many_communicators(void)
{
    for (int i = 0; i < 3000; i++) {
        MPI_Comm comm;
        int value = i;
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        MPI_Bcast(&value, 1, MPI_INT, 0, comm);
        MPI_Comm_free(&comm);
    }
}

/* The descriptor of the tracer's file of scheduling statistics; -1: not open. */
static int statistics(void)
{
    for (int file = 0; file < 1024; file++) {
        char name[64], target[256] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        if (readlink(name, target, sizeof target - 1) > 0 && strstr(target, "/schedstat"))
            return file;
    }
    return -1;
}

static void compute(void)
{
    const double begin = MPI_Wtime();
    while (MPI_Wtime() < begin + .01)
        ;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* After the barrier of all ranks. */
static void die(const char *way)
{
    const bool aborts = strcmp(way, "abort") == 0;
    const bool is_killed = strcmp(way, "killed") == 0;
    const bool exits = strcmp(way, "exit") == 0;
    if (aborts || is_killed || exits)
        MPI_Barrier(MPI_COMM_WORLD);
    if (aborts)
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (is_killed && rank == 1)
        raise(SIGKILL);
    if (exits)
        exit(6);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "message";
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    message();
    die(way);
    if (strcmp(way, "fork") == 0)
        fork_and_start();
    if (strcmp(way, "again") == 0)
        start_again(argv[0]);
    if (strcmp(way, "spawn") == 0)
        spawn(argv[0]);
    if (strcmp(way, "error") == 0)
        send_to_nowhere();
    if (strcmp(way, "limited") == 0)
        limit_file_size();
    if (strcmp(way, "many") == 0)
        many_communicators();
    if (parent != MPI_COMM_NULL)
        MPI_Comm_disconnect(&parent);
    const int file = statistics();
    if (strcmp(way, "replaced") == 0 && file >= 0) {
        dup2(open("/dev/null", O_RDONLY), file);
        compute();
        compute();
    }
    MPI_Finalize();
    if (strcmp(way, "files") == 0)
        printf("open %d %d\n", file >= 0, statistics() >= 0);
    if (strcmp(way, "replaced") == 0)
        printf("open %d %d\n", file >= 0, file >= 0 && fcntl(file, F_GETFD) >= 0);
    return strcmp(way, "code") == 0 ? 3 : 0;
}
