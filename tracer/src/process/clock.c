#include "clock.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum rw_clock rw_clock = RW_CLOCK_MONOTONIC;

/* The processor reports whether the counter is invariant; that the kernel uses it as its clock source shows that the
 * counters of all sockets agree. */
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

enum rw_clock rw_choose_clock(enum rw_clock_wish wish)
{
    if (wish == RW_CLOCK_NONE)
        return RW_CLOCK_OFF;
    return wish == RW_CLOCK_BEST && tsc_is_reliable() ? RW_CLOCK_TSC : RW_CLOCK_MONOTONIC;
}

/* The attempt with the least time between its two readings: others may have been interrupted. */
struct rw_instant rw_now(void)
{
    struct rw_instant best = {0, 0};
    uint64_t tightest = UINT64_MAX;
    for (int attempt = 0; attempt < 8; attempt++) {
        const uint64_t before = rw_ticks();
        const uint64_t nanoseconds = rw_nanoseconds(CLOCK_MONOTONIC);
        const uint64_t after = rw_ticks();
        if (after - before < tightest) {
            tightest = after - before;
            best = (struct rw_instant){before + (after - before) / 2, nanoseconds};
        }
    }
    return best;
}
