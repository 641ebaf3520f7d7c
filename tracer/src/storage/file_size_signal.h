/* file_size_signal.h - blocks SIGXFSZ: a write beyond the file size limit of the process would end the program. */
#ifndef RANKWRIGHT_FILE_SIZE_SIGNAL_H
#define RANKWRIGHT_FILE_SIZE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

struct rw_held_signal {
    sigset_t mask; /* of the program, before */
    bool was_pending;
};

/* Blocks SIGXFSZ for this thread until it is released; writes beyond the limit fail with EFBIG. */
struct rw_held_signal rw_hold_file_size_signal(void);
void rw_release_file_size_signal(const struct rw_held_signal *held);

#pragma GCC visibility pop
#endif
