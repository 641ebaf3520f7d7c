/*
 * sampler.h - reads the byte counters of this node's network devices every 10 ms, in a thread of the lowest rank of each
 * node, and writes them to its file as counters_format.h describes.
 *
 * One piece of the file is mapped at a time, so memory is bounded; the kernel writes it to the disk.
 */
#ifndef RANKWRIGHT_COUNTER_SAMPLER_H
#define RANKWRIGHT_COUNTER_SAMPLER_H

#pragma GCC visibility push(hidden)

/* Both collective over MPI_COMM_WORLD. */
void rw_sampler_begin(const char *folder);
void rw_sampler_end(void);

#pragma GCC visibility pop
#endif
