"""The three dialects of Fortran under both libraries: everything is seen, and once."""

import functools
import unittest

from harness import MPIS, fortran_program, logical, matrix_of, traced

DIALECTS = ("MPI", "MPI_F08", "MPIF_H")
SOURCE = "tracer/tests/fortran_sampler.F90"


@functools.cache
def sampled(mpi, dialect):
    return traced(mpi, 4, fortran_program(mpi, SOURCE, dialect))[0]


def collective(trace, rank, operation, members=(0, 1, 2, 3), nonblocking=False):
    """(calls, bytes, row) summed over the communicators with these members."""
    calls = size = 0
    row = {}
    for c in trace["collectives"]:
        if (c["rank"] == rank and c["operation"] == operation and c["nonblocking"] == nonblocking
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
            own = 4 * (rank + 1)
            self.assertEqual(collective(trace, rank, "allgather"), (1, 12, {}))
            self.assertEqual(collective(trace, rank, "allgatherv"), (1, own, {}))
            self.assertEqual(collective(trace, rank, "alltoall"), (1, 80, {}))
            self.assertEqual(collective(trace, rank, "gather"), (1, 24, {}))
            self.assertEqual(collective(trace, rank, "gatherv"), (1, own, {2: own}))
            self.assertEqual(collective(trace, rank, "scatter"), (1, 112 if rank == 2 else 0, {}))

    def test_arrays(self):
        trace = sampled("openmpi", "MPI")
        for rank in range(4):
            own = 4 * (rank + 1)
            to_all = {destination: own for destination in range(4)}
            self.assertEqual(collective(trace, rank, "alltoallv"), (1, 4 * own, to_all))
            self.assertEqual(collective(trace, rank, "alltoallv", nonblocking=True), (1, 4 * own, to_all))
            self.assertEqual(collective(trace, rank, "alltoallw"), (1, 4 * own, to_all))
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

    def test_neighbourhood(self):
        trace = sampled("openmpi", "MPI")
        self.assertEqual(collective(trace, 1, "neighbor_alltoall"), (1, 8, {0: 4, 2: 4}))


if __name__ == "__main__":
    unittest.main()
