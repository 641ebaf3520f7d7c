/* To be preloaded: makes ranks on the nodes of a lab, which share a few PUs, behave as if each had a core of its own.
 *
 * A rank that waits sleeps for 200 us where it would yield, and leaves the PUs to ranks that compute. With SLOW_CORE=N
 * cores are N times as slow: after each 4 ms of computing (user mode) a rank pauses for N - 1 times that. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

enum { SLICE_US = 4000 };

static struct timespec pause_of_slice;

int sched_yield(void)
{
    const struct timespec pause = {0, 200000};

    return nanosleep(&pause, NULL);
}

static void pause_now(int signal)
{
    (void)signal;
    nanosleep(&pause_of_slice, NULL);
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("SLOW_CORE");
    long factor = text ? strtol(text, NULL, 10) : 1;
    struct sigaction action = {.sa_handler = pause_now, .sa_flags = SA_RESTART};
    const struct timeval slice = {0, SLICE_US};
    const struct itimerval timer = {slice, slice};
    long microseconds = (factor - 1) * SLICE_US;

    if (factor < 2)
        return;
    pause_of_slice = (struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000};
    sigaction(SIGVTALRM, &action, NULL);
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}
