"""Sweeps: the same results on every executor."""

import concurrent.futures
import importlib.util
import multiprocessing
import pathlib
import sys

import numpy as np
import pytest

import rankwright
from rankwright import Error, InputError

from conftest import MPIRUN, needs_open_mpi, run
from sweep_functions import GRID, dies, waiting

HERE = pathlib.Path(__file__).resolve().parent


def processes(count=2):
    # As it is by default from Python 3.14 on; plain copies of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(count, mp_context=context)


def test_processes_and_threads_give_the_results_of_one_process():
    here = rankwright.sweep(waiting, GRID)
    assert [point["strategy"] for point in here.points] == ["blocked", "blocked", "cyclic", "cyclic"]
    with processes() as executor:
        assert list(rankwright.sweep(waiting, GRID, executor=executor)) == list(here)
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        assert list(rankwright.sweep(waiting, GRID, executor=executor)) == list(here)


def test_a_grid_of_placements_over_clusters_and_nodes():
    matrix = rankwright.Workload.from_matrix(np.ones((8, 8), dtype=int) * 100)
    cluster = rankwright.Cluster("synthetic:package:1 core:4 pu:1", nodes=4)
    grid = {
        "workload": [matrix],
        "cluster": [cluster],
        "nodes": [1, 2, 4],
        "strategies": [["blocked", "cyclic"]],
    }
    with processes() as executor:
        found = rankwright.sweep(grid, executor=executor)
    assert list(found.errors) == [0] and "8 ranks" in str(found.errors[0]) and found[0] is None
    assert [plan.rows()[0]["nodes"] for plan in found[1:]] == [2, 2]
    rows = found.rows()
    assert rows[1]["best"] == "blocked" and rows[1]["strategies"] == "blocked,cyclic"
    pytest.importorskip("pandas")
    assert list(found.frame["nodes"]) == [1, 2, 4]


def test_progress_is_the_share_of_points():
    told = []
    rankwright.sweep(waiting, GRID, progress=lambda text, done: told.append((text, done)))
    assert told[-1] == ("4 of 4 points", 1.0)
    for stop in (False, np.False_):
        with pytest.raises(Error, match="stopped by the progress function after 1 of 4 points"):
            rankwright.sweep(waiting, GRID, progress=lambda text, done: stop)


def test_a_closed_executor_and_a_dead_worker_are_told():
    executor = processes(1)
    executor.shutdown()
    with pytest.raises(InputError, match="executor: it takes no more work"):
        rankwright.sweep(waiting, GRID, executor=executor)
    with processes(1) as executor, pytest.raises(Error, match="a worker of the executor died"):
        rankwright.sweep(dies, {"strategy": ["blocked"]}, executor=executor)


def test_errors_of_workers_keep_their_class():
    with processes(1) as executor, pytest.raises(InputError, match="no strategy is called `dbr`"):
        rankwright.sweep(waiting, {"strategy": ["dbr"], "seed": [1]}, executor=executor)


def test_wrong_grids_are_refused():
    for grid, says in [
        ({"seed": 3}, r"grid\['seed'\]: found 3, expected a list"),
        ({"strategy": "blocked"}, r"grid\['strategy'\]: found 'blocked', expected a list"),
        ({"strategy": []}, "found no points"),
        (7, "grid: found 7, expected a mapping"),
    ]:
        with pytest.raises(InputError, match=says):
            rankwright.sweep(waiting, grid)
    with pytest.raises(InputError, match="executor: found int"):
        rankwright.sweep(waiting, GRID, executor=4)


def test_mpi_processes_are_workers():
    needs_open_mpi()
    if not importlib.util.find_spec("mpi4py"):
        pytest.skip("SKIPPED: no mpi4py")
    line = [*MPIRUN, "-np", "3", sys.executable, "-m", "mpi4py.futures", HERE / "sweep_functions.py"]
    assert run(*line, cwd=HERE).splitlines() == ["same", "['blocked', 'cyclic'] 3"]


def test_workers_of_dask():
    distributed = pytest.importorskip("distributed")
    here = rankwright.sweep(waiting, GRID)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        found = rankwright.sweep(waiting, GRID, executor=client.get_executor())
    assert list(found) == list(here)
