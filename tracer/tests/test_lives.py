"""The tracer does not disturb: same results and exit codes, one warning when it fails, no stray files."""

import os
import re
import subprocess
import unittest

from harness import (ALL_MPIS, MPIS, TESTS, WARNING, c_program, dump_trace, fortran_program, matrix_of, mount_tmpfs,
                     mpirun, need, new_folder, traced, tracer, variables)

LIVES = "tracer/tests/programs/lives.c"


def without_times(text):
    return re.sub(r" *[0-9.]+ s$", "", text, flags=re.MULTILINE)


class SameResults(unittest.TestCase):
    def compare(self, mpi, ranks, program, *arguments, keep=without_times):
        plain = mpirun(mpi, ranks, program, *arguments)
        _, result = traced(mpi, ranks, program, *arguments)
        self.assertEqual(plain.code, 0, plain.errors)
        self.assertTrue(keep(plain.output))
        self.assertEqual(keep(result.output), keep(plain.output))

    def test_heat2d(self):
        for mpi in MPIS:
            self.compare(mpi, 4, c_program(mpi, "examples/heat2d.c"), "--iterations", 5)

    def test_transpose(self):
        for mpi in MPIS:
            self.compare(mpi, 4, fortran_program(mpi, "examples/transpose.F90", "MPI_F08"), 60, 3)

    def test_lammps(self):
        need("lmp")

        def thermo(output):
            return re.findall(r"^ +\d+ +[-\d.]+ +[-\d.]+ .*$", output, re.MULTILINE)
        self.compare("openmpi", 4, "lmp", "-in", TESTS / "inputs/in.melt", "-log", "none", keep=thermo)

    def test_heat2d_does_not_depend_on_the_numbering(self):
        program = c_program("openmpi", "examples/heat2d.c")
        outputs = {without_times(mpirun("openmpi", 6, program, "--iterations", 3, "--numbering", numbering).output)
                   for numbering in ("scattered", "row-major")}
        self.assertEqual(len(outputs), 1)


class Failures(unittest.TestCase):
    def run_lives(self, mpi, way, trace, ranks=2):
        return mpirun(mpi, ranks, c_program(mpi, LIVES), way, environment=variables(mpi, trace))

    def check_warned(self, result, code=0):
        self.assertEqual(result.code, code, result.errors)
        self.assertEqual(len(WARNING.findall(result.errors)), 1, result.errors)

    def test_folder_that_does_not_exist(self):
        for mpi in MPIS:
            result = self.run_lives(mpi, "code", "/nonexistent/folder/trace.rwt")
            self.check_warned(result, code=3)
            self.assertIn("No such file or directory", result.errors)

    def test_relative_path(self):
        with new_folder() as folder:
            result = mpirun("openmpi", 2, c_program("openmpi", LIVES), "message",
                            environment=variables("openmpi", "trace.rwt"), folder=folder)
            self.check_warned(result)
            self.assertEqual(os.listdir(folder), [])

    def test_full_disk(self):
        """The trace is larger than the file system."""
        with new_folder() as folder:
            mount_tmpfs(self, folder, "4k")
            try:
                program = c_program("openmpi", "examples/heat2d.c")
                result = mpirun("openmpi", 9, program, "--iterations", 1,
                                environment=variables("openmpi", folder / "trace.rwt"))
                self.check_warned(result)
                self.assertIn("No space left on device", result.errors)
                self.assertEqual(os.listdir(folder), [])
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_file_size_limit(self):
        """SIGXFSZ must not end the program."""
        for mpi in MPIS:
            with new_folder() as folder:
                result = self.run_lives(mpi, "limited", folder / "trace.rwt")
                self.check_warned(result)
                self.assertIn("File too large", result.errors)
                self.assertEqual(os.listdir(folder), [])

    def test_abort(self):
        for mpi in MPIS:
            with new_folder() as folder:
                plain = mpirun(mpi, 2, c_program(mpi, LIVES), "abort")
                result = self.run_lives(mpi, "abort", folder / "trace.rwt")
                self.assertEqual(result.code, plain.code)
                self.assertNotEqual(result.code, 0)
                self.assertEqual(os.listdir(folder), [])

    def test_error_codes_pass_and_failed_sends_do_not_count(self):
        for mpi in MPIS:
            trace, result = traced(mpi, 2, c_program(mpi, LIVES), "error")
            self.assertIn("error rank", result.output)
            self.assertEqual(matrix_of(trace), {(0, 0): (1, 5)})

    def test_truncated_and_damaged_files_are_recognised(self):
        with new_folder() as folder:
            path = folder / "trace.rwt"
            self.assertEqual(self.run_lives("openmpi", "message", path).code, 0)
            data = path.read_bytes()
        dump_trace.parse(data)
        for length in range(0, len(data), 7):
            with self.assertRaises(dump_trace.TraceError):
                dump_trace.parse(data[:length])
        damaged = bytearray(data)
        damaged[len(data) // 2] ^= 1
        with self.assertRaises(dump_trace.TraceError):
            dump_trace.parse(bytes(damaged))


class Processes(unittest.TestCase):
    def test_without_the_variable_nothing_happens(self):
        for mpi in MPIS:
            with new_folder() as folder:
                result = mpirun(mpi, 2, c_program(mpi, LIVES), "message", environment={"LD_PRELOAD": tracer(mpi)},
                                folder=folder)
                self.assertEqual((result.code, result.errors, os.listdir(folder)), (0, "", []))

    def test_programs_without_mpi(self):
        with new_folder() as folder:
            for mpi in MPIS:
                environment = {**os.environ, **{k: str(v) for k, v in variables(mpi, folder / "trace.rwt").items()}}
                result = subprocess.run(["/bin/sh", "-c", "echo fine; exit 5"], env=environment, timeout=30,
                                        capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (5, "fine\n", ""))
            self.assertEqual(os.listdir(folder), [])

    def test_a_trace_of_another_job_is_never_replaced(self):
        """As with the launcher of another MPI: each process is a job."""
        program = c_program("openmpi", LIVES)
        with new_folder() as folder:
            script = folder / "twice"
            # Open MPI 4 fails where two jobs create its folder at the same time: each has its own.
            script.write_text(
                '#!/bin/sh\nTMPDIR=$TMPDIR/$PMI_RANK\nexport TMPDIR\nmkdir "$TMPDIR"\n"$@" && "$@"\n'
            )
            script.chmod(0o755)
            environment = variables("openmpi", folder / "trace.rwt")
            result = mpirun("mpich", 2, script, program, "message", environment=environment)
            self.assertEqual(result.code, 0, result.errors)
            self.assertEqual(len(WARNING.findall(result.errors)), 3, result.errors)
            self.assertIn("do launcher and program belong to the same MPI?", result.errors)
            self.assertEqual(dump_trace.load(folder / "trace.rwt")["facts"]["world_size"], 1)
            self.assertTrue((folder / "trace.rwt.again").exists())

    def test_a_script_between_launcher_and_program(self):
        with new_folder() as folder:
            script = folder / "script"
            script.write_text('#!/bin/sh\n/bin/true\n"$@"\n')
            script.chmod(0o755)
            for mpi in MPIS:
                trace, _ = traced(mpi, 2, script, c_program(mpi, LIVES), "message")
                self.assertEqual(matrix_of(trace), {(0, 0): (1, 5)})

    def test_forked_processes_and_started_programs(self):
        for mpi in MPIS:
            trace, result = traced(mpi, 2, c_program(mpi, LIVES), "fork")
            self.assertIn("found []", result.output)
            self.assertEqual(matrix_of(trace), {(0, 0): (1, 5)})

    def test_an_mpi_program_started_by_a_rank_leaves_the_trace_alone(self):
        trace, result = traced("mpich", 2, c_program("mpich", LIVES), "again")
        self.assertIn("again: 0", result.output)
        self.assertEqual(trace["facts"]["world_size"], 2)

    def test_sessions_without_init_get_a_warning(self):
        for mpi in ALL_MPIS[1:]:
            with self.subTest(mpi=mpi), new_folder() as folder:
                program = c_program(mpi, "tracer/tests/programs/sessions.c")
                result = mpirun(mpi, 2, program, environment=variables(mpi, folder / "trace.rwt"))
                self.assertEqual((result.code, result.output.count("done")), (0, 2), result.errors)
                self.assertEqual(len(WARNING.findall(result.errors)), 1, result.errors)
                self.assertIn("MPI sessions without MPI_Init", result.errors)
                self.assertEqual(os.listdir(folder), [])

    def test_sessions_beside_init_are_traced(self):
        for mpi in ALL_MPIS[1:]:
            with self.subTest(mpi=mpi):
                trace, result = traced(mpi, 2, c_program(mpi, "tracer/tests/programs/sessions.c"), "with-init")
                self.assertEqual(WARNING.findall(result.errors), [])
                self.assertEqual(matrix_of(trace), {(0, 0): (1, 5), (1, 1): (1, 5)})
                barriers = [c["calls"] for c in trace["collectives"] if c["operation"] == "barrier"]
                self.assertEqual(barriers, [1, 1])

    def test_spawned_processes_leave_the_trace_alone(self):
        trace, _ = traced("openmpi", 2, c_program("openmpi", LIVES), "spawn", timeout=30)
        self.assertEqual(trace["facts"]["world_size"], 2)
        self.assertEqual(matrix_of(trace), {(0, 0): (1, 5)})

    def test_the_launcher_itself_may_be_preloaded(self):
        program = c_program("openmpi", LIVES)
        with new_folder() as folder:
            path = folder / "trace.rwt"
            environment = {**os.environ, **{k: str(v) for k, v in variables("openmpi", path).items()}}
            result = subprocess.run(["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2", program,
                                     "message"], env=environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(dump_trace.load(path)["facts"]["world_size"], 2)

    def test_the_file_of_the_scheduler_is_closed_and_never_one_of_the_program(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                _, result = traced(mpi, 2, c_program(mpi, LIVES), "files")
                if "open 0 0" in result.output:
                    self.skipTest("SKIPPED: this kernel does not keep the time that a thread waits for a PU")
                self.assertEqual(result.output.count("open 1 0"), 2, result.output)
                trace, result = traced(mpi, 2, c_program(mpi, LIVES), "replaced")
                self.assertEqual(result.output.count("open 1 1"), 2, result.output)
                self.assertEqual(matrix_of(trace), {(0, 0): (1, 5)})

    def test_communicators_made_in_a_loop_are_one_record(self):
        trace, _ = traced("openmpi", 2, c_program("openmpi", LIVES), "many")
        created = [c["created"] for c in trace["communicators"] if c["members"] == [0, 1]]
        self.assertEqual(sorted(created), [1, 3000])
        calls = sum(c["calls"] for c in trace["collectives"] if c["operation"] == "bcast" and c["rank"] == 0)
        self.assertEqual(calls, 3000)


class Facts(unittest.TestCase):
    def test_host_and_affinity(self):
        allowed = sorted(os.sched_getaffinity(0))
        trace, _ = traced("openmpi", 2, c_program("openmpi", LIVES), "message")
        for rank in trace["ranks"]:
            self.assertEqual(rank["host"], os.uname().nodename)
            self.assertEqual(rank["pus"], allowed)
        with new_folder() as folder:
            script = folder / "bound"
            script.write_text(f'#!/bin/sh\nexec taskset -c {allowed[-1]} "$@"\n')
            script.chmod(0o755)
            trace, _ = traced("openmpi", 2, script, c_program("openmpi", LIVES), "message")
        self.assertEqual([rank["pus"] for rank in trace["ranks"]], [[allowed[-1]]] * 2)

    def test_openmp_that_binds_the_first_thread_does_not_hide_the_pus(self):
        """With OpenMP variables, and only then, the PUs at program start count."""
        allowed = sorted(os.sched_getaffinity(0))
        for variable, pus in (("OMP_PROC_BIND=close", allowed), ("OTHER=1", allowed[:1])):
            with new_folder() as folder:
                script = folder / "bound"
                given = ",".join(map(str, allowed))
                script.write_text(f'#!/bin/sh\nexport {variable} RANKWRIGHT_TRACE_PUS={given}\n'
                                  f'exec taskset -c {allowed[0]} "$@"\n')
                script.chmod(0o755)
                trace, _ = traced("openmpi", 2, script, c_program("openmpi", LIVES), "message")
            self.assertEqual([rank["pus"] for rank in trace["ranks"]], [pus] * 2)

    def test_threads(self):
        threads, rounds = 4, 40
        for mpi in MPIS:
            try:
                program = c_program(mpi, "tracer/tests/programs/threads.c")
                trace, _ = traced(mpi, 2, program, threads, rounds, timeout=40)
            except AssertionError as error:
                if "exit code 77" in str(error):
                    self.skipTest(f"SKIPPED: {mpi} gives no MPI_THREAD_MULTIPLE")
                raise
            self.assertEqual(trace["facts"]["thread_level"], "multiple")
            total = (2 * threads * rounds, 12 * threads * rounds)
            self.assertEqual(matrix_of(trace), {(0, 1): total, (1, 0): total})
            for rank in range(2):
                reductions = [c for c in trace["collectives"] if c["rank"] == rank and c["operation"] == "allreduce"]
                self.assertEqual(sum(c["calls"] for c in reductions), threads * rounds)
                self.assertEqual(sum(c["bytes"] for c in reductions), 8 * threads * rounds)
