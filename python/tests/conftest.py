"""What several tests need: the command line, a recorded run."""

import os
import pathlib
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("RANKWRIGHT_PROGRAM", REPOSITORY / "target/debug/rankwright"))
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
#: Open MPI refuses to start as root otherwise.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def needs_open_mpi():
    if not shutil.which("mpirun.openmpi"):
        pytest.skip("SKIPPED: no Open MPI (mpirun.openmpi)")


def run(*line, **options):
    """Runs a program; its standard output."""
    environment = {**os.environ, **AS_ROOT, **options.pop("env", {})}
    done = subprocess.run(
        [str(word) for word in line],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    assert done.returncode == 0, f"{line}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def program():
    """The command line of this build."""
    if not PROGRAM.exists():
        pytest.skip(f"SKIPPED: {PROGRAM} is not built (cargo build)")
    return PROGRAM


@pytest.fixture(scope="session")
def recorded(program, tmp_path_factory):
    """A profile with the calls of a run of examples/heat2d.c with 4 ranks."""
    needs_open_mpi()
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("SKIPPED: no compiler of Open MPI (mpicc.openmpi)")
    folder = tmp_path_factory.mktemp("recorded")
    run("mpicc.openmpi", "-O1", REPOSITORY / "examples/heat2d.c", "-o", folder / "heat2d", "-lm")
    profile = folder / "heat.rwp"
    line = [*MPIRUN, "-np", "4", folder / "heat2d", "--iterations", "30"]
    run(program, "-q", "profile", "--events", "-o", profile, "--", *line, cwd=folder)
    return profile


@pytest.fixture
def cluster_file(tmp_path):
    """A cluster.toml of two nodes."""
    path = tmp_path / "cluster.toml"
    path.write_text(
        'name = "small"\nformat = 2\n[[node]]\nnames = "n[0-1]"\n'
        'topology = "pack:1 numa:1 core:4 pu:1"\n[[node.nic]]\nname = "eth0"\nbandwidth = "1 GB/s"\n',
        encoding="utf-8",
    )
    return path
