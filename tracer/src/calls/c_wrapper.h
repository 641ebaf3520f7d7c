/* c_wrapper.h - a wrapper in C: MPI_..., which calls the library's PMPI_.... */
#ifndef RANKWRIGHT_C_WRAPPER_H
#define RANKWRIGHT_C_WRAPPER_H

#include "wrapper.h"

#define IN(type) type
#define OUT(type) type *
#define LIST(type) const type *
#define WIDE(type) type
#define VALUE(name) name
#define HANDLE(type, name) name
#define MADE(type, name) *name
#define DATA(name) name
#define STATUS(name) name
#define DATATYPES(name) ((struct rw_datatypes){name, NULL})
#define FORM(function) function

#define WRAP(Name, lower, suffix, class, flags, kind, parameters, names, before, record, event)                       \
    C_WRAPPER(MPI_##Name##suffix, lower##suffix, class, flags, parameters, names, before, record, event)
#define WRAP_WITHOUT_EVENTS(Name, lower, suffix, class, flags, kind, parameters, names, record)                       \
    C_ENTRY(MPI_##Name##suffix, class, flags, parameters, names, record, )
/* The persistent collectives of Open MPI 4, an extension that <mpi.h> does not declare. */
#define WRAP_EXTENSION(Name, lower, suffix, class, flags, kind, parameters, names, before, record, event)             \
    int PMPIX_##Name parameters;                                                                                      \
    C_WRAPPER(MPIX_##Name, lower, class, flags, parameters, names, before, record, event)

#define C_WRAPPER(function, lower, class, flags, parameters, names, before, record, event)                            \
    RW_WITH_EVENTS static int with_events_##lower parameters                                                          \
    {                                                                                                                 \
        before;                                                                                                       \
        C_CALL(function, class, flags, names, record, event)                                                          \
    }                                                                                                                 \
    C_ENTRY(function, class, flags, parameters, names, record, if (rw_events_on) return with_events_##lower names;)

#define C_ENTRY(function, class, flags, parameters, names, record, events)                                            \
    int function parameters                                                                                           \
    {                                                                                                                 \
        if (!rw_enter())                                                                                              \
            return P##function names;                                                                                 \
        events                                                                                                        \
        C_CALL(function, class, flags, names, record, NOTHING)                                                        \
    }

#define C_CALL(function, class, flags, names, record, event)                                                          \
    const uint64_t start = rw_start();                                                                                \
    const int result = P##function names;                                                                             \
    const bool ok = result == MPI_SUCCESS;                                                                            \
    RW_LEAVE(class, flags, record, event)                                                                             \
    return result;

#endif
