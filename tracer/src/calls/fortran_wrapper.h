/*
 * fortran_wrapper.h - a wrapper in Fortran: one function per call, and entry points that differ in the function of the
 * library to which they forward. README.md lists the entry points of each library.
 *
 * The kind of a call determines its entry points:
 *   WITH_BUFFER        mpi_name_, mpi_name_f08_ under Open MPI; those of MPICH call MPI_* in C
 *   PLAIN              mpi_name_ under Open MPI, mpi_name_f08_ always
 *   WITHOUT_ARGUMENTS  as PLAIN; the error code is its only argument
 *   WITH_STRING        as PLAIN; compilers pass the length of its string `stringtag` after all arguments
 *   WITH_ADDRESS       as PLAIN; also mpi_name_cptr_ under Open MPI, mpi_name_f08_large_ under MPICH
 */
#ifndef RANKWRIGHT_FORTRAN_WRAPPER_H
#define RANKWRIGHT_FORTRAN_WRAPPER_H

#include "../mpi/fortran.h"
#include "wrapper.h"

#define IN(type) MPI_Fint *
#define OUT(type) MPI_Fint *
#define LIST(type) const MPI_Fint *
#define WIDE(type) type *
#define VALUE(name) *name
#define HANDLE(type, name) PMPI_##type##_f2c(*name)
#define MADE(type, name) PMPI_##type##_f2c(*name)
#define DATA(name) rw_fortran_buffer(name)
#define STATUS(name) rw_c_status(name)
#define DATATYPES(name) ((struct rw_datatypes){NULL, name})
#define FORM(function) function##_fortran

#define WRAP(Name, lower, suffix, class, flags, kind, parameters, names, before, record, event)                       \
    FORTRAN_##kind##suffix(mpi, lower, EVENTS, class, flags, parameters, names, before, record, event)
#define WRAP_WITHOUT_EVENTS(Name, lower, suffix, class, flags, kind, parameters, names, record)                       \
    FORTRAN_##kind##suffix(mpi, lower, NO_EVENTS, class, flags, parameters, names, NOTHING, record, NOTHING)
#define WRAP_EXTENSION(Name, lower, suffix, class, flags, kind, parameters, names, before, record, event)             \
    FORTRAN_##kind(mpix, lower, EVENTS, class, flags, parameters, names, before, record, event)

#ifdef RW_WRAP_ALL_FORTRAN
#define UNDER_OPEN_MPI(...) __VA_ARGS__
#define UNDER_MPICH(...)
#else
#define UNDER_OPEN_MPI(...)
#define UNDER_MPICH(...) __VA_ARGS__
#endif

#define FORTRAN_WITH_BUFFER(prefix, lower, events, class, flags, parameters, names, before, record, event)            \
    UNDER_OPEN_MPI(FORTRAN_PLAIN(prefix, lower, events, class, flags, parameters, names, before, record, event))

#define FORTRAN_PLAIN(prefix, lower, events, class, flags, parameters, names, before, record, event)                  \
    FORTRAN_FUNCTIONS(prefix, lower, events, class, flags, (RW_ELEMENTS parameters, ), (RW_ELEMENTS names, ), (), (), \
                      before, record, event)

#define FORTRAN_WITHOUT_ARGUMENTS(prefix, lower, events, class, flags, parameters, names, before, record, event)      \
    FORTRAN_FUNCTIONS(prefix, lower, events, class, flags, (), (), (), (), before, record, event)

#define FORTRAN_WITH_STRING(prefix, lower, events, class, flags, parameters, names, before, record, event)            \
    FORTRAN_FUNCTIONS(prefix, lower, events, class, flags, (RW_ELEMENTS parameters, ), (RW_ELEMENTS names, ),         \
                      (, size_t stringtag_length), (, stringtag_length), before, record, event)

#define FORTRAN_WITH_ADDRESS(prefix, lower, events, class, flags, parameters, names, before, record, event)           \
    FORTRAN_PLAIN(prefix, lower, events, class, flags, parameters, names, before, record, event)                      \
    UNDER_OPEN_MPI(FORTRAN_ENTRY(prefix##_##lower##_cptr_, lower, (RW_ELEMENTS parameters, ), (RW_ELEMENTS names, ),  \
                                 (), ()))

/* With large counts: Open MPI has no Fortran entry points yet, and those of MPICH with a buffer call MPI_* in C. */
#define FORTRAN_PLAIN_c(...)
#define FORTRAN_WITH_BUFFER_c(...)
#define FORTRAN_WITH_ADDRESS_c(prefix, lower, events, class, flags, parameters, names, before, record, event)         \
    UNDER_MPICH(FORTRAN_TRACED(lower##_c, events, class, flags, (RW_ELEMENTS parameters, ), (RW_ELEMENTS names, ),    \
                               (), (), before, record, event)                                                         \
                FORTRAN_ENTRY(prefix##_##lower##_f08_large_, lower##_c, (RW_ELEMENTS parameters, ),                   \
                              (RW_ELEMENTS names, ), (), ()))

/* Below, `parameters` and `names` end with a comma unless they are empty: the error code follows, and after it the
 * `lengths` of strings, which begin with a comma. */
#define FORTRAN_FUNCTIONS(prefix, lower, events, class, flags, parameters, names, lengths, length_names, before,      \
                          record, event)                                                                              \
    FORTRAN_TRACED(lower, events, class, flags, parameters, names, lengths, length_names, before, record, event)      \
    UNDER_OPEN_MPI(FORTRAN_ENTRY(prefix##_##lower##_, lower, parameters, names, lengths, length_names))               \
    FORTRAN_ENTRY(prefix##_##lower##_f08_, lower, parameters, names, lengths, length_names)

#define FORTRAN_ENTRY(symbol, lower, parameters, names, lengths, length_names)                                        \
    void symbol(RW_ELEMENTS parameters MPI_Fint *ierror RW_ELEMENTS lengths)                                          \
    {                                                                                                                 \
        static _Atomic(void *) next;                                                                                  \
        traced_##lower((lower##_function *)rw_next_symbol(&next, #symbol),                                            \
                       RW_ELEMENTS names ierror RW_ELEMENTS length_names);                                            \
    }

#define FORTRAN_TRACED(lower, events, class, flags, parameters, names, lengths, length_names, before, record, event)  \
    typedef void lower##_function(RW_ELEMENTS parameters MPI_Fint *ierror RW_ELEMENTS lengths);                       \
    events##_FUNCTION(lower, class, flags, parameters, names, lengths, length_names, before, record, event)           \
    static void traced_##lower(lower##_function *next, RW_ELEMENTS parameters MPI_Fint *ierror RW_ELEMENTS lengths)   \
    {                                                                                                                 \
        MPI_Fint error = MPI_SUCCESS;                                                                                 \
        if (!rw_enter()) {                                                                                            \
            next(RW_ELEMENTS names &error RW_ELEMENTS length_names);                                                  \
        } else events##_BRANCH(lower, names, length_names) {                                                          \
            const uint64_t start = rw_start();                                                                        \
            next(RW_ELEMENTS names &error RW_ELEMENTS length_names);                                                  \
            const bool ok = error == MPI_SUCCESS;                                                                     \
            RW_LEAVE(class, flags, record, NOTHING)                                                                   \
        }                                                                                                             \
        if (ierror)                                                                                                   \
            *ierror = error;                                                                                          \
    }

#define NO_EVENTS_FUNCTION(...)
#define NO_EVENTS_BRANCH(...)

#define EVENTS_BRANCH(lower, names, length_names)                                                                     \
    if (rw_events_on) {                                                                                               \
        fortran_with_events_##lower(next, RW_ELEMENTS names &error RW_ELEMENTS length_names);                         \
    } else

#define EVENTS_FUNCTION(lower, class, flags, parameters, names, lengths, length_names, before, record, event)         \
    RW_WITH_EVENTS static void fortran_with_events_##lower(                                                           \
        lower##_function *next, RW_ELEMENTS parameters MPI_Fint *error RW_ELEMENTS lengths)                           \
    {                                                                                                                 \
        before;                                                                                                       \
        const uint64_t start = rw_start();                                                                            \
        next(RW_ELEMENTS names error RW_ELEMENTS length_names);                                                       \
        const bool ok = *error == MPI_SUCCESS;                                                                        \
        RW_LEAVE(class, flags, record, event)                                                                         \
    }

#endif
