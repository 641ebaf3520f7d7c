/* wrapper.h - what wrappers in C and in Fortran have in common. */
#ifndef RANKWRIGHT_WRAPPER_H
#define RANKWRIGHT_WRAPPER_H

#include "../communicators/topology.h"
#include "../events/events.h"
#include "../mpi/arguments.h"
#include "../mpi/persistent_collectives.h"
#include "../record/collectives.h"
#include "../record/one_sided.h"
#include "../record/persistent.h"
#include "../record/point_to_point.h"
#include "call.h"

/* Recording with events is a separate function, which keeps the common path short. */
#define RW_WITH_EVENTS __attribute__((noinline, cold))

/* The elements of a list in parentheses; the list with more elements. */
#define RW_ELEMENTS(...) __VA_ARGS__
#define RW_AND(list, ...) (RW_ELEMENTS list, __VA_ARGS__)

/* After the call: adds its time and records it. */
#define RW_LEAVE(class, flags, record, event)                                                                         \
    const struct rw_call left = rw_leave(RW_CLASS_##class, start, flags);                                             \
    const struct rw_call *const call = &left;                                                                         \
    (void)call;                                                                                                       \
    if (ok) {                                                                                                         \
        record;                                                                                                       \
    }                                                                                                                 \
    event;

/* Records a call that created a persistent request, with the request. */
#define RW_RECORD_INIT(request, record)                                                                               \
    const struct rw_init_call init = rw_make_init_call(call, request);                                                \
    const struct rw_call *const call = &init.call;                                                                    \
    record

#endif
