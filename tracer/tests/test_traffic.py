"""What is recorded, against the sampler's own statements and against Open MPI's monitoring."""

import collections
import unittest

from harness import (MPIS, TESTS, c_program, fortran_program, logical, matrix_of, need, new_folder, traced,
                     traced_and_monitored)

SAMPLER = [f"tracer/tests/{name}.c" for name in ("sampler", "sampler_point_to_point", "sampler_communicators",
                                                 "sampler_collectives", "sampler_neighbourhoods")]


def members_of(communicator):
    groups = [communicator["members"]]
    if communicator["kind"] == "inter":
        groups.append(communicator["second_group"])
    return "/".join(",".join(map(str, group)) for group in groups)


def read_expectations(folder):
    """The statements of all ranks, summed as the trace sums them."""
    sends = collections.defaultdict(lambda: [0, 0])
    calls = collections.defaultdict(lambda: [0, 0, collections.defaultdict(lambda: [0, 0])])
    for rank in range(4):
        for line in (folder / f"expected.{rank}").read_text().splitlines():
            kind, *fields = line.split()
            if kind == "send":
                total = sends[rank, int(fields[0])]
                total[0] += 1
                total[1] += int(fields[1])
                continue
            members, operation, nonblocking, root, size, *row = fields
            total = calls[rank, members, operation, bool(int(nonblocking)), int(root)]
            total[0] += 1
            total[1] += int(size)
            for entry in row:
                destination, size = map(int, entry.split(":"))
                total[2][destination][0] += 1
                total[2][destination][1] += size
    return sends, calls


def recorded_calls(trace):
    """The trace's collectives in the same shape: communicators with the same members taken together."""
    calls = collections.defaultdict(lambda: [0, 0, collections.defaultdict(lambda: [0, 0])])
    for c in trace["collectives"]:
        members = members_of(trace["communicators"][c["communicator"]])
        total = calls[c["rank"], members, c["operation"], c["nonblocking"], c["root"]]
        total[0] += c["calls"]
        total[1] += c["bytes"]
        for entry in c["row"]:
            total[2][entry["destination"]][0] += entry["messages"]
            total[2][entry["destination"]][1] += entry["bytes"]
    return calls


class Sampler(unittest.TestCase):
    maxDiff = None

    def check(self, mpi):
        with new_folder() as folder:
            trace, _ = traced(mpi, 4, c_program(mpi, *SAMPLER), folder)
            sends, calls = read_expectations(folder)
        self.assertEqual(matrix_of(trace), {pair: tuple(total) for pair, total in sends.items()})
        recorded = recorded_calls(trace)
        self.assertEqual(set(recorded), set(calls))
        for key, total in calls.items():
            self.assertEqual(recorded[key], total, key)
        self.check_derived(trace)
        names = {c["name"]: members_of(c) for c in trace["communicators"]}
        self.assertEqual(names["inter"], "0,1/2,3")
        self.assertEqual(names["merged"], "2,3,0,1")
        self.assertEqual(names["MPI_COMM_WORLD"], "0,1,2,3")
        self.assertEqual(trace["communicators"][0]["name"], "MPI_COMM_WORLD")

    def check_derived(self, trace):
        for pair in trace["pairs"]:
            self.assertEqual(sum(pair["histogram"].values()), pair["messages"])
            low = sum(n * (2 ** (k - 1) if k else 0) for k, n in pair["histogram"].items())
            self.assertLessEqual(low, pair["bytes"])
            self.assertLessEqual(pair["first_s"], pair["last_s"])
            span = pair["gap_mean_s"] * (pair["messages"] - 1)
            self.assertAlmostEqual(span, pair["last_s"] - pair["first_s"], delta=1e-6)
        for rank in trace["ranks"]:
            self.assertLessEqual(sum(c["seconds"] for c in rank["classes"].values()), rank["wall_s"])
            self.assertTrue(rank["pus"])

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")


class Monitoring(unittest.TestCase):
    """Messages and bytes of every pair are exactly those that Open MPI itself counted in this run."""
    maxDiff = None

    def check(self, ranks, program, *arguments, unmonitored=(), **keywords):
        """`unmonitored`: (source, destination, messages, bytes) that the monitoring does not see."""
        trace, monitored = traced_and_monitored(ranks, program, *arguments, **keywords)
        self.assertTrue(monitored)
        for source, destination, messages, size in unmonitored:
            known = monitored.get((source, destination), (0, 0))
            monitored[source, destination] = (known[0] + messages, known[1] + size)
        self.assertEqual(matrix_of(trace), monitored)

    def test_heat2d(self):
        self.check(8, c_program("openmpi", "examples/heat2d.c"), "--iterations", 20)

    def test_transpose_in_three_dialects(self):
        # Open MPI 4.1 starts persistent requests past its monitoring: the halo in both directions.
        ranks, order, iterations = 6, 120, 5
        halo = [(rank, neighbour, iterations, iterations * order * 8)
                for rank in range(ranks) for neighbour in (rank - 1, rank + 1) if 0 <= neighbour < ranks]
        for dialect in ("MPI", "MPI_F08", "MPIF_H"):
            with self.subTest(dialect):
                self.check(ranks, fortran_program("openmpi", "examples/transpose.F90", dialect), order,
                           iterations, unmonitored=halo)

    def test_lammps(self):
        need("lmp")
        self.check(8, "lmp", "-in", TESTS / "in.melt", "-log", "none")

    def test_hpcc(self):
        need("hpcc")
        with new_folder() as folder:
            (folder / "hpccinf.txt").write_bytes((TESTS / "hpccinf.txt").read_bytes())
            self.check(4, "hpcc", folder=folder, timeout=100)


class SameUnderBothLibraries(unittest.TestCase):
    maxDiff = None

    def compare(self, ranks, program_of, *arguments):
        traces = [logical(traced(mpi, ranks, program_of(mpi), *arguments)[0]) for mpi in MPIS]
        self.assertEqual(*traces)

    def test_heat2d(self):
        self.compare(4, lambda mpi: c_program(mpi, "examples/heat2d.c"), "--iterations", 5)

    def test_transpose_in_three_dialects(self):
        for dialect in ("MPI", "MPI_F08", "MPIF_H"):
            with self.subTest(dialect):
                self.compare(4, lambda mpi: fortran_program(mpi, "examples/transpose.F90", dialect), 120, 5)
