"""Spool files: records outlive a rank that dies, and a folder that fails does no harm."""

import os
import pathlib
import subprocess
import unittest

from harness import (FOLDER, MPIS, TESTS, WARNING, c_program, compile_with, dump_trace, logical, matrix_of,
                     mount_tmpfs, mpirun, need, new_folder, variables)

LIVES = "tracer/tests/programs/lives.c"


def spooled(mpi, way, ranks=2, program=None, arguments=(), spool=None, options="", preload=None):
    """Runs with a spool folder; returns the output, the gathered trace and the trace of the spool files, or None."""
    with new_folder() as folder:
        spool = spool or folder / "spool"
        environment = {**variables(mpi, folder / "trace.rwt"), "RANKWRIGHT_TRACE_SPOOL": spool,
                       "RANKWRIGHT_TRACE_OPTIONS": options}
        if preload:
            environment["LD_PRELOAD"] = f"{preload}:{environment['LD_PRELOAD']}"
        program = program or c_program(mpi, LIVES)
        result = mpirun(mpi, ranks, program, *(arguments or [way]), environment=environment)
        gathered = folder / "trace.rwt"
        files = sorted(spool.glob("rank-*.rwr")) if spool.is_dir() else []
        return (result, dump_trace.load(gathered) if gathered.exists() else None,
                dump_trace.load_spools(files) if files else None)


class Spool(unittest.TestCase):
    def test_a_killed_rank_leaves_its_records(self):
        for mpi in MPIS:
            result, gathered, left = spooled(mpi, "killed")
            self.assertNotEqual(result.code, 0)
            self.assertIsNone(gathered)
            self.assertEqual(matrix_of(left), {(0, 0): (1, 5)})
            self.assertEqual(left["ranks"][1]["state"], "running")

    def test_abort_and_exit_leave_the_records(self):
        for mpi in MPIS:
            for way, states in (("abort", {"aborted", "running"}), ("exit", {"exited", "running"})):
                result, gathered, left = spooled(mpi, way)
                self.assertNotEqual(result.code, 0)
                self.assertIsNone(gathered)
                self.assertEqual(matrix_of(left), {(0, 0): (1, 5)})
                ended = {rank["state"] for rank in left["ranks"]}
                self.assertLessEqual(ended, states)
                self.assertNotEqual(ended, {"running"})

    def test_a_run_that_ends_well_leaves_no_spool_file(self):
        for mpi in MPIS:
            result, gathered, left = spooled(mpi, "message")
            self.assertEqual((result.code, left), (0, None), result.errors)
            self.assertEqual({rank["state"] for rank in gathered["ranks"]}, {"finalized"})

    def test_one_file_per_rank_holds_the_same_as_the_gathered_trace(self):
        program = c_program("openmpi", "examples/heat2d.c")
        arguments = ["--iterations", 3]
        _, gathered, _ = spooled("openmpi", "", 4, program, arguments)
        result, nothing, left = spooled("openmpi", "", 4, program, arguments, options="per-rank")
        self.assertEqual((result.code, nothing), (0, None), result.errors)
        self.assertEqual(logical(left), logical(gathered))

    def test_without_the_clock_the_traffic_is_the_same_and_there_are_no_times(self):
        program = c_program("openmpi", "examples/heat2d.c")
        arguments = ["--iterations", 3]
        _, timed, _ = spooled("openmpi", "", 4, program, arguments)
        _, untimed, _ = spooled("openmpi", "", 4, program, arguments, options="no-gaps")
        self.assertEqual(logical(untimed), logical(timed))
        self.assertEqual(untimed["facts"]["clock"], "off")
        for pair in untimed["pairs"]:
            self.assertEqual((pair["first_s"], pair["last_s"], pair["gap_mean_s"]), (0, 0, 0))
        for rank in untimed["ranks"]:
            self.assertGreater(rank["wall_s"], 0)
            self.assertEqual({c["seconds"] for c in rank["classes"].values()}, {0})

    def test_a_disk_that_fills_up_while_the_ranks_run(self):
        """Space for the first piece, not for the next: files that are the result are marked as incomplete."""
        with new_folder() as folder:
            mount_tmpfs(self, folder, "160k")
            try:
                program = c_program("openmpi", "tracer/tests/programs/many_records.c")
                result, _, left = spooled("openmpi", "", 2, program, [600], spool=folder / "spool", options="per-rank")
                self.assertEqual((result.code, WARNING.findall(result.errors)), (0, []), result.errors)
                self.assertEqual([rank["whole"] for rank in left["ranks"]], [False, False])
                calls = sum(c["calls"] for c in left["collectives"] if c["operation"] == "bcast")
                self.assertTrue(0 < calls < 2 * 600, calls)
                result, gathered, _ = spooled("openmpi", "", 2, program, [600], spool=folder / "spool")
                self.assertEqual([rank["whole"] for rank in gathered["ranks"]], [True, True])
                calls = sum(c["calls"] for c in gathered["collectives"] if c["operation"] == "bcast")
                self.assertEqual(calls, 2 * 600)
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_a_clock_that_jumps_does_no_harm(self):
        """Times are wrong then, but none is negative or huge."""
        need("mpicc.openmpi")
        clock = FOLDER / "jumping_clock.so"
        compile_with("cc", "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE", TESTS / "programs/jumping_clock.c",
                     "-o", clock, "-ldl")
        program = c_program("openmpi", "examples/heat2d.c")
        arguments = ["--iterations", 3]
        _, steady, _ = spooled("openmpi", "", 4, program, arguments)
        result, jumping, _ = spooled("openmpi", "", 4, program, arguments, options="no-tsc", preload=clock)
        self.assertEqual(result.code, 0, result.errors)
        self.assertEqual(logical(jumping), logical(steady))
        self.assertEqual(jumping["facts"]["clock"], "clock_gettime")
        times = [rank["wall_s"] for rank in jumping["ranks"]]
        times += [c["seconds"] for rank in jumping["ranks"] for c in rank["classes"].values()]
        times += [pair[name] for pair in jumping["pairs"] for name in ("first_s", "last_s", "gap_mean_s")]
        self.assertTrue(all(0 <= time < 1e6 for time in times), times)

    def test_a_spool_folder_that_cannot_be_created_is_reported_once(self):
        for mpi in MPIS:
            result, gathered, _ = spooled(mpi, "message", spool=pathlib.Path("/dev/null/spool"))
            self.assertEqual(result.code, 0, result.errors)
            self.assertEqual(len(WARNING.findall(result.errors)), 1, result.errors)
            self.assertIn("Not a directory", result.errors)
            self.assertEqual(matrix_of(gathered), {(0, 0): (1, 5)})

    def test_a_full_disk_under_the_spool_files(self):
        """Space for the first pieces of two of three files: all ranks continue, and the trace is complete."""
        with new_folder() as folder:
            mount_tmpfs(self, folder, "160k")
            try:
                program = c_program("openmpi", "tracer/tests/programs/many_records.c")
                result, gathered, _ = spooled("openmpi", "", 3, program, [400], spool=folder / "spool")
                self.assertEqual(result.code, 0, result.errors)
                self.assertEqual(len(WARNING.findall(result.errors)), 1, result.errors)
                self.assertIn("No space left on device", result.errors)
                calls = sum(c["calls"] for c in gathered["collectives"] if c["operation"] == "bcast")
                self.assertEqual(calls, 3 * 400)
                self.assertEqual(os.listdir(folder / "spool"), [])
            finally:
                subprocess.run(["umount", folder], check=True)
