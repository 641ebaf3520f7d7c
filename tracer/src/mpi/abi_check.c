#include "abi_check.h"

#include "mpi_library.h"
#include "warning.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char *const names[] = {"no MPI", "Open MPI", "MPICH", "the standard ABI of MPI 5"};

typedef int abi_version_function(int *major, int *minor);

/* The ABI of the MPI library in this process; works before MPI_Init. */
static enum rw_abi abi_of_library(void)
{
    if (!rw_look_up("PMPI_Init"))
        return RW_ABI_NONE;
    abi_version_function *version = (abi_version_function *)rw_look_up("PMPI_Abi_get_version");
    int major = -1, minor = -1;
    if (version && version(&major, &minor) == MPI_SUCCESS && major >= 0)
        return RW_ABI_STANDARD;
    return rw_look_up("ompi_mpi_comm_world") ? RW_ABI_OPEN_MPI : RW_ABI_MPICH;
}

/* Only rank 0 warns. Launchers set these variables to the rank. */
static int is_first_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *rank = getenv(variables[i]);
        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

/* The arguments of this process, before main. */
static char **read_arguments(void)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *text = NULL;
    size_t size = 0, length = 0;
    while (file && !feof(file) && !ferror(file)) {
        if (size - length < 4096) {
            size = 2 * size + 8192;
            char *larger = realloc(text, size);
            if (!larger)
                break;
            text = larger;
        }
        length += fread(text + length, 1, size - length, file);
    }
    const bool whole = file && feof(file) && length > 0 && text[length - 1] == '\0';
    if (file)
        fclose(file);
    if (!whole)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += text[i] == '\0';
    char **arguments = calloc(count + 1, sizeof *arguments);
    if (!arguments)
        return NULL;
    char *next = text;
    for (size_t i = 0; i < count; i++, next += strlen(next) + 1)
        arguments[i] = next;
    return arguments;
}

/* Takes this library out of LD_PRELOAD. */
static void unload(void)
{
    Dl_info self;
    const char *preload = getenv("LD_PRELOAD");
    char *rest = preload ? calloc(strlen(preload) + 1, 1) : NULL;
    char *entries = preload ? strdup(preload) : NULL;
    if (!rest || !entries || !dladdr((void *)&names, &self))
        return;
    char *state = NULL;
    for (char *entry = strtok_r(entries, ": ", &state); entry; entry = strtok_r(NULL, ": ", &state)) {
        if (strcmp(entry, self.dli_fname) == 0)
            continue;
        if (rest[0])
            strcat(rest, ":");
        strcat(rest, entry);
    }
    if (rest[0])
        setenv("LD_PRELOAD", rest, 1);
    else
        unsetenv("LD_PRELOAD");
    free(entries);
    free(rest);
}

__attribute__((constructor)) static void check_at_start(void)
{
    const enum rw_abi abi = abi_of_library();
    const char *preload = getenv("LD_PRELOAD");
    if (abi == RW_ABI_NONE || abi == RW_ABI || !preload)
        return;
    const size_t length = strlen(preload);
    unload();
    const char *left = getenv("LD_PRELOAD");
    char **arguments = read_arguments();
    /* Restart only if this library is out of the list: otherwise the program would restart forever. */
    if (!arguments || (left && strlen(left) == length))
        return;
    const char *file = getenv("RANKWRIGHT_TRACE_FILE");
    if (is_first_rank() && file && file[0])
        rw_warn("built for %s, but the program uses %s: no trace of this run", names[RW_ABI], names[abi]);
    execve("/proc/self/exe", arguments, environ);
}

/* Ends the program if its MPI library is of another ABI. */
static void check_abi(void)
{
    const enum rw_abi abi = abi_of_library();
    if (abi == RW_ABI_NONE || abi == RW_ABI)
        return;
    rw_warn("built for %s, but the program loaded %s: the program ends here", names[RW_ABI], names[abi]);
    exit(125);
}

void rw_library_begin(void)
{
    rw_show_private_library();
    check_abi();
}
