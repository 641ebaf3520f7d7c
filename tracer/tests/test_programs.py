"""What a trace says about the program: its name, also that of a script, communication libraries beside MPI, and the
settings of the MPI library."""

import unittest

from harness import (ALL_MPIS, MPIS, TESTS, c_program, compile_with, dump_trace, mpi_command, mpirun, need, new_folder,
                     variables)

PLUGIN = "tracer/tests/programs/plugin.c"
NAMES = (
    ("app -m other.py", "app"),
    ("python3 script.py secret", "script.py"),
    ("python3.11 -u -W ignore -Xdev folder/script.py -m secret", "script.py"),
    ("python -um package.module secret", "package.module"),
    ("python -m mpi4py -rc threads=0 script.py secret", "script.py"),
    ("python -m mpi4py.run --rc=threads=0 -m package secret", "package"),
    ("python -c secret", "python"),
    ("python - secret", "python"),
    ("python", "python"),
    ("pythonic script.py", "pythonic"),
    ("perl -Mlocale -I folder -w script.pl secret", "script.pl"),
    ("perl -we secret secret", "perl"),
    ("julia --project=x --threads 4 -t 2 script.jl secret", "script.jl"),
    ("R --no-echo --no-restore --file=folder/script.R --args secret", "script.R"),
    ("ruby -- script.rb", "script.rb"),
)


class Programs(unittest.TestCase):
    def facts(self, mpi, program, *arguments, **more):
        with new_folder() as folder:
            path = folder / "trace.rwt"
            result = mpirun(mpi, 1, program, *arguments, environment={**variables(mpi, path), **more})
            self.assertEqual(result.code, 0, result.errors)
            self.assertNotIn(b"secret", path.read_bytes())
            return dump_trace.load(path)["facts"]

    def test_an_interpreter_has_the_name_of_its_script(self):
        program = c_program("openmpi", PLUGIN)
        with new_folder() as folder:
            for line, name in NAMES:
                interpreter, *arguments = line.split()
                link = folder / interpreter
                link.unlink(missing_ok=True)
                link.symlink_to(program)
                self.assertEqual(self.facts("openmpi", link, *arguments)["program"], name, line)

    def library(self, folder, name):
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / name
        compile_with("cc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", library, f"-Wl,-soname,{name}")
        return library

    def test_libraries_beside_mpi_are_named(self):
        need("cc")
        for mpi in MPIS:
            program = c_program(mpi, PLUGIN)
            with new_folder() as folder:
                libraries = {name: self.library(folder, name)
                             for name in ("libnccl.so.2", "libnvshmem_host.so.3", "libncclient.so", "libfabric.so.99")}
                for name, expected in (("libnccl.so.2", "NCCL"), ("libnvshmem_host.so.3", "NVSHMEM"),
                                       ("libncclient.so", ""), ("libfabric.so.99", "")):
                    self.assertEqual(self.facts(mpi, program, PLUGIN=libraries[name])["beside_mpi"], expected, name)
                # MPI libraries load libfabric too: it counts if the executable names it.
                own = folder / "own"
                compile_with(mpi_command(mpi, "mpicc"), TESTS / "programs/plugin.c", "-o", own, "-Wl,--no-as-needed",
                             libraries["libfabric.so.99"], f"-Wl,-rpath,{folder}")
                facts = self.facts(mpi, own, PLUGIN=libraries["libnccl.so.2"])
                self.assertEqual(facts["beside_mpi"], "libfabric,NCCL")

    def test_mpi4py_is_known_by_its_module(self):
        need("cc")
        with new_folder() as folder:
            module = self.library(folder / "mpi4py", "MPI.cpython-311.so")
            facts = self.facts("openmpi", c_program("openmpi", PLUGIN), PLUGIN=module)
            self.assertEqual(facts["called_through"], "mpi4py")


class LibrarySettings(unittest.TestCase):
    """The settings that the library has really taken, whoever set them, and nothing else of its hundreds."""

    def settings(self, mpi, **environment):
        with new_folder() as folder:
            path = folder / "trace.rwt"
            result = mpirun(mpi, 2, c_program(mpi, "examples/heat2d.c"), "--iterations", 2,
                            environment={**variables(mpi, path), **environment})
            self.assertEqual(result.code, 0, result.errors)
            self.assertNotIn("rankwright tracer:", result.errors)
            settings = dump_trace.load(path)["library_settings"]
            self.assertLess(len(settings), 300)
            return settings

    def test_open_mpi(self):
        for mpi in (mpi for mpi in ALL_MPIS if mpi.startswith("openmpi")):
            with self.subTest(mpi=mpi):
                settings = self.settings(mpi, OMPI_MCA_coll_tuned_use_dynamic_rules=1,
                                         OMPI_MCA_coll_tuned_bcast_algorithm=6, OMPI_MCA_btl_tcp_eager_limit=12345,
                                         OMPI_MCA_coll_han_dynamic_rules_filename="/nonexistent/rules")
                self.assertEqual(settings["coll_tuned_use_dynamic_rules"], "1")
                self.assertEqual(settings["coll_tuned_bcast_algorithm"], "6")
                self.assertEqual(settings["coll_tuned_reduce_algorithm"], "0")
                self.assertEqual(settings["coll_han_dynamic_rules_filename"], "/nonexistent/rules")
                self.assertEqual(settings["btl_tcp_eager_limit"], "12345")
                self.assertEqual(settings["coll_tuned_priority"], "30")
                self.assertIn("coll_han_priority", settings)

    def test_mpich(self):
        for mpi in (mpi for mpi in ALL_MPIS if mpi.startswith("mpich")):
            with self.subTest(mpi=mpi):
                settings = self.settings(mpi, MPIR_CVAR_BCAST_INTRA_ALGORITHM="binomial",
                                         MPIR_CVAR_BCAST_SHORT_MSG_SIZE=4321)
                self.assertNotEqual(settings["MPIR_CVAR_BCAST_INTRA_ALGORITHM"], "0")
                self.assertEqual(settings["MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"], "0")
                self.assertEqual(settings["MPIR_CVAR_BCAST_SHORT_MSG_SIZE"], "4321")
                self.assertEqual(settings["MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"], "")


if __name__ == "__main__":
    unittest.main()
