"""Three dialects of Fortran under both libraries: each call is recorded, and once."""

import unittest

from harness import MPIS, fortran_program, logical, matrix_of, once, traced

DIALECTS = ("MPI", "MPI_F08", "MPIF_H")
SOURCE = "tracer/tests/sampler/fortran_sampler.F90"


@once
def sampled(mpi, dialect):
    return traced(mpi, 4, fortran_program(mpi, SOURCE, dialect))[0]


def collective(trace, rank, operation, members=(0, 1, 2, 3), nonblocking=False):
    """(calls, bytes, row), summed over the communicators with these members."""
    calls = size = 0
    row = {}
    for c in trace["collectives"]:
        if (c["rank"] == rank and c["operation"] == operation and c["nonblocking"] == nonblocking
                and not c["persistent"]
                and tuple(trace["communicators"][c["communicator"]]["members"]) == tuple(members)):
            calls += c["calls"]
            size += c["bytes"]
            for entry in c["row"]:
                row[entry["destination"]] = row.get(entry["destination"], 0) + entry["bytes"]
    return calls, size, row


class Fortran(unittest.TestCase):
    maxDiff = None

    def test_all_dialects_under_both_libraries_record_the_same(self):
        reference = logical(sampled("openmpi", "MPI"))
        for mpi in MPIS:
            for dialect in DIALECTS:
                with self.subTest(mpi=mpi, dialect=dialect):
                    self.assertEqual(logical(sampled(mpi, dialect)), reference)

    def test_sends(self):
        expected = {}
        for rank in range(4):
            to_next = 4 + 8 + 12 + 16 + 3 * 20 + 3 * 24 + 4 * 28
            expected[rank, (rank + 1) % 4] = (14, to_next)
            expected[rank, (rank - 1) % 4] = (1, 40)
        self.assertEqual(matrix_of(sampled("openmpi", "MPI")), expected)

    def test_in_place(self):
        trace = sampled("openmpi", "MPI")
        for rank in range(4):
            block = 4 * (rank + 1)
            self.assertEqual(collective(trace, rank, "allgather"), (1, 12, {}))
            self.assertEqual(collective(trace, rank, "allgatherv"), (1, block, {}))
            self.assertEqual(collective(trace, rank, "alltoall"), (1, 80, {}))
            self.assertEqual(collective(trace, rank, "gather"), (1, 24, {}))
            self.assertEqual(collective(trace, rank, "gatherv"), (1, block, {2: block}))
            self.assertEqual(collective(trace, rank, "scatter"), (1, 112 if rank == 2 else 0, {}))

    def test_arrays(self):
        trace = sampled("openmpi", "MPI")
        for rank in range(4):
            block = 4 * (rank + 1)
            to_all = {destination: block for destination in range(4)}
            self.assertEqual(collective(trace, rank, "alltoallv"), (1, 4 * block, to_all))
            self.assertEqual(collective(trace, rank, "alltoallv", nonblocking=True), (1, 4 * block, to_all))
            self.assertEqual(collective(trace, rank, "alltoallw"), (1, 4 * block, to_all))
            self.assertEqual(collective(trace, rank, "reduce_scatter"), (1, 40, {0: 4, 1: 8, 2: 12, 3: 16}))
            self.assertEqual(collective(trace, rank, "barrier", nonblocking=True), (1, 0, {}))

    def test_communicators(self):
        trace = sampled("openmpi", "MPI")
        self.assertEqual(collective(trace, 1, "bcast", (1, 0)), (3, 8 + 12 + 16, {}))
        self.assertEqual(collective(trace, 3, "bcast", (3, 2)), (3, 8 + 12 + 16, {}))
        self.assertEqual(collective(trace, 1, "bcast", (1, 0, 3, 2)), (1, 20, {}))
        kinds = [(c["kind"], c["members"], c["second_group"]) for c in trace["communicators"]]
        self.assertIn(("inter", [1, 0], [3, 2]), kinds)
        halves = [c["slot"] for c in trace["communicators"] if c["members"] == [1, 0] and c["kind"] == "intra"]
        self.assertEqual(halves, [0, 1, 2])

    def test_one_sided(self):
        trace = sampled("openmpi", "MPI")
        puts = (7, 4 + 8 + 12 + 16 + 20 + 4 + 4)
        gets = (5, 24 + 20 + 4 + 4 + 4)
        self.assertEqual(matrix_of(trace, "put"), {(rank, (rank + 1) % 4): puts for rank in range(4)})
        self.assertEqual(matrix_of(trace, "get"), {((rank + 1) % 4, rank): gets for rank in range(4)})
        for mpi in MPIS:
            for dialect in DIALECTS:
                with self.subTest(mpi=mpi, dialect=dialect):
                    for rank in sampled(mpi, dialect)["ranks"]:
                        self.assertEqual(rank["classes"]["one_sided"]["calls"], 9 + 9)  # transfers, synchronisation

    def test_persistent_collectives(self):
        trace = sampled("openmpi", "MPI")
        for rank in range(4):
            block = 4 * (rank + 1)
            totals = {c["operation"]: (c["calls"], c["bytes"], {e["destination"]: e["bytes"] for e in c["row"]})
                     for c in trace["collectives"] if c["rank"] == rank and c["persistent"]}
            self.assertEqual(totals, {
                "bcast": (2, 88 if rank == 1 else 0, {}),
                "barrier": (2, 0, {}),
                "allgather": (2, 24, {}),
                "alltoallv": (2, 8 * block, {destination: 2 * block for destination in range(4)}),
            })

    def test_declared_topologies(self):
        topologies = [t for t in sampled("openmpi", "MPI")["topologies"] if t["rank"] == 3]
        graph, = (t for t in topologies if t["kind"] == "distributed_graph")
        self.assertEqual([(n["destination"], n["weight"]) for n in graph["neighbours"]], [(0, 7), (1, 9)])
        grid, = (t for t in topologies if len(t["dimensions"]) == 2)
        self.assertEqual((grid["dimensions"], grid["periodic"]), ([2, 2], [True, False]))

    def test_neighbourhood(self):
        trace = sampled("openmpi", "MPI")
        self.assertEqual(collective(trace, 1, "neighbor_alltoall"), (1, 8, {0: 4, 2: 4}))


class FortranOfMpi4(unittest.TestCase):
    """Calls that Open MPI 4.1 lacks."""

    def test_partitioned_and_groups(self):
        for dialect in DIALECTS:
            with self.subTest(dialect=dialect):
                program = fortran_program("mpich", "tracer/tests/sampler/fortran_sampler_mpi4.F90", dialect)
                trace, _ = traced("mpich", 2, program)
                self.assertEqual(matrix_of(trace), {(0, 1): (2, 2 * 4 * 5 * 4), (1, 0): (2, 2 * 4 * 5 * 4)})
                self.assertEqual(collective(trace, 0, "bcast", (1, 0)), (1, 0, {}))
                self.assertEqual(collective(trace, 1, "bcast", (1, 0)), (1, 12, {}))
                wait = trace["ranks"][0]["classes"]["wait"]["calls"]
                self.assertGreaterEqual(wait, 3)  # MPI_Waitall twice, MPI_Parrived at least once


if __name__ == "__main__":
    unittest.main()
