/* flush.h - the end of the run: every rank hands over what it recorded, rank 0 writes the file. */
#ifndef RANKWRIGHT_FLUSH_H
#define RANKWRIGHT_FLUSH_H

#pragma GCC visibility push(hidden)

/* Collective over the ranks of the run. */
void rw_flush(double wall_seconds);

#pragma GCC visibility pop
#endif
