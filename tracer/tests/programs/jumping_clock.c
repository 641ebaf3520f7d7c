/*
 * jumping_clock.c - a preloaded clock that jumps: every second reading by the tracer is an hour before the previous
 * one. All other callers read the right time.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static atomic_uint readings;
    Dl_info caller;
    const long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_MONOTONIC && dladdr(__builtin_return_address(0), &caller)
        && strstr(caller.dli_fname, "rankwright_tracer") && atomic_fetch_add(&readings, 1) % 2 == 1)
        now->tv_sec -= now->tv_sec > 3600 ? 3600 : now->tv_sec;
    return (int)result;
}
