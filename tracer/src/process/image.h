/* image.h - the image of this rank as a whole: how it begins, and how it is handed over. */
#ifndef RANKWRIGHT_IMAGE_H
#define RANKWRIGHT_IMAGE_H

#include "../storage/arena.h"
#include "../storage/buffer.h"

#pragma GCC visibility push(hidden)

/* Fills the head of the image and describes this process: host, binding, MPI library. */
void rw_begin_image(uint64_t run);
/* Notes the time and the memory used so far; the state too, if the rank has come to its end. */
void rw_refresh_image(enum rw_state state);
/* So that an image tells the time of a run that was killed. Rarer and rarer, about every second at last. */
void rw_refresh(uint64_t now);
/* The image as the gathered trace has it. */
void rw_compact_image(struct rw_buffer *buffer);

#pragma GCC visibility pop
#endif
