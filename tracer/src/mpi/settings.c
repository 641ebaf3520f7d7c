#include "settings.h"

#include "../storage/allocate.h"
#include "../storage/arena.h"
#include "mpi_library.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 256, LONGEST_TEXT = 1024, MOST_SETTINGS = 1000 };
/* Open MPI copies a text whatever its length; the number of characters that it states is a constant. */
enum { VALUE_ROOM = 1 << 17 };

/* The first pattern that fits a name decides: `!` leaves the variable out, as no pattern does. */
static const char *const patterns[] = {
    /* Open MPI: how components are chosen, the algorithms of collectives, the limits between protocols. */
    "!coll_*_verbose", "!coll_*_version", "!coll_*_count", "!coll_*free_list*", "!coll_*dump*",
    "coll", "coll_*", "pml", "pml_*_priority", "btl", "mtl", "mtl_*_priority",
    "btl_*_eager_limit", "btl_*_max_send_size", "mpi_yield_when_idle",
    /* MPICH and what descends from it */
    "!MPIR_CVAR_*_DEBUG*", "!MPIR_CVAR_*_INTER_ALGORITHM", "!MPIR_CVAR_*RMA*",
    "MPIR_CVAR_*_ALGORITHM", "MPIR_CVAR_*_COMPOSITION", "MPIR_CVAR_*DEVICE_COLLECTIVE*",
    "MPIR_CVAR_COLLECTIVE_FALLBACK", "MPIR_CVAR_*_JSON_FILE*", "MPIR_CVAR_*_MSG_SIZE", "MPIR_CVAR_*_MIN_PROCS",
    "MPIR_CVAR_*_KVAL", "MPIR_CVAR_*_TREE_TYPE", "MPIR_CVAR_*_CHUNK_SIZE", "MPIR_CVAR_*_THROTTLE",
    "MPIR_CVAR_*ENABLE_HCOLL", "MPIR_CVAR_*_ENABLE_UCC", "MPIR_CVAR_*_CCL", "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD",
    "MPIR_CVAR_NUM_MULTI_LEADS", "MPIR_CVAR_*_PER_LEADER", "MPIR_CVAR_*EAGER*", "MPIR_CVAR_CH4_NETMOD",
    "MPIR_CVAR_CH4_SHM", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE", "MPIR_CVAR_NOLOCAL",
    "MPIR_CVAR_ODD_EVEN_CLIQUES", "MPIR_CVAR_NUM_CLIQUES", "MPIR_CVAR_CLIQUES_BY_BLOCK",
};

static bool is_wanted(const char *name)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const bool excludes = patterns[i][0] == '!';
        if (fnmatch(patterns[i] + excludes, name, 0) == 0)
            return !excludes;
    }
    return false;
}

static void add(const char *name, const char *value)
{
    const size_t name_bytes = strlen(name), value_bytes = strlen(value);
    const struct rw_setting_record head = {.name_bytes = (uint32_t)name_bytes, .value_bytes = (uint32_t)value_bytes};
    char *room = rw_allocate(sizeof head + name_bytes + value_bytes, 1);
    if (!room)
        return;
    memcpy(room, &head, sizeof head);
    memcpy(room + sizeof head, name, name_bytes);
    memcpy(room + sizeof head + name_bytes, value, value_bytes);
    const size_t size = sizeof head + name_bytes + value_bytes;
    rw_arena_add(RW_RECORD_SETTING, room, size, size);
    free(room);
}

/* A number of this type in decimal digits; false: no type of numbers. */
static bool print_number(MPI_Datatype datatype, const void *value, char *text, size_t size)
{
    int bytes = 0;
    if (datatype == MPI_DOUBLE)
        return snprintf(text, size, "%.17g", *(const double *)value) > 0;
    if (PMPI_Type_size(datatype, &bytes) != MPI_SUCCESS)
        return false;
    const bool has_sign = datatype == MPI_INT || datatype == MPI_COUNT || datatype == MPI_INT32_T
        || datatype == MPI_INT64_T;
    if (bytes == sizeof(uint8_t))
        return snprintf(text, size, "%u", *(const uint8_t *)value) > 0;
    if (bytes == sizeof(int32_t))
        return has_sign ? snprintf(text, size, "%d", *(const int32_t *)value) > 0
                        : snprintf(text, size, "%u", *(const uint32_t *)value) > 0;
    if (bytes == sizeof(int64_t))
        return has_sign ? snprintf(text, size, "%lld", (long long)*(const int64_t *)value) > 0
                        : snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)value) > 0;
    return false;
}

/* `room` has VALUE_ROOM bytes. */
static void read_variable(int index, const char *name, MPI_Datatype datatype, char *room)
{
    MPI_T_cvar_handle handle;
    int count = 0;
    char number[64];
    if (PMPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    memset(room, 0, VALUE_ROOM);
    const bool is_text = datatype == MPI_CHAR;
    const bool fits = is_text ? count < VALUE_ROOM : count == 1;
    if (fits && PMPI_T_cvar_read(handle, room) == MPI_SUCCESS) {
        if (is_text && memchr(room, '\0', LONGEST_TEXT))
            add(name, room);
        else if (!is_text && print_number(datatype, room, number, sizeof number))
            add(name, number);
    }
    PMPI_T_cvar_handle_free(&handle);
}

static void read_variables(char *room)
{
    int variables = 0, recorded = 0;
    if (PMPI_T_cvar_get_num(&variables) != MPI_SUCCESS)
        return;
    for (int i = 0; i < variables && recorded < MOST_SETTINGS; i++) {
        char name[NAME_ROOM] = "", description[2] = "";
        int name_length = sizeof name, description_length = sizeof description;
        int verbosity = 0, binding = MPI_T_BIND_NO_OBJECT, scope = 0;
        MPI_Datatype datatype = MPI_DATATYPE_NULL;
        MPI_T_enum enumeration = MPI_T_ENUM_NULL;
        /* Fails for variables of plug-ins that are no longer loaded. */
        if (PMPI_T_cvar_get_info(i, name, &name_length, &verbosity, &datatype, &enumeration, description,
                                 &description_length, &binding, &scope) != MPI_SUCCESS)
            continue;
        if (binding != MPI_T_BIND_NO_OBJECT || datatype == MPI_DATATYPE_NULL || !is_wanted(name))
            continue;
        read_variable(i, name, datatype, room);
        recorded++;
    }
}

void rw_record_settings(void)
{
    int provided = 0;
    if (!rw_look_up("PMPI_T_cvar_read") || PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    char *room = rw_allocate(VALUE_ROOM, 1);
    if (room)
        read_variables(room);
    free(room);
    PMPI_T_finalize();
}
