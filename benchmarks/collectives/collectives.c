/* Calls collective operations and prints how many bytes each rank sent to each other, as the MPI library
 * counted them: Open MPI's pml/monitoring (--mca pml_monitoring_enable 1; link with -rdynamic), or
 * rankwright_wire_bytes() of count_ucp.c, preloaded under MPICH.
 *
 *   collectives CASES [SETTING=VALUE ...]    each line: OPERATION BYTES [CONTROL_VARIABLE=VALUE ...]
 *
 * BYTES is the buffer of Bcast, Reduce, Allreduce, Scan and Exscan, otherwise one block; members with a
 * count of their own have 0, 1 or 2 blocks. The root is member 1. Control variables are written before
 * a communicator is made for the case; settings are what the launcher was told, and are only repeated. Output: the library, the first rank on the node of each rank, "case LINE" and one line per pair, "source destination
 * bytes". */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

extern void rankwright_wire_bytes(uint64_t *by_rank, int ranks) __attribute__((weak));

static int ranks, me;
static char *send_buffer, *receive_buffer;
static uint64_t sent[MOST];
static int monitored;

static void fail(const char *what)
{
    fprintf(stderr, "collectives: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Called by Open MPI's monitoring for each message, in place of the library's function of this name; its
 * own counters cannot be read before MPI_Finalize (4.1 loses the variables when the component is used). */
void mca_common_monitoring_record_pml(int rank, size_t bytes, int tag);
void mca_common_monitoring_record_pml(int rank, size_t bytes, int tag)
{
    (void)tag;
    if (rank >= 0 && rank < MOST)
        sent[rank] += bytes;
    monitored = 1;
}

static void read_counters(uint64_t *bytes)
{
    if (rankwright_wire_bytes)
        rankwright_wire_bytes(bytes, ranks);
    else
        memcpy(bytes, sent, sizeof sent);
}

/* NAME=VALUE; the value is a number or one of the variable's names. */
static void set_variable(char *setting)
{
    char *value = strchr(setting, '=');
    int index, count, verbosity, binding, scope, length = 0, number;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_handle handle;
    if (!value)
        fail("a setting without =");
    *value++ = 0;
    if (MPI_T_cvar_get_index(setting, &index)
        || MPI_T_cvar_get_info(index, NULL, &length, &verbosity, &type, &names, NULL, NULL, &binding,
                               &scope)
        || MPI_T_cvar_handle_alloc(index, NULL, &handle, &count))
        fail(setting);
    if (type == MPI_CHAR) {
        char text[256] = "";
        snprintf(text, sizeof text, "%s", value);
        if (MPI_T_cvar_write(handle, text))
            fail(setting);
    } else {
        number = atoi(value);
        if (MPI_T_cvar_write(handle, &number))
            fail(setting);
    }
    MPI_T_cvar_handle_free(&handle);
}

static MPI_Datatype datatype_of(int bytes, int *count)
{
    MPI_Datatype type = bytes % 8 == 0 ? MPI_DOUBLE : bytes % 4 == 0 ? MPI_INT : MPI_UNSIGNED_CHAR;
    *count = bytes % 8 == 0 ? bytes / 8 : bytes % 4 == 0 ? bytes / 4 : bytes;
    return type;
}

static void call(const char *operation, int bytes, MPI_Comm comm)
{
    static int counts[MOST], displacements[MOST], received[MOST], at[MOST];
    static MPI_Datatype types[MOST];
    int count, total = 0, root = 1;
    MPI_Datatype type = datatype_of(bytes, &count);
    const char *o = operation;
    char *s = send_buffer, *r = receive_buffer;
    MPI_Request request = MPI_REQUEST_NULL;
    int each = !strncmp(o, "Alltoall", 8) || !strncmp(o, "Ialltoall", 9);
    for (int i = 0; i < ranks; i++) {
        counts[i] = count * (each ? (me + i) % 3 : i % 3);
        received[i] = counts[i];
        displacements[i] = at[i] = total;
        total += counts[i];
        types[i] = type;
    }
    if (!strcmp(o, "Barrier")) MPI_Barrier(comm);
    else if (!strcmp(o, "Bcast")) MPI_Bcast(s, count, type, root, comm);
    else if (!strcmp(o, "Reduce")) MPI_Reduce(s, r, count, type, MPI_SUM, root, comm);
    else if (!strcmp(o, "Allreduce")) MPI_Allreduce(s, r, count, type, MPI_SUM, comm);
    else if (!strcmp(o, "Scan")) MPI_Scan(s, r, count, type, MPI_SUM, comm);
    else if (!strcmp(o, "Exscan")) MPI_Exscan(s, r, count, type, MPI_SUM, comm);
    else if (!strcmp(o, "Gather")) MPI_Gather(s, count, type, r, count, type, root, comm);
    else if (!strcmp(o, "Gatherv"))
        MPI_Gatherv(s, counts[me], type, r, counts, displacements, type, root, comm);
    else if (!strcmp(o, "Scatter")) MPI_Scatter(s, count, type, r, count, type, root, comm);
    else if (!strcmp(o, "Scatterv"))
        MPI_Scatterv(s, counts, displacements, type, r, counts[me], type, root, comm);
    else if (!strcmp(o, "Allgather")) MPI_Allgather(s, count, type, r, count, type, comm);
    else if (!strcmp(o, "Allgatherv"))
        MPI_Allgatherv(s, counts[me], type, r, counts, displacements, type, comm);
    else if (!strcmp(o, "Alltoall")) MPI_Alltoall(s, count, type, r, count, type, comm);
    else if (!strcmp(o, "Alltoallv"))
        MPI_Alltoallv(s, counts, displacements, type, r, received, at, type, comm);
    else if (!strcmp(o, "Alltoallw")) {
        int size;
        MPI_Type_size(type, &size);
        for (int i = 0; i < ranks; i++)
            at[i] = displacements[i] *= size;
        MPI_Alltoallw(s, counts, displacements, types, r, received, at, types, comm);
    } else if (!strcmp(o, "Reduce_scatter")) MPI_Reduce_scatter(s, r, counts, type, MPI_SUM, comm);
    else if (!strcmp(o, "Reduce_scatter_block"))
        MPI_Reduce_scatter_block(s, r, count, type, MPI_SUM, comm);
    else if (!strcmp(o, "Ibarrier")) MPI_Ibarrier(comm, &request);
    else if (!strcmp(o, "Ibcast")) MPI_Ibcast(s, count, type, root, comm, &request);
    else if (!strcmp(o, "Ireduce")) MPI_Ireduce(s, r, count, type, MPI_SUM, root, comm, &request);
    else if (!strcmp(o, "Iallreduce")) MPI_Iallreduce(s, r, count, type, MPI_SUM, comm, &request);
    else if (!strcmp(o, "Iallgather")) MPI_Iallgather(s, count, type, r, count, type, comm, &request);
    else if (!strcmp(o, "Ialltoall")) MPI_Ialltoall(s, count, type, r, count, type, comm, &request);
    else fail(operation);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run_case(char *line)
{
    char shown[1024], operation[64];
    int bytes, used;
    uint64_t before[MOST], after[MOST];
    MPI_Comm comm;
    snprintf(shown, sizeof shown, "%s", line);
    if (sscanf(line, "%63s %d%n", operation, &bytes, &used) != 2)
        fail(line);
    for (char *word = strtok(line + used, " "); word; word = strtok(NULL, " "))
        set_variable(word);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* The first call may set up connections and, in some libraries, sub-communicators. */
    call(operation, bytes, comm);
    MPI_Barrier(MPI_COMM_WORLD);
    read_counters(before);
    call(operation, bytes, comm);
    read_counters(after);
    for (int i = 0; i < ranks; i++)
        after[i] -= before[i];
    uint64_t *all = me == 0 ? malloc((size_t)ranks * ranks * sizeof *all) : NULL;
    MPI_Gather(after, ranks, MPI_UINT64_T, all, ranks, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (me == 0) {
        printf("case %s\n", shown);
        for (int i = 0; i < ranks * ranks; i++)
            if (all[i])
                printf("%d %d %llu\n", i / ranks, i % ranks, (unsigned long long)all[i]);
        fflush(stdout);
    }
    free(all);
    /* The communicator is not freed: coll/han of Open MPI 5.0.11 fails if it is. */
}

int main(int argc, char **argv)
{
    int provided;
    char line[1024];
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    FILE *cases = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!cases || ranks > MOST)
        fail("collectives CASES, with up to 4096 ranks");
    size_t largest = 0;
    while (fgets(line, sizeof line, cases)) {
        size_t bytes = strtoul(strchr(line, ' ') ? strchr(line, ' ') : "", NULL, 10);
        largest = bytes > largest ? bytes : largest;
    }
    send_buffer = calloc((size_t)ranks * 2 + 2, largest + 8);
    receive_buffer = calloc((size_t)ranks * 2 + 2, largest + 8);
    MPI_Comm node;
    int leader = me, *leaders = malloc((size_t)ranks * sizeof *leaders);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Bcast(&leader, 1, MPI_INT, 0, node);
    MPI_Allgather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, MPI_COMM_WORLD);
    if (!rankwright_wire_bytes && !monitored && ranks > 1)
        fail("no counters: start it with --mca pml_monitoring_enable 1, or with count_ucp.so preloaded");
    if (me == 0) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(version, &length);
        printf("library %.*s\nnodes", (int)strcspn(version, "\n"), version);
        for (int i = 0; i < ranks; i++)
            printf(" %d", leaders[i]);
        printf("\n");
        for (int i = 2; i < argc; i++)
            printf("setting %s\n", argv[i]);
    }
    rewind(cases);
    while (fgets(line, sizeof line, cases)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] && line[0] != '#')
            run_case(line);
    }
    fclose(cases);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
