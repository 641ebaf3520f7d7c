"""calls.table against the headers of all installed MPIs, and the sampler against calls.table."""

import fnmatch
import re
import subprocess
import unittest

from harness import (ALL_MPIS, SAMPLER, TRACER, c_program, call_tables, compile_with, mpi_command, need,
                     new_folder, tracer)

BY_HAND = {"Abort", "Init", "Init_thread", "Finalize", "Start", "Startall", "Request_free", "Session_finalize"}
ELSEWHERE = {"Abort", "Init_thread", "Session_finalize"}  # lives.c, threads.c, sessions.c
# Not in the C sampler of MPICH 4.0, see sampler.h; the Fortran sampler has some of them.
NOT_SAMPLED = {"mpich": re.compile(r"\w+_init(_c)?|Start|Startall")}


def declared(mpi):
    """The functions in <mpi.h>, without MPI_."""
    with new_folder() as folder:
        source = folder / "header.c"
        source.write_text("#include <mpi.h>\n")
        compile_with(mpi_command(mpi, "mpicc"), "-E", "-P", source, "-o", folder / "header.i")
        text = (folder / "header.i").read_text()
    return set(re.findall(r"\b(?:int|double|MPI_\w+)\s+MPI_([A-Z][a-z]\w*|T_\w+)\s*\(", text))


def table():
    return {name for call in call_tables.read(TRACER) for name in call.functions()} | BY_HAND


def unwrapped_patterns():
    lines = (TRACER / "unwrapped.calls").read_text().splitlines()
    return [line.split(" | ")[0].strip() for line in lines if line.strip() and not line.startswith("#")]


def symbols(file, kind, prefix="MPI_"):
    need("nm")
    lines = subprocess.run(["nm", "-D", f"--{kind}", file], capture_output=True, text=True, check=True).stdout
    return set(re.findall(rf"(?<= )(?:{prefix})(\w+)$", lines, re.MULTILINE))


class Calls(unittest.TestCase):
    maxDiff = None

    def test_every_call_is_wrapped_or_has_a_reason_not_to_be(self):
        wrapped, patterns = table(), unwrapped_patterns()
        for mpi in ALL_MPIS:
            with self.subTest(mpi=mpi):
                names = declared(mpi)
                self.assertGreater(len(names), 300)
                left = {name for name in names - wrapped
                        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
                self.assertEqual(left, set(), "neither in calls.table nor in unwrapped.calls")

    def test_no_wrapped_call_is_listed_as_unwrapped(self):
        for pattern in unwrapped_patterns():
            self.assertEqual(fnmatch.filter(table(), pattern), [], pattern)

    def test_the_tracer_has_all_wrappers_that_the_header_has(self):
        for mpi in ALL_MPIS:
            with self.subTest(mpi=mpi):
                self.assertEqual(symbols(tracer(mpi), "defined-only") & table(), declared(mpi) & table())

    def test_every_wrapped_call_is_sampled(self):
        for mpi in ALL_MPIS:
            with self.subTest(mpi=mpi):
                called = symbols(c_program(mpi, *SAMPLER), "undefined-only", "MPI_|MPIX_")
                wrapped = symbols(tracer(mpi), "defined-only", "MPI_|MPIX_") - ELSEWHERE
                if any(name.endswith("_c") for name in wrapped):
                    called |= symbols(c_program(mpi, *SAMPLER, large_counts=True), "undefined-only")
                left = {name for name in wrapped - called
                        if mpi not in NOT_SAMPLED or not NOT_SAMPLED[mpi].fullmatch(name)}
                self.assertEqual(left, set())


if __name__ == "__main__":
    unittest.main()
