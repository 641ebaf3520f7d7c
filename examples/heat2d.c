/*
 * heat2d.c - the two-dimensional heat equation, by Jacobi iteration with halo exchange.
 *
 * The square plate is cut into blocks, one per rank. In every iteration a rank exchanges the edges of
 * its block with its four neighbours (Irecv, Isend, Waitall). An ensemble of plates ("fields") is
 * advanced together, which makes the messages large and the computation small: the program is bound
 * by the network, so it shows what the placement of ranks is worth.
 *
 * By default the ranks are numbered badly: neighbouring blocks have far apart ranks, as in programs
 * whose numbering comes from a mesh file. Then a launcher's usual placement (ranks in order, node
 * after node) puts no neighbours together, while square tiles of blocks per node keep most of the
 * traffic inside. `--numbering row-major` numbers the blocks row by row.
 *
 *   mpicc -O2 heat2d.c -o heat2d
 *   mpirun -np 16 ./heat2d
 *   mpirun -np 16 ./heat2d --cells 256 --fields 64 --iterations 100 --processes 4x4 --numbering row-major
 *
 * A halo message has cells per block edge * fields * 8 bytes: 16 KiB by default on 4x4 processes.
 * Prints one line; residual and checksum are the same, bit for bit, for every numbering and placement.
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NORTH, SOUTH, WEST, EAST, SIDES };

struct options {
    int cells;      /* of a side of the plate */
    int fields;
    int iterations;
    int processes[2];
    int scattered;
};

struct block {
    int rank, size;
    int processes[2];
    int position[2];        /* in the grid of processes: row, column */
    int neighbour[SIDES];   /* rank or MPI_PROC_NULL */
    int rows, columns;      /* own cells, without the halo of one cell around them */
    int first_row, first_column;
    int fields;
    double *old, *new;
    MPI_Datatype row_type, column_type;
};

static void fail(const char *message)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "heat2d: %s\n", message);
    MPI_Finalize();
    exit(2);
}

static struct options read_options(int argc, char **argv)
{
    struct options options = {.cells = 128, .fields = 64, .iterations = 200, .scattered = 1};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--cells") == 0)
            options.cells = atoi(value);
        else if (strcmp(argv[i], "--fields") == 0)
            options.fields = atoi(value);
        else if (strcmp(argv[i], "--iterations") == 0)
            options.iterations = atoi(value);
        else if (strcmp(argv[i], "--processes") == 0)
            sscanf(value, "%dx%d", &options.processes[0], &options.processes[1]);
        else if (strcmp(argv[i], "--numbering") == 0 && strcmp(value, "row-major") == 0)
            options.scattered = 0;
        else if (strcmp(argv[i], "--numbering") == 0 && strcmp(value, "scattered") == 0)
            options.scattered = 1;
        else
            fail("options: --cells N --fields N --iterations N --processes RxC "
                 "--numbering scattered|row-major");
        i++;
    }
    if (options.cells < 1 || options.fields < 1 || options.iterations < 0)
        fail("--cells and --fields must be positive");
    return options;
}

static int greatest_common_divisor(int a, int b)
{
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/* Consecutive ranks go in steps of about 0.38 of all positions, the golden section: far from each
 * other, and never twice to the same place. */
static int scatter_step(int size)
{
    int step = (int)(0.382 * size) + 1;
    while (greatest_common_divisor(step, size) != 1)
        step++;
    return step;
}

static int position_of(int rank, int size, int scattered)
{
    return scattered ? (int)((long)rank * scatter_step(size) % size) : rank;
}

static int rank_at(const struct block *block, int row, int column, int scattered)
{
    if (row < 0 || row >= block->processes[0] || column < 0 || column >= block->processes[1])
        return MPI_PROC_NULL;
    const int position = row * block->processes[1] + column;
    for (int rank = 0; rank < block->size; rank++)
        if (position_of(rank, block->size, scattered) == position)
            return rank;
    return MPI_PROC_NULL;
}

static double *cell(const struct block *block, double *plate, int row, int column)
{
    return plate + ((size_t)row * (size_t)(block->columns + 2) + (size_t)column) * (size_t)block->fields;
}

/* The first cell of part i when `cells` are dealt out to `parts`. */
static int first_of(int cells, int parts, int i)
{
    return (int)((long)cells * i / parts);
}

static void set_up(struct block *block, const struct options *options)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &block->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &block->size);
    memcpy(block->processes, options->processes, sizeof block->processes);
    if (block->processes[0] == 0)
        MPI_Dims_create(block->size, 2, block->processes);
    if (block->processes[0] * block->processes[1] != block->size)
        fail("--processes RxC does not fit the number of ranks");
    if (block->processes[0] > options->cells || block->processes[1] > options->cells)
        fail("fewer cells than processes");

    const int position = position_of(block->rank, block->size, options->scattered);
    const int row = position / block->processes[1], column = position % block->processes[1];
    block->position[0] = row;
    block->position[1] = column;
    block->neighbour[NORTH] = rank_at(block, row - 1, column, options->scattered);
    block->neighbour[SOUTH] = rank_at(block, row + 1, column, options->scattered);
    block->neighbour[WEST] = rank_at(block, row, column - 1, options->scattered);
    block->neighbour[EAST] = rank_at(block, row, column + 1, options->scattered);

    block->fields = options->fields;
    block->first_row = first_of(options->cells, block->processes[0], row);
    block->rows = first_of(options->cells, block->processes[0], row + 1) - block->first_row;
    block->first_column = first_of(options->cells, block->processes[1], column);
    block->columns = first_of(options->cells, block->processes[1], column + 1) - block->first_column;
    const size_t values =
        (size_t)(block->rows + 2) * (size_t)(block->columns + 2) * (size_t)block->fields;
    block->old = calloc(values, sizeof(double));
    block->new = calloc(values, sizeof(double));
    if (!block->old || !block->new)
        fail("out of memory");
    MPI_Type_contiguous(block->columns * block->fields, MPI_DOUBLE, &block->row_type);
    MPI_Type_vector(block->rows, block->fields, (block->columns + 2) * block->fields, MPI_DOUBLE,
                    &block->column_type);
    MPI_Type_commit(&block->row_type);
    MPI_Type_commit(&block->column_type);
}

/* Warm spots that differ from field to field; the rim of the plate is kept at 0. */
static void set_initial_state(struct block *block)
{
    for (int i = 1; i <= block->rows; i++)
        for (int j = 1; j <= block->columns; j++)
            for (int f = 0; f < block->fields; f++) {
                const int x = block->first_row + i, y = block->first_column + j;
                cell(block, block->old, i, j)[f] = (double)((x * 31 + y * 17 + f * 7) % 101) / 101.0;
            }
}

static void exchange_halos(struct block *block)
{
    MPI_Request requests[2 * SIDES];
    MPI_Status statuses[2 * SIDES];
    double *halo[SIDES], *edge[SIDES];
    halo[NORTH] = cell(block, block->old, 0, 1);
    edge[NORTH] = cell(block, block->old, 1, 1);
    halo[SOUTH] = cell(block, block->old, block->rows + 1, 1);
    edge[SOUTH] = cell(block, block->old, block->rows, 1);
    halo[WEST] = cell(block, block->old, 1, 0);
    edge[WEST] = cell(block, block->old, 1, 1);
    halo[EAST] = cell(block, block->old, 1, block->columns + 1);
    edge[EAST] = cell(block, block->old, 1, block->columns);
    for (int side = 0; side < SIDES; side++) {
        const MPI_Datatype type = side < WEST ? block->row_type : block->column_type;
        MPI_Irecv(halo[side], 1, type, block->neighbour[side], 0, MPI_COMM_WORLD, &requests[side]);
    }
    for (int side = 0; side < SIDES; side++) {
        const MPI_Datatype type = side < WEST ? block->row_type : block->column_type;
        MPI_Isend(edge[side], 1, type, block->neighbour[side], 0, MPI_COMM_WORLD,
                  &requests[SIDES + side]);
    }
    MPI_Waitall(2 * SIDES, requests, statuses);
}

static void relax(struct block *block)
{
    const int width = (block->columns + 2) * block->fields;
    for (int i = 1; i <= block->rows; i++) {
        const double *restrict old = cell(block, block->old, i, 1);
        double *restrict new = cell(block, block->new, i, 1);
        for (int k = 0; k < block->columns * block->fields; k++)
            new[k] = 0.25 * (old[k - width] + old[k + width] + old[k - block->fields]
                             + old[k + block->fields]);
    }
    double *swap = block->old;
    block->old = block->new;
    block->new = swap;
}

/* Sums over all blocks in the order of their place on the plate, whatever rank computes them. */
static void print_result(struct block *block, const struct options *options, double seconds)
{
    double own[3] = {block->position[0] * block->processes[1] + block->position[1], 0, 0};
    for (int i = 1; i <= block->rows; i++)
        for (int j = 1; j <= block->columns; j++)
            for (int f = 0; f < block->fields; f++) {
                const double value = cell(block, block->old, i, j)[f];
                own[1] += fabs(value - cell(block, block->new, i, j)[f]);
                own[2] += value;
            }
    double (*all)[3] = malloc((size_t)block->size * sizeof *all);
    double residual = 0, sum = 0;
    MPI_Gather(own, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (block->rank == 0) {
        for (int position = 0; position < block->size; position++)
            for (int rank = 0; rank < block->size; rank++)
                if ((int)all[rank][0] == position) {
                    residual += all[rank][1];
                    sum += all[rank][2];
                }
        printf("heat2d: %dx%d processes, %d iterations, residual %.17g, checksum %.17g, %.3f s\n",
               block->processes[0], block->processes[1], options->iterations, residual, sum, seconds);
    }
    free(all);
}

int main(int argc, char **argv)
{
    struct block block = {0};
    MPI_Init(&argc, &argv);
    const struct options options = read_options(argc, argv);
    set_up(&block, &options);
    set_initial_state(&block);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int iteration = 0; iteration < options.iterations; iteration++) {
        exchange_halos(&block);
        relax(&block);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    print_result(&block, &options, MPI_Wtime() - start);
    MPI_Type_free(&block.row_type);
    MPI_Type_free(&block.column_type);
    free(block.old);
    free(block.new);
    MPI_Finalize();
    return 0;
}
