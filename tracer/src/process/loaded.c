#include "loaded.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

struct library {
    const char *name;  /* as it is recorded */
    const char *start; /* of the file name; `.so` or a suffix of the vendor follows */
};

static const struct library anywhere[] = {
    {"NCCL", "libnccl"}, {"RCCL", "librccl"}, {"NVSHMEM", "libnvshmem"}, {"oneCCL", "libccl"},
};

static const struct library of_executable[] = {
    {"libfabric", "libfabric"}, {"UCX", "libucp"}, {"UCX", "libuct"},
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* libnccl.so.2, libnvshmem_host.so.3, but not libncclient.so. */
static bool is_library(const char *path, const struct library *library)
{
    const char *name = file_name(path);
    const size_t length = strlen(library->start);
    return strncmp(name, library->start, length) == 0 && strchr(".-_", name[length])
           && strstr(name + length, ".so");
}

static void add(struct rw_loaded *loaded, const char *name)
{
    const size_t length = strlen(loaded->beside_mpi);
    if (strstr(loaded->beside_mpi, name) || length + strlen(name) + 2 > sizeof loaded->beside_mpi)
        return;
    if (length)
        strcat(loaded->beside_mpi, ",");
    strcat(loaded->beside_mpi, name);
}

static void look_at_name(struct rw_loaded *loaded, const char *path)
{
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
        if (is_library(path, &anywhere[i]))
            add(loaded, anywhere[i].name);
    if (strstr(path, "/mpi4py/MPI."))
        loaded->called_through = "mpi4py";
}

/* The libraries that the executable names itself (DT_NEEDED). */
static void look_at_executable(struct rw_loaded *loaded, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (!dynamic)
        return;
    uintptr_t strings = 0;
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB)
            strings = entry->d_un.d_ptr;
    if (!strings)
        return;
    if (strings < info->dlpi_addr) /* some C libraries leave the address relative */
        strings += info->dlpi_addr;
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        for (size_t i = 0; i < sizeof of_executable / sizeof *of_executable; i++)
            if (entry->d_tag == DT_NEEDED
                && is_library((const char *)strings + entry->d_un.d_val, &of_executable[i]))
                add(loaded, of_executable[i].name);
}

struct look {
    struct rw_loaded *loaded;
    bool past_executable; /* it comes first */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct look *look = argument;
    (void)size;
    if (!look->past_executable)
        look_at_executable(look->loaded, info);
    else if (info->dlpi_name)
        look_at_name(look->loaded, info->dlpi_name);
    look->past_executable = true;
    return 0;
}

void rw_look_at_loaded(struct rw_loaded *loaded)
{
    *loaded = (struct rw_loaded){.called_through = ""};
    dl_iterate_phdr(look_at, &(struct look){.loaded = loaded});
}
