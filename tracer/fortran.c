#include "fortran.h"

#ifndef RW_WITHOUT_FORTRAN

#include <dlfcn.h>

const void *rw_fortran_buffer(const void *buffer)
{
    static const char *const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                        "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
    enum { NAMES = sizeof names / sizeof *names };
    static _Atomic(void *) addresses[NAMES];
    static atomic_bool known;
    if (!atomic_load_explicit(&known, memory_order_acquire)) {
        for (int i = 0; i < NAMES; i++)
            atomic_store(&addresses[i], dlsym(RTLD_DEFAULT, names[i]));
        atomic_store_explicit(&known, true, memory_order_release);
    }
    for (int i = 0; i < NAMES; i++)
        if (buffer && buffer == atomic_load_explicit(&addresses[i], memory_order_relaxed))
            return MPI_IN_PLACE;
    return buffer;
}

typedef void init_function(MPI_Fint *ierror);
typedef void abort_function(MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierror);
typedef void init_thread_function(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror);

static void finish_init(MPI_Fint error, MPI_Fint *ierror)
{
    if (error == MPI_SUCCESS)
        rw_begin();
    if (ierror)
        *ierror = error;
}

static void init(init_function *next, MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    rw_library_begin();
    next(&error);
    finish_init(error, ierror);
}

static void init_thread(init_thread_function *next, MPI_Fint *required, MPI_Fint *provided,
                        MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    rw_library_begin();
    next(required, provided, &error);
    finish_init(error, ierror);
}

static void finalize(init_function *next, MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    rw_end();
    next(&error);
    if (ierror)
        *ierror = error;
}

static void abort_program(abort_function *next, MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
    rw_abort();
    next(comm, code, &error);
    if (ierror)
        *ierror = error;
}

void mpi_init_f08_(MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    init((init_function *)rw_next_symbol(&next, "mpi_init_f08_"), ierror);
}

void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    init_thread((init_thread_function *)rw_next_symbol(&next, "mpi_init_thread_f08_"), required,
                provided, ierror);
}

void mpi_finalize_f08_(MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    finalize((init_function *)rw_next_symbol(&next, "mpi_finalize_f08_"), ierror);
}

void mpi_abort_f08_(MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    abort_program((abort_function *)rw_next_symbol(&next, "mpi_abort_f08_"), comm, code, ierror);
}

#ifdef RW_WRAP_ALL_FORTRAN

void mpi_init_(MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    init((init_function *)rw_next_symbol(&next, "mpi_init_"), ierror);
}

void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    init_thread((init_thread_function *)rw_next_symbol(&next, "mpi_init_thread_"), required, provided,
                ierror);
}

void mpi_finalize_(MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    finalize((init_function *)rw_next_symbol(&next, "mpi_finalize_"), ierror);
}

void mpi_abort_(MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierror)
{
    static _Atomic(void *) next;
    abort_program((abort_function *)rw_next_symbol(&next, "mpi_abort_"), comm, code, ierror);
}

#endif

#endif
