"""One tracer serves all libraries of an ABI, also those that a plug-in loads, and none of another ABI."""

import subprocess
import unittest

from harness import (FOLDER, ALL_MPIS, ROOT, TESTS, build_tracer, c_program, compile_with, dump_trace,
                     fortran_program, logical, matrix_of, mpirun, mpi_command, new_folder, traced, tracer)
from test_traffic import SAMPLER

LIVES = "tracer/tests/programs/lives.c"
FORTRAN_SAMPLER = "tracer/tests/sampler/fortran_sampler.F90"


def run_with(library, mpi, ranks, program, *arguments):
    """Runs under a given tracer; returns the trace, or None, and the output."""
    with new_folder() as folder:
        path = folder / "trace.rwt"
        environment = {"LD_PRELOAD": library, "RANKWRIGHT_TRACE_FILE": path}
        result = mpirun(mpi, ranks, program, *arguments, environment=environment)
        return dump_trace.load(path) if path.exists() else None, result


class SameAbi(unittest.TestCase):
    """A tracer compiled with one version serves the other, also an older one, which lacks calls."""
    maxDiff = None

    def compare(self, compiled, used, program, *arguments):
        expected, _ = traced(used, 4, program, *arguments)
        trace, result = run_with(tracer(compiled), used, 4, program, *arguments)
        self.assertEqual((result.code, result.errors), (0, ""))
        self.assertEqual(logical(trace), logical(expected))

    def test_a_newer_tracer_knows_all_calls_of_an_older_library(self):
        for compiled, used in (("openmpi5", "openmpi"), ("mpich5", "mpich")):
            with self.subTest(used), new_folder() as folder:
                self.compare(compiled, used, c_program(used, *SAMPLER), folder)

    def test_fortran(self):
        for compiled, used in (("openmpi5", "openmpi"), ("mpich5", "mpich")):
            for dialect in ("MPI", "MPI_F08", "MPIF_H"):
                with self.subTest(mpi=used, dialect=dialect):
                    self.compare(compiled, used, fortran_program(used, FORTRAN_SAMPLER, dialect))

    def test_an_older_tracer_serves_a_newer_library(self):
        for compiled, used in (("openmpi", "openmpi5"), ("mpich", "mpich5")):
            with self.subTest(used):
                self.compare(compiled, used, c_program(used, "examples/heat2d.c"), "--iterations", 5)

    def test_it_names_no_mpi_library(self):
        for mpi in ALL_MPIS:
            needed = subprocess.run(["readelf", "--dynamic", "--wide", tracer(mpi)], capture_output=True, text=True,
                                    timeout=30, check=True).stdout
            self.assertNotIn("libmpi", needed, mpi)

    def test_calls_that_the_library_lacks_do_no_harm_even_if_all_is_bound_at_once(self):
        for compiled, used in (("openmpi5", "openmpi"), ("mpich5", "mpich")):
            environment = {"LD_PRELOAD": tracer(compiled), "LD_BIND_NOW": "1"}
            result = mpirun(used, 2, c_program(used, LIVES), "message", environment=environment)
            self.assertEqual((result.code, result.errors), (0, ""))


class StandardAbi(unittest.TestCase):
    maxDiff = None

    def test_mpich5(self):
        compiler = mpi_command("mpich5", "mpicc_abi")
        library, program = build_tracer(compiler, "abi"), FOLDER / "heat2d.abi"
        compile_with(compiler, "-O2", ROOT / "examples/heat2d.c", "-o", program, "-lm")
        trace, result = run_with(library, "mpich5", 4, program, "--iterations", 5)
        self.assertEqual((result.code, result.errors), (0, ""))
        heat = c_program("mpich5", "examples/heat2d.c")
        expected, _ = run_with(tracer("mpich5"), "mpich5", 4, heat, "--iterations", 5)
        self.assertEqual(logical(trace), logical(expected))
        self.check_refused(library, c_program("mpich5", LIVES), "the standard ABI of MPI 5", "MPICH")
        self.check_refused(tracer("mpich5"), program, "MPICH", "the standard ABI of MPI 5")

    def check_refused(self, library, program, built_for, used):
        trace, result = run_with(library, "mpich5", 2, program, "message")
        self.assertIsNone(trace)
        self.assertIn(f"built for {built_for}, but the program uses {used}: no trace", result.errors)


class OtherAbi(unittest.TestCase):
    def test_a_linked_library_of_another_abi_is_left_alone(self):
        for compiled, used in (("openmpi", "mpich"), ("mpich", "openmpi"), ("openmpi5", "mpich5"),
                               ("mpich5", "openmpi5")):
            with self.subTest(compiled=compiled, used=used):
                program = c_program(used, LIVES)
                plain = mpirun(used, 2, program, "error")
                trace, result = run_with(tracer(compiled), used, 2, program, "error")
                self.assertIsNone(trace)
                # The lines of two ranks may be interleaved.
                self.assertEqual((result.code, sorted(result.output)), (plain.code, sorted(plain.output)))
                self.assertEqual(result.errors.count("rankwright tracer: built for "), 1, result.errors)

    def test_a_privately_loaded_library(self):
        host = FOLDER / "dlopened"
        compile_with("cc", "-O1", "-Wall", "-Wextra", TESTS / "programs/dlopened.c", "-o", host, "-ldl")
        for mpi, other in (("openmpi", "mpich"), ("mpich", "openmpi"), ("openmpi5", "mpich5"), ("mpich5", "openmpi5")):
            with self.subTest(mpi):
                plugin = FOLDER / f"plugin.{mpi}.so"
                compile_with(mpi_command(mpi, "mpicc"), "-shared", "-fPIC", "-O1", "-std=gnu11", ROOT / LIVES,
                             "-o", plugin, "-lpthread")
                trace, result = run_with(tracer(mpi), mpi, 2, host, plugin, "message")
                self.assertEqual((result.code, result.errors), (0, ""))
                self.assertEqual(matrix_of(trace), {(0, 0): (1, 5)})
                trace, result = run_with(tracer(other), mpi, 2, host, plugin, "message")
                self.assertIsNone(trace)
                self.assertEqual(result.code, 125, result.errors)
                self.assertIn("the program ends here", result.errors)
