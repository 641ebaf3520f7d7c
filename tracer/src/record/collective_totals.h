/* collective_totals.h - totals of collective calls, by communicator, operation, form and root. */
#ifndef RANKWRIGHT_COLLECTIVE_TOTALS_H
#define RANKWRIGHT_COLLECTIVE_TOTALS_H

#include "../communicators/communicators.h"
#include "../communicators/row.h"

#pragma GCC visibility push(hidden)

/* Adds one call, with the tracer's lock held. `row` NULL: the operation has none. */
void rw_add_collective(const struct rw_call *call, struct rw_communicator *communicator,
                       enum rw_operation operation, int root, uint64_t bytes,
                       const struct rw_row *row);

#pragma GCC visibility pop
#endif
