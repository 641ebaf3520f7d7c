/* persistent.h - persistent sends: noted when the request is made, counted whenever it is started. */
#ifndef RANKWRIGHT_PERSISTENT_H
#define RANKWRIGHT_PERSISTENT_H

#include "tracer.h"

#pragma GCC visibility push(hidden)

void rw_record_send_init(const struct rw_call *call, int count, MPI_Datatype datatype,
                         int destination, MPI_Comm comm, MPI_Request request);

#pragma GCC visibility pop
#endif
