"""The trace against the expectations that the sampler writes, and against Open MPI's monitoring."""

import collections
import pathlib
import shutil
import unittest

from harness import (ALL_MPIS, MPIS, SAMPLER, TESTS, c_program, fortran_program, logical, matrix_of, need, new_folder,
                     traced, traced_and_monitored)

FORMS = ("blocking", "nonblocking", "persistent")


def members_of(communicator):
    groups = [communicator["members"]]
    if communicator["kind"] == "inter":
        groups.append(communicator["second_group"])
    return "/".join(",".join(map(str, group)) for group in groups)


def read_expectations(folder):
    """The expectations of all ranks, summed as in a trace."""
    pairs = {kind: collections.defaultdict(lambda: [0, 0]) for kind in ("send", "put", "get")}
    calls = collections.defaultdict(lambda: [0, 0, collections.defaultdict(lambda: [0, 0])])
    topologies = set()
    for rank in range(4):
        for line in (folder / f"expected.{rank}").read_text().splitlines():
            kind, *fields = line.split()
            if kind in pairs:
                other = int(fields[0])
                total = pairs[kind][(other, rank) if kind == "get" else (rank, other)]
                total[0] += 1
                total[1] += int(fields[1])
                continue
            if kind == "topology":
                topologies.add((rank, *fields))
                continue
            members, operation, form, root, size, *row = fields
            total = calls[rank, members, operation, FORMS[int(form)], int(root)]
            total[0] += 1
            total[1] += int(size)
            for entry in row:
                destination, size = map(int, entry.split(":"))
                total[2][destination][0] += 1
                total[2][destination][1] += size
    pairs = {kind: {pair: tuple(total) for pair, total in matrix.items()} for kind, matrix in pairs.items()}
    return pairs, calls, topologies


def recorded_calls(trace):
    """The collectives of a trace in this form; communicators with equal members are merged."""
    calls = collections.defaultdict(lambda: [0, 0, collections.defaultdict(lambda: [0, 0])])
    for c in trace["collectives"]:
        members = members_of(trace["communicators"][c["communicator"]])
        form = "persistent" if c["persistent"] else "nonblocking" if c["nonblocking"] else "blocking"
        total = calls[c["rank"], members, c["operation"], form, c["root"]]
        total[0] += c["calls"]
        total[1] += c["bytes"]
        for entry in c["row"]:
            total[2][entry["destination"]][0] += entry["messages"]
            total[2][entry["destination"]][1] += entry["bytes"]
    return calls


def recorded_topologies(trace):
    """As the sampler writes them; MPI does not define the order of the neighbours in a distributed graph."""
    def text(values):
        return ",".join(map(str, values)) or "-"
    return {(t["rank"], t["kind"], text(t["dimensions"]), text(map(int, t["periodic"])),
             text(sorted(f"{'x' if n['destination'] is None else n['destination']}*{n['weight']}"
                         for n in t["neighbours"])))
            for t in trace["topologies"]}


def in_order(topologies):
    return {(*topology[:4], ",".join(sorted(topology[4].split(",")))) for topology in topologies}


class Sampler(unittest.TestCase):
    maxDiff = None

    def check(self, mpi, large_counts=False):
        with new_folder() as folder:
            program = c_program(mpi, *SAMPLER, large_counts=large_counts)
            trace, _ = traced(mpi, 4, program, folder)
            pairs, calls, topologies = read_expectations(folder)
        self.assertEqual(matrix_of(trace), pairs["send"])
        self.assertEqual(matrix_of(trace, "put"), pairs["put"])
        self.assertEqual(matrix_of(trace, "get"), pairs["get"])
        self.assertEqual(in_order(topologies) - recorded_topologies(trace), set())
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

    def test_openmpi5(self):
        self.check("openmpi5")

    def test_mpich5(self):
        self.check("mpich5")

    def test_large_counts_mpich(self):
        self.check("mpich", large_counts=True)

    def test_large_counts_mpich5(self):
        self.check("mpich5", large_counts=True)


class Monitoring(unittest.TestCase):
    """Messages and bytes of each pair equal those that Open MPI counts in the same run."""
    maxDiff = None

    def check(self, ranks, program, *arguments, unmonitored=(), **keywords):
        """`unmonitored`: (source, destination, messages, bytes) that the monitoring does not count."""
        trace, matrices = traced_and_monitored(ranks, program, *arguments, **keywords)
        monitored = matrices["E"]
        self.assertTrue(monitored)
        for source, destination, messages, size in unmonitored:
            total = monitored.get((source, destination), (0, 0))
            monitored[source, destination] = (total[0] + messages, total[1] + size)
        self.assertEqual(matrix_of(trace), monitored)

    def test_heat2d(self):
        self.check(8, c_program("openmpi", "examples/heat2d.c"), "--iterations", 20)

    def test_transpose_in_three_dialects(self):
        # The monitoring of Open MPI 4.1 does not count persistent requests: the halo in both directions.
        ranks, order, iterations = 6, 120, 5
        halo = [(rank, neighbour, iterations, iterations * order * 8)
                for rank in range(ranks) for neighbour in (rank - 1, rank + 1) if 0 <= neighbour < ranks]
        for dialect in ("MPI", "MPI_F08", "MPIF_H"):
            with self.subTest(dialect):
                self.check(ranks, fortran_program("openmpi", "examples/transpose.F90", dialect), order,
                           iterations, unmonitored=halo)

    def test_lammps(self):
        need("lmp")
        self.check(8, "lmp", "-in", TESTS / "inputs/in.melt", "-log", "none")

    def test_one_sided(self):
        """S lines: puts, and an empty message for each Get and Rget; with MPI_NO_OP they count the origin buffer.
        R lines: gets."""
        with new_folder() as folder:
            trace, monitored = traced_and_monitored(4, c_program("openmpi", *SAMPLER), folder, "one-sided")
        sent = collections.Counter(), collections.Counter()
        for pair, (messages, size) in matrix_of(trace, "put").items():
            sent[0][pair] += messages
            sent[1][pair] += size
        for rank in range(4):
            for distance in (1, 2, 3):
                sent[0][rank, (rank + distance) % 4] += 1
            sent[0][rank, (rank - 1) % 4] += 2  # MPI_NO_OP: of nothing, and of an integer
            sent[1][rank, (rank - 1) % 4] += 4
        self.assertEqual(monitored["S"], {pair: (sent[0][pair], sent[1][pair]) for pair in sent[0]})
        got = {(target, source): total for (source, target), total in matrix_of(trace, "get").items()}
        self.assertEqual(monitored["R"], got)

    def test_hpcc(self):
        need("hpcc")
        with new_folder() as folder:
            (folder / "hpccinf.txt").write_bytes((TESTS / "inputs/hpccinf.txt").read_bytes())
            self.check(4, "hpcc", folder=folder, timeout=100)

    def test_netpipe(self):
        need("NPopenmpi")
        for options in ((), ("-S", "-z"), ("-2", "-a")):
            with self.subTest(options), new_folder() as folder:
                self.check(2, "NPopenmpi", "-u", 8192, "-n", 3, *options, folder=folder)

    def test_scalapack(self):
        """Orthogonal factorizations on process grids of several shapes: submatrices, broadcasts in trees and rings."""
        programs = sorted(pathlib.Path("/usr/lib").glob("*/scalapack/openmpi-tests/xdqr"))
        if not programs:
            self.skipTest("SKIPPED: ScaLAPACK's test programs are not installed")
        with new_folder() as folder:
            shutil.copy("/usr/share/scalapack/QR.dat", folder)
            self.check(4, programs[0], folder=folder)


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
