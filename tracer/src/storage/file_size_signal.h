/* file_size_signal.h - beyond the file size limit of the process, a write would end the program. */
#ifndef RANKWRIGHT_FILE_SIZE_SIGNAL_H
#define RANKWRIGHT_FILE_SIZE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

struct rw_held_signal {
    sigset_t mask; /* the program's */
    bool was_pending;
};

/* Until it is released, SIGXFSZ does not reach this thread; what would raise it fails with EFBIG. */
struct rw_held_signal rw_hold_file_size_signal(void);
void rw_release_file_size_signal(const struct rw_held_signal *held);

#pragma GCC visibility pop
#endif
