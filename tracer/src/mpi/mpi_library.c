#include "mpi_library.h"

#include "warning.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const char *symbol;
    void *address;
    void *library;
};

static int look_in_library(struct dl_phdr_info *library, size_t size, void *state)
{
    (void)size;
    struct search *search = state;
    const char *slash = strrchr(library->dlpi_name, '/');
    const char *name = slash ? slash + 1 : library->dlpi_name;
    if (strncmp(name, "libmpi", 6) != 0) /* libmpi, libmpich, libmpi_mpifh, libmpichfort, ... */
        return 0;
    void *handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return 0;
    search->address = dlsym(handle, search->symbol);
    search->library = handle;
    return search->address != NULL;
}

/* RTLD_NEXT does not see libraries that a plug-in (a Python module, for example) loaded with RTLD_LOCAL. */
static struct search search_privately(const char *symbol)
{
    struct search search = {symbol, NULL, NULL};
    dl_iterate_phdr(look_in_library, &search);
    return search;
}

void *rw_look_up(const char *symbol)
{
    void *address = dlsym(RTLD_DEFAULT, symbol);
    return address ? address : search_privately(symbol).address;
}

static void *keep(_Atomic(void *) *cached, const char *symbol, void *address)
{
    if (!address) {
        rw_warn("%s: not found in the MPI library of this program", symbol);
        abort();
    }
    atomic_store_explicit(cached, address, memory_order_release);
    return address;
}

void *rw_find_next_symbol(_Atomic(void *) *cached, const char *symbol)
{
    void *address = dlsym(RTLD_NEXT, symbol);
    return keep(cached, symbol, address ? address : search_privately(symbol).address);
}

/* Not RTLD_NEXT: with copy relocations the data is in the program. */
void *rw_find_handle(_Atomic(void *) *cached, const char *symbol)
{
    return keep(cached, symbol, rw_look_up(symbol));
}

void rw_show_private_library(void)
{
    if (dlsym(RTLD_DEFAULT, "PMPI_Init"))
        return;
    const struct search search = search_privately("PMPI_Init");
    struct link_map *map = NULL;
    if (search.address && dlinfo(search.library, RTLD_DI_LINKMAP, &map) == 0)
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}
