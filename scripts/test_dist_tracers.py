"""Tests of scripts/dist-tracers, which builds the tracer and the probe for installed MPIs."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "dist-tracers"


class OneCompiler(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, compiler):
        command = [SCRIPT, self.folder / "tracers", compiler]
        # Optimised code takes longer to compile.
        environment = {**os.environ, "CFLAGS": "-O0"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    @unittest.skipUnless(shutil.which("mpicc.mpich"), "SKIPPED: no mpicc.mpich")
    def test_it_builds_for_the_mpi_of_a_named_compiler_only(self):
        done = self.build("mpicc.mpich")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        files = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())
        self.assertEqual(files, ["probes/mpich/rankwright-probe", "tracers/mpich/librankwright_tracer.so"])

    def test_a_named_compiler_must_exist(self):
        done = self.build("/nowhere/mpicc")
        self.assertEqual((done.returncode, done.stderr), (1, "/nowhere/mpicc: not found\n"))


if __name__ == "__main__":
    unittest.main()
