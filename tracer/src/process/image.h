/* image.h - the image of this rank: its head, and the copy of it that goes into the trace. */
#ifndef RANKWRIGHT_IMAGE_H
#define RANKWRIGHT_IMAGE_H

#include "../storage/arena.h"
#include "../storage/buffer.h"

#pragma GCC visibility push(hidden)

/* Fills the head of the image and records host, binding and MPI library of this process. */
void rw_begin_image(uint64_t run);
/* Stores time, peak memory and state. */
void rw_refresh_image(enum rw_state state);
/* Stores the time while the rank runs, so that the image of a killed rank has it: at growing intervals, up to about
 * half a second. Sets rw_tracer.next_refresh. */
void rw_refresh(uint64_t now);
/* Records what the process has loaded beside MPI; again at the end, as plug-ins come late. */
void rw_describe_loaded(void);
/* Appends the image as it is in the gathered trace. */
void rw_compact_image(struct rw_buffer *buffer);

#pragma GCC visibility pop
#endif
