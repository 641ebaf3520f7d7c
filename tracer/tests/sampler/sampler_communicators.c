/* sampler_communicators.c - all calls that create communicators; a message and a barrier in each. */
#include "sampler.h"

/* A message of `bytes` to `destination` of the communicator, whose world rank is `world`. */
static void use(MPI_Comm comm, const char *name, int destination, int source, int world, int bytes)
{
    MPI_Comm_set_name(comm, name);
    MPI_Sendrecv(outgoing, bytes, MPI_CHAR, destination, 0, incoming, 4096, MPI_CHAR, source, 0, comm,
                 MPI_STATUS_IGNORE);
    expect_send(world, bytes);
    MPI_Barrier(comm);
    expect_collective(comm, "barrier", 0, -1, 0, NULL);
}

static void duplicates(void)
{
    MPI_Comm comm;
    MPI_Request request;
    const int next = (rank + 1) % 4, previous = (rank + 3) % 4;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm, "dup", next, previous, next, 201);
    MPI_Comm kept = comm;

    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    use(comm, "dup_with_info", next, previous, next, 202);
    MPI_Comm kept_too = comm;

    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    finish(&request);
    use(comm, "idup", next, previous, next, 203);
    MPI_Comm_free(&comm);
#if HAS_MPI_4
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &request);
    finish(&request);
    use(comm, "idup_with_info", next, previous, next, 205);
    MPI_Comm_free(&comm);
#endif
    MPI_Comm_free(&kept_too);
    MPI_Comm_disconnect(&kept);

    for (int i = 0; i < 5; i++) { /* a new slot each */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm, "in_a_loop", next, previous, next, 204);
        MPI_Comm_free(&comm);
    }
}

static void parts(void)
{
    MPI_Comm comm;
    MPI_Group world, group;
    const int members[3] = {3, 0, 2};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    /* Members 2,0 and 3,1: the highest world rank is rank 0. */
    use(comm, "split", rank < 2 ? 0 : 1, rank < 2 ? 0 : 1, (rank + 2) % 4, 301);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 3 ? MPI_UNDEFINED : 0, 0, &comm);
    if (rank != 3) {
        use(comm, "split_undefined", (rank + 1) % 3, (rank + 2) % 3, (rank + 1) % 3, 302);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    use(comm, "split_type", (rank + 1) % 4, (rank + 3) % 4, (rank + 1) % 4, 303);
    MPI_Comm_free(&comm);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, members, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    if (comm != MPI_COMM_NULL) {
        int own;
        MPI_Comm_rank(comm, &own);
        use(comm, "create", (own + 1) % 3, (own + 2) % 3, members[(own + 1) % 3], 304);
        MPI_Comm_free(&comm);
    }
    if (rank != 1) {
        int own;
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 9, &comm);
        MPI_Comm_rank(comm, &own);
        use(comm, "create_group", (own + 1) % 3, (own + 2) % 3, members[(own + 1) % 3], 305);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* Members 3, 2, 1, 0. */
static void from_groups(void)
{
#if HAS_MPI_4
    MPI_Comm comm;
    MPI_Group world, group, lower, upper;
    const int members[4] = {3, 2, 1, 0};
    const int own = 3 - rank, next = (own + 1) % 4, previous = (own + 3) % 4;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 4, members, &group);
    MPI_Comm_create_from_group(group, "sampler", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    use(comm, "create_from_group", next, previous, members[next], 306);
    MPI_Comm_free(&comm);
    MPI_Group_incl(world, 2, members + 2, &lower);
    MPI_Group_incl(world, 2, members, &upper);
    MPI_Intercomm_create_from_groups(rank < 2 ? lower : upper, 0, rank < 2 ? upper : lower, 0, "halves",
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    use(comm, "create_from_groups", own % 2, own % 2, (rank + 2) % 4, 307);
    MPI_Comm_free(&comm);
    MPI_Group_free(&upper);
    MPI_Group_free(&lower);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
#endif
}

static void intercommunicators(void)
{
    MPI_Comm half, inter, copy, merged;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 8, &inter);
    use(inter, "inter", rank % 2, rank % 2, (rank + 2) % 4, 401);
    MPI_Comm_dup(inter, &copy);
    use(copy, "inter_dup", 1 - rank % 2, 1 - rank % 2, rank < 2 ? 3 - rank : 1 - (rank - 2), 402);
    MPI_Intercomm_merge(inter, rank < 2, &merged);
    /* The upper half comes first: members 2, 3, 0, 1. */
    const int own = (rank + 2) % 4;
    use(merged, "merged", (own + 1) % 4, (own + 3) % 4, (rank + 1) % 4, 403);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

void sample_communicators(void)
{
    duplicates();
    parts();
    from_groups();
    intercommunicators();
}
