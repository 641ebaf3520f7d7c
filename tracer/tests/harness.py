"""Shared by the tests: building with all MPI libraries, running with time limits, reading results."""

import collections
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
TRACER = TESTS.parent
ROOT = TRACER.parent
sys.path.insert(0, str(TRACER / "tools"))

import call_tables  # noqa: E402 (in the folder that the line above adds to the path)
import dump_trace  # noqa: E402 (in the same folder)

MPIS = ("openmpi", "mpich")
# scripts/bootstrap puts the last two into .mpi/; they have no Fortran.
ALL_MPIS = (*MPIS, "openmpi5", "mpich5")
# Makes every wrapped call, with known sizes.
SAMPLER = [f"tracer/tests/sampler/{name}.c" for name in ("sampler", "sampler_point_to_point", "sampler_communicators",
                                                 "sampler_collectives", "sampler_neighbourhoods", "sampler_one_sided",
                                                 "sampler_partitioned", "sampler_large_numbers")]
WARNING = re.compile(r"^rankwright tracer: .*$", re.MULTILINE)
SOURCES = sorted(TRACER.glob("src/*/*.c"))
NO_FALSE_WARNINGS = ["-Wno-stringop-overflow", "-Wno-stringop-overread"]  # MPI_STATUSES_IGNORE, in MPICH
# The options and relative names of `rankwright profile` and scripts/dist-tracers: ccache has their objects.
COMPILE = ["-c", "-fPIC", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"]
LINK = ["-shared", "-Wl,--as-needed", "-Wl,-z,lazy"]
# More ranks than cores: waiting ranks yield.
OPENMPI_OPTIONS = {
    "openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"],
    "openmpi5": ["--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none",
                 "--mca", "mpi_yield_when_idle", "1"],
}
SHARED_MEMORY = {
    "openmpi": ["--mca", "pml", "^ucx,cm,v", "--mca", "osc", "^ucx"],
    "openmpi5": ["--mca", "pml", "ob1", "--mca", "osc", "^ucx"],
}
# Also where no network device is worth it.
UCX = {"openmpi": ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]}
# Open MPI's own count of messages, with algorithms that it does not count as messages of the user.
MONITORING_OPTIONS = ["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3",
                      "--mca", "coll_tuned_use_dynamic_rules", "1",
                      "--mca", "coll_tuned_alltoall_algorithm", "2",
                      "--mca", "coll_tuned_alltoallv_algorithm", "2"]

_folder = tempfile.TemporaryDirectory(prefix="rankwright-tracer-")
FOLDER = pathlib.Path(_folder.name)


def once(function):
    """functools.cache for concurrent tests: computes each value once."""
    cached, locks, guard = functools.cache(function), {}, threading.Lock()

    @functools.wraps(function)
    def locked(*arguments, **keywords):
        with guard:
            lock = locks.setdefault((arguments, *keywords.items()), threading.Lock())
        with lock:
            return cached(*arguments, **keywords)

    return locked


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            raise unittest.SkipTest(f"SKIPPED: {command} is not installed")


def mpi_command(mpi, name):
    """Its mpicc, mpif90 or mpirun. In Debian the commands of the two MPIs have suffixes."""
    command = f"{name}.{mpi}" if mpi in MPIS else str(ROOT / ".mpi" / mpi / "bin" / name)
    need(command)
    return command


def compile_with(command, *arguments, warnings=True, folder=None):
    """`warnings`: whether the compiler may warn."""
    result = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=folder)
    if result.returncode != 0 or (result.stderr and not warnings):
        raise AssertionError(f"{command} {' '.join(map(str, arguments))}\n{result.stderr}")


@once
def tracer(mpi):
    return build_tracer(mpi_command(mpi, "mpicc"), mpi)


def build_tracer(compiler, name):
    """Compiles the sources in parallel, those that take longest first."""
    objects = FOLDER / f"tracer.{name}"
    objects.mkdir()
    library = FOLDER / f"librankwright_tracer.{name}.so"

    def compile_source(source):
        result = objects / f"{source.stem}.o"
        compile_with(compiler, *COMPILE, "-o", result, source.relative_to(TRACER), warnings=False, folder=TRACER)
        return result

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        sources = sorted(SOURCES, key=lambda source: not source.stem.startswith("wrap_"))
        compiled = list(pool.map(compile_source, sources))
    compile_with(compiler, *LINK, *compiled, "-o", library, "-ldl", "-lpthread", "-lm")
    return library


@once
def large_counts_header():
    """Macros that turn calls into their large-count forms."""
    header = FOLDER / "large_counts.h"
    names = (name for call in call_tables.read(TRACER) for name in call.functions() if name.endswith("_c"))
    header.write_text("#define LARGE_COUNTS 1\n" + "".join(
        f"#define MPI_{name.removesuffix('_c')} MPI_{name}\n" for name in names))
    return header


@once
def c_program(mpi, *sources, large_counts=False):
    program = FOLDER / f"{pathlib.Path(sources[0]).stem}{'.large' if large_counts else ''}.{mpi}"
    # <mpi.h> first: the macros must not change it.
    include = ["-include", "mpi.h", "-include", large_counts_header()] if large_counts else []
    compile_with(mpi_command(mpi, "mpicc"), "-O2", "-std=gnu11", "-Wall", "-Wextra", *NO_FALSE_WARNINGS, *include,
                 *(ROOT / source for source in sources), "-o", program, "-lpthread")
    return program


@once
def fortran_program(mpi, source, dialect):
    program = FOLDER / f"{pathlib.Path(source).stem}.{dialect}.{mpi}"
    defines = [f"-D{dialect}", *(["-DOPEN_MPI_4"] if mpi == "openmpi" else [])]
    with new_folder() as modules:
        compile_with(mpi_command(mpi, "mpif90"), "-O2", *defines, "-fallow-argument-mismatch", "-J", modules,
                     ROOT / source, "-o", program)
    return program


@once
def gathering_traffic():
    need("mpicc.openmpi")
    library = FOLDER / "gathering_traffic.so"
    compile_with("mpicc.openmpi", "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE",
                 TESTS / "programs/gathering_traffic.c", "-o", library, "-ldl")
    return library


Run = collections.namedtuple("Run", "code output errors")


def run_once(command, timeout, folder):
    """In a new session, so that all of it ends at the time limit, and with a new TMPDIR: Open MPI 5 does not start where
    a killed launcher left its folder under the same PID."""
    with new_folder() as temporary:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=folder, env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True)
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    return Run(process.returncode, output, errors)


def run(command, timeout=60, folder=None):
    """Repeats once after a time-out: both libraries sometimes hang when there are more ranks than cores."""
    folder = folder or FOLDER
    try:
        return run_once(command, timeout, folder)
    except subprocess.TimeoutExpired:
        print(f"\ntimed out after {timeout} s, trying once more: {' '.join(map(str, command))}",
              file=sys.stderr)
        return run_once(command, timeout, folder)


def mpirun(mpi, ranks, program, *arguments, environment=None, options=(), timeout=60, folder=None, over=None):
    """`over`: the options that say what messages go over, by MPI; else shared memory."""
    over = (SHARED_MEMORY if over is None else over).get(mpi, ())
    command = [mpi_command(mpi, "mpirun"), *OPENMPI_OPTIONS.get(mpi, ()), *over, *options]
    for name, value in (environment or {}).items():
        command += ["-x", f"{name}={value}"] if mpi in OPENMPI_OPTIONS else ["-genv", name, str(value)]
    return run([*command, "-n", ranks, program, *arguments], timeout, folder)


def variables(mpi, trace):
    return {"LD_PRELOAD": tracer(mpi), "RANKWRIGHT_TRACE_FILE": trace}


@contextlib.contextmanager
def new_folder():
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        yield pathlib.Path(name)


def traced(mpi, ranks, program, *arguments, **keywords):
    """Runs under the tracer; returns the trace and the output."""
    with new_folder() as folder:
        path = folder / "trace.rwt"
        result = mpirun(mpi, ranks, program, *arguments, environment=variables(mpi, path), **keywords)
        if result.code != 0 or not path.exists():
            raise AssertionError(f"{program} under {mpi}: exit code {result.code}\n{result.output}{result.errors}")
        return dump_trace.load(path), result


def traced_and_monitored(ranks, program, *arguments, **keywords):
    """One run under the tracer and Open MPI's monitoring: the trace, and the counts of the monitoring by the letter of
    its lines: E messages with tags of the user, S and R one-sided transfers sent and received."""
    with new_folder() as folder:
        path = folder / "trace.rwt"
        environment = variables("openmpi", path)
        environment["LD_PRELOAD"] = f"{gathering_traffic()}:{tracer('openmpi')}"
        environment["GATHERING_TRAFFIC"] = folder / "gathering"
        options = [*MONITORING_OPTIONS, "--mca", "pml_monitoring_filename", str(folder / "monitored")]
        result = mpirun("openmpi", ranks, program, *arguments, environment=environment, options=options,
                        **keywords)
        if result.code != 0 or not path.exists():
            raise AssertionError(f"{program}: exit code {result.code}\n{result.output}{result.errors}")
        matrices = read_monitoring(folder, ranks)
        for rank in range(ranks):
            for line in (folder / f"gathering.{rank}").read_text().splitlines():
                source, destination, messages, size = map(int, line.split())
                total = matrices["E"][source, destination]
                matrices["E"][source, destination] = (total[0] - messages, total[1] - size)
        matrices["E"] = {pair: value for pair, value in matrices["E"].items() if value != (0, 0)}
        return dump_trace.load(path), matrices


def mount_tmpfs(test, folder, size):
    """A small file system."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        test.skipTest(f"SKIPPED: no tmpfs can be mounted here: {mounted.stderr.strip()}")


def read_monitoring(folder, ranks):
    """Letter -> (rank, peer) -> (messages, bytes)."""
    matrices = {"E": {}, "S": {}, "R": {}}
    pattern = re.compile(r"([ESR])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs (?:sent|received)")
    for rank in range(ranks):
        for line in (folder / f"monitored.{rank}.prof").read_text().splitlines():
            if match := pattern.match(line):
                source, destination, size, messages = map(int, match.groups()[1:])
                matrices[match[1]][source, destination] = (messages, size)
    return matrices


def matrix_of(trace, kind="point_to_point"):
    """(source, destination) -> (messages, bytes)."""
    return {(p["source"], p["destination"]): (p["messages"], p["bytes"])
            for p in trace["pairs"] if p["class"] == kind}


def logical(trace):
    """The parts of a trace without times: equal under all MPI libraries."""
    pairs = [(p["class"], p["source"], p["destination"], p["messages"], p["bytes"], p["largest"],
              tuple(sorted(p["histogram"].items()))) for p in trace["pairs"]]
    communicators = [(c["kind"], c["slot"], c["created"], c["name"], c["members"], c["second_group"])
                     for c in trace["communicators"]]
    collectives = [(c["rank"], c["communicator"], c["operation"], c["nonblocking"], c["persistent"], c["root"],
                    c["calls"], c["bytes"], tuple((e["destination"], e["messages"], e["bytes"]) for e in c["row"]))
                   for c in trace["collectives"]]
    return {"pairs": pairs, "communicators": communicators, "collectives": collectives,
            "topologies": trace["topologies"]}
