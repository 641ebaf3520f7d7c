#include "file_size_signal.h"

#include <time.h>

static sigset_t only_file_size(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

struct rw_held_signal rw_hold_file_size_signal(void)
{
    const sigset_t set = only_file_size();
    sigset_t pending;
    struct rw_held_signal held;
    sigpending(&pending);
    held.was_pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &held.mask);
    return held;
}

void rw_release_file_size_signal(const struct rw_held_signal *held)
{
    const sigset_t set = only_file_size();
    const struct timespec at_once = {0, 0};
    if (!held->was_pending)
        sigtimedwait(&set, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}
