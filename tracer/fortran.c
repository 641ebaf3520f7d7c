#include "fortran.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const char *symbol;
    void *function;
};

static int look_in_library(struct dl_phdr_info *library, size_t size, void *state)
{
    (void)size;
    struct search *search = state;
    const char *slash = strrchr(library->dlpi_name, '/');
    const char *name = slash ? slash + 1 : library->dlpi_name;
    if (strncmp(name, "libmpi", 6) != 0) /* libmpi_mpifh, libmpi_usempif08, libmpichfort, ... */
        return 0;
    void *handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        search->function = dlsym(handle, search->symbol);
    return search->function != NULL;
}

void *rw_find_next_symbol(_Atomic(void *) *cached, const char *symbol)
{
    struct search search = {symbol, dlsym(RTLD_NEXT, symbol)};
    /* RTLD_NEXT does not see libraries that a plug-in (of Python, say) brought in privately. */
    if (!search.function)
        dl_iterate_phdr(look_in_library, &search);
    if (!search.function) {
        rw_warn("%s: not found in the MPI library of this program", symbol);
        abort();
    }
    atomic_store_explicit(cached, search.function, memory_order_release);
    return search.function;
}

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
    next(&error);
    finish_init(error, ierror);
}

static void init_thread(init_thread_function *next, MPI_Fint *required, MPI_Fint *provided,
                        MPI_Fint *ierror)
{
    MPI_Fint error = MPI_SUCCESS;
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
