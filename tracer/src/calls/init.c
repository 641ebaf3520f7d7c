/* init.c - MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Abort, in C and in Fortran. */
#include "../mpi/abi_check.h"
#include "../mpi/fortran.h"
#include "../mpi/mpi_library.h"
#include "../run/run.h"

int MPI_Init(int *argc, char ***argv)
{
    rw_library_begin();
    const int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS)
        rw_begin();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    rw_library_begin();
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        rw_begin();
    return result;
}

int MPI_Finalize(void)
{
    rw_end();
    const int result = PMPI_Finalize();
    rw_after_finalize();
    return result;
}

int MPI_Abort(MPI_Comm comm, int error)
{
    rw_abort();
    return PMPI_Abort(comm, error);
}

#ifndef RW_WITHOUT_FORTRAN

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
    rw_after_finalize();
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
