#include "mpi_library.h"

#include "warning.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const char *symbol;
    void *found;
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
    search->found = dlsym(handle, search->symbol);
    search->library = handle;
    return search->found != NULL;
}

/* RTLD_NEXT does not see libraries that a plug-in (of Python, say) brought in privately. */
static struct search search_privately(const char *symbol)
{
    struct search search = {symbol, NULL, NULL};
    dl_iterate_phdr(look_in_library, &search);
    return search;
}

void *rw_look_up(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    return found ? found : search_privately(symbol).found;
}

static void *keep(_Atomic(void *) *cached, const char *symbol, void *found)
{
    if (!found) {
        rw_warn("%s: not found in the MPI library of this program", symbol);
        abort();
    }
    atomic_store_explicit(cached, found, memory_order_release);
    return found;
}

void *rw_find_next_symbol(_Atomic(void *) *cached, const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    return keep(cached, symbol, found ? found : search_privately(symbol).found);
}

/* Not the next one: the linker may have moved a library's data into the program. */
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
    if (search.found && dlinfo(search.library, RTLD_DI_LINKMAP, &map) == 0)
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}
