"""What is installed with the package: the programs of the command line, beside each other."""

import pathlib
import subprocess
import sys
import sysconfig

import pytest

import rankwright

from conftest import MPIRUN, REPOSITORY, needs_open_mpi, run

SCRIPTS = pathlib.Path(sysconfig.get_path("scripts"))


@pytest.fixture(scope="module")
def installed():
    if not (SCRIPTS / "rankwright").exists():
        pytest.skip("SKIPPED: not installed from a wheel (python/check)")
    return SCRIPTS


def test_the_command_line_comes_with_the_package(installed):
    assert run(installed / "rankwright", "--version").strip() == f"rankwright {rankwright.__version__}"
    assert pathlib.Path(rankwright.__file__).is_relative_to(pathlib.Path(sys.prefix))


def test_the_installed_tracer_and_shim_are_found(installed, tmp_path):
    """Profile, place, run and check with nothing but what the wheel has."""
    needs_open_mpi()
    run("mpicc.openmpi", REPOSITORY / "examples/heat2d.c", "-o", tmp_path / "heat2d", "-lm")
    program, profile = installed / "rankwright", tmp_path / "heat.rwp"
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    heat = [tmp_path / "heat2d", "--iterations", "3"]
    run(program, "-q", "profile", "-o", profile, "--", *MPIRUN, "-np", "2", *heat, cwd=tmp_path, env=home)
    assert rankwright.open(profile).comm_matrix().sum() > 0
    run(program, "-q", "cluster", "discover", "-o", tmp_path / "here.toml", cwd=tmp_path)
    plan = rankwright.place(profile, tmp_path / "here.toml", nodes=1)
    plan.save(tmp_path / "placement.json")
    report = subprocess.run(
        [program, "exec", "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert report.returncode == 0 and "rankwright-exec" in report.stdout


def test_a_placement_made_in_python_is_launched(installed, tmp_path):
    plan = rankwright.map_("pattern:ring:4", "paper:2013", "cyclic")
    plan.save(tmp_path / "placement.json")
    line = ["-q", "launch", tmp_path / "placement.json", "--for", "mpich", "-o", tmp_path / "launch"]
    run(installed / "rankwright", *line, "--", "./app", cwd=tmp_path)
    assert any((tmp_path / "launch").iterdir())
