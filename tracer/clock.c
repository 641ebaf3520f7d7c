#include "clock.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool rw_clock_is_tsc;

struct instant {
    uint64_t ticks;
    uint64_t nanoseconds;
};

static struct instant zero;
static double seconds_per_tick = 1e-9;

/* Invariant says the processor; that the counters of all sockets agree, the kernel's own choice says. */
static bool tsc_is_reliable(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) || !(edx & (1u << 8)))
        return false;
    char source[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file)
        return false;
    const bool is_tsc = fgets(source, sizeof source, file) && strcmp(source, "tsc\n") == 0;
    fclose(file);
    return is_tsc;
#else
    return false;
#endif
}

/* Both clocks at the same instant: the tightest of several attempts, in case one is interrupted. */
static struct instant now(void)
{
    struct instant best = {0, 0};
    uint64_t tightest = UINT64_MAX;
    for (int attempt = 0; attempt < 8; attempt++) {
        const uint64_t before = rw_ticks();
        const uint64_t nanoseconds = rw_nanoseconds(CLOCK_MONOTONIC);
        const uint64_t after = rw_ticks();
        if (after - before < tightest) {
            tightest = after - before;
            best = (struct instant){before + (after - before) / 2, nanoseconds};
        }
    }
    return best;
}

void rw_clock_start(void)
{
    rw_clock_is_tsc = tsc_is_reliable();
    zero = now();
}

void rw_clock_stop(void)
{
    const struct instant end = now();
    if (rw_clock_is_tsc && end.ticks > zero.ticks)
        seconds_per_tick =
            (double)(end.nanoseconds - zero.nanoseconds) * 1e-9 / (double)(end.ticks - zero.ticks);
}

double rw_time(uint64_t ticks)
{
    return ticks > zero.ticks ? (double)(ticks - zero.ticks) * seconds_per_tick : 0.0;
}

double rw_duration(double ticks)
{
    return ticks * seconds_per_tick;
}
