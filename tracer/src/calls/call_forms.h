/*
 * call_forms.h - from the rows of generated/calls.h to functions. It includes calls.h twice: for functions with counts
 * of int, and for functions with large counts (MPI_..._c).
 *
 * c_wrapper.h or fortran_wrapper.h, included before, defines WRAP, which makes one function, and these words:
 *   IN(type), OUT(type), LIST(type)     declares an argument: a value, a pointer or an array, a constant array
 *   WIDE(type)                          a value of MPI_Aint or MPI_Count
 *   VALUE(n), HANDLE(T, n), MADE(T, n)  passes a number, a handle of type MPI_T, a new handle, in the types of C
 *   DATA(n), STATUS(n), DATATYPES(n)    passes a buffer, a status, an array of datatypes, in the types of C
 *   FORM(function)                      the function, in Fortran its variant for arguments of Fortran
 * In the statements of a row, `call` points to the struct rw_call of this call, and `ok` is true after success.
 */
#define NOTHING (void)0

#define CALL_FORM(suffix, Name, lower, class, kind, parameters, names, before, record, event)                         \
    WRAP(Name, lower, suffix, class, 0, kind, parameters, names, before, record, event)

/* The function that records a collective writes its event too; a nonblocking one adds its request. */
#define COLLECTIVE_FORMS(suffix, Name, lower, kind, parameters, names, record)                                        \
    WRAP_WITHOUT_EVENTS(Name, lower, suffix, COLLECTIVE, 0, kind, parameters, names, record)                          \
    WRAP(I##lower, i##lower, suffix, COLLECTIVE, RW_FLAG_NONBLOCKING, kind,                                           \
         RW_AND(parameters, OUT(MPI_Request) request), RW_AND(names, request), NOTHING, record,                       \
         if (ok) rw_event_request(call, MADE(Request, request)))                                                      \
    PERSISTENT_FORM##suffix(Name, lower, kind, parameters, names, record)

#define PERSISTENT(WRAP_FORM, suffix, Name, lower, kind, parameters, names, record)                                   \
    WRAP_FORM(Name##_init, lower##_init, suffix, COLLECTIVE, RW_FLAG_PERSISTENT, kind,                                \
              RW_AND(parameters, IN(MPI_Info) info, OUT(MPI_Request) request), RW_AND(names, info, request),          \
              NOTHING, RW_RECORD_INIT(MADE(Request, request), record),                                                \
              if (ok) rw_event_other(call, RW_CLASS_COLLECTIVE))

#define PERSISTENT_FORM_c(...) PERSISTENT(WRAP, _c, __VA_ARGS__)
#if defined(RW_PERSISTENT_COLLECTIVES_ARE_EXTENSIONS)
#define PERSISTENT_FORM(...) PERSISTENT(WRAP_EXTENSION, , __VA_ARGS__)
#elif defined(RW_PERSISTENT_COLLECTIVES)
#define PERSISTENT_FORM(...) PERSISTENT(WRAP, , __VA_ARGS__)
#else
#define PERSISTENT_FORM(...)
#endif

#define COUNT IN(int)
#define COUNT_LIST LIST(int)
#define DISPLACEMENT IN(int)
#define DISPLACEMENT_LIST LIST(int)
#define COUNTS(name) ((struct rw_counts){name, NULL})
#ifndef ONLY_NAMES_OF_OPEN_MPI_4
#define CALL(...) CALL_FORM(, __VA_ARGS__)
#define LARGE_CALL(...) CALL_FORM(, __VA_ARGS__)
#define COLLECTIVE(...) COLLECTIVE_FORMS(, __VA_ARGS__)
#define LARGE_COLLECTIVE(...) COLLECTIVE_FORMS(, __VA_ARGS__)
#else
#define CALL(...)
#define LARGE_CALL(...)
#define COLLECTIVE(...) PERSISTENT(WRAP_EXTENSION, , __VA_ARGS__)
#define LARGE_COLLECTIVE(...) PERSISTENT(WRAP_EXTENSION, , __VA_ARGS__)
#endif
#include "../../generated/calls.h"

#if MPI_VERSION >= 4 && !defined(ONLY_NAMES_OF_OPEN_MPI_4)
#undef COUNT
#undef COUNT_LIST
#undef DISPLACEMENT
#undef DISPLACEMENT_LIST
#undef COUNTS
#undef CALL
#undef LARGE_CALL
#undef COLLECTIVE
#undef LARGE_COLLECTIVE
#define COUNT WIDE(MPI_Count)
#define COUNT_LIST const MPI_Count *
#define DISPLACEMENT WIDE(MPI_Aint)
#define DISPLACEMENT_LIST const MPI_Aint *
#define COUNTS(name) ((struct rw_counts){NULL, name})
#define CALL(...)
#define LARGE_CALL(...) CALL_FORM(_c, __VA_ARGS__)
#define COLLECTIVE(...)
#define LARGE_COLLECTIVE(...) COLLECTIVE_FORMS(_c, __VA_ARGS__)
#include "../../generated/calls.h"
#endif
