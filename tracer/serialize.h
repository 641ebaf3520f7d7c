/* serialize.h - this rank's part of the trace, section by section; trace_format.h has the layout. */
#ifndef RANKWRIGHT_SERIALIZE_H
#define RANKWRIGHT_SERIALIZE_H

#include "buffer.h"
#include "communicators.h"

#pragma GCC visibility push(hidden)

/* Remembers host, affinity mask: to be called when MPI_Init returns. */
void rw_describe_process(void);

void rw_serialize_facts(struct rw_buffer *buffer);
void rw_serialize_rank(struct rw_buffer *buffer, double wall_seconds);
void rw_serialize_communicator(struct rw_buffer *buffer, const struct rw_communicator *communicator);
/* These two return the number of records. */
uint64_t rw_serialize_pairs(struct rw_buffer *buffer);
uint64_t rw_serialize_collectives(struct rw_buffer *buffer, struct rw_communicator *const *communicators,
                                  size_t count);

#pragma GCC visibility pop
#endif
