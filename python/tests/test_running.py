"""Progress, interrupts, the interpreter's lock; frames with and without their libraries."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import rankwright
from rankwright import Error, InputError

#: A search of minutes.
LONG = dict(workload="nas:cg.C.256", cluster="paper:2013", effort="best", threads=1)


def test_progress_is_told_and_may_end_the_search():
    stages = []

    def ends_at_once(stage, done):
        stages.append((stage, done, threading.current_thread() is threading.main_thread()))
        return False

    plan = rankwright.place("nas:cg.A.16", "paper:2013", progress=ends_at_once)
    assert plan.stopped and plan.placement.rows()
    assert stages[0][0].startswith("strategy 1 of ") and 0 <= stages[0][1] <= 1
    assert not stages[0][2], "it is called from the working thread"


def test_progress_ends_with_all():
    told = []
    rankwright.place("nas:cg.A.16", "paper:2013", strategies="blocked", progress=lambda *news: told.append(news))
    assert told[-1] == ("done", 1.0) and ("done", 1.0) not in told[:-1]


def test_false_of_numpy_ends_the_search():
    plan = rankwright.place("nas:cg.A.16", "paper:2013", progress=lambda stage, done: np.float64(done) > 2)
    assert plan.stopped


@pytest.mark.parametrize("answer", [None, 0, "", 0.0, True, np.True_, np.zeros(2)])
def test_only_false_ends_the_search(answer):
    plan = rankwright.place(
        "nas:cg.A.16", "paper:2013", strategies="blocked", progress=lambda stage, done: answer
    )
    assert not plan.stopped


def test_an_exception_of_a_progress_function_comes_back():
    def fails(stage, done):
        raise KeyError(stage)

    with pytest.raises(KeyError, match="strategy 1"):
        rankwright.place("nas:cg.A.16", "paper:2013", progress=fails)
    with pytest.raises(InputError, match="progress: found 3, expected a function"):
        rankwright.place("nas:cg.A.16", "paper:2013", progress=3)


INTERRUPTED = """
import os, signal, sys, rankwright
begun = []
def progress(stage, done):
    if not begun:
        begun.append(stage)
        os.kill(os.getpid(), signal.SIGINT)
try:
    plan = rankwright.place("nas:cg.C.256", "paper:2013", effort="best", threads=1, progress=progress,
                            keep_best={keep!r})
    print("kept", plan.stopped, len(plan.placement.rows()))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("keep", "says"), [(False, "interrupted"), (True, "kept True 256")])
def test_ctrl_c_ends_the_search(keep, says):
    script = INTERRUPTED.format(keep=keep)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() == says, done.stderr


def test_other_threads_run_meanwhile():
    seen = []
    end = threading.Event()

    def counts():
        while not end.wait(0.001):
            seen.append(None)

    thread = threading.Thread(target=counts)
    thread.start()
    try:
        # Without the release of the lock the other thread would not get to run at all.
        before = len(seen)
        rankwright.place("nas:cg.A.64", "paper:2013", threads=1, strategies=["multisection", "kway"])
        assert len(seen) > before
    finally:
        end.set()
        thread.join()


def test_several_threads_may_place_at_once():
    results = {}

    def places(number):
        results[number] = rankwright.map_("nas:cg.A.16", "paper:2013", "kway").placement.text

    threads = [threading.Thread(target=places, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and len(set(results.values())) == 1


WITHOUT_FRAMES = """
import sys
sys.modules["pandas"] = sys.modules["polars"] = None
import rankwright
workload = rankwright.Workload("pattern:ring:4")
print(workload.arrays()["source"].tolist(), workload.comm_matrix().shape)
try:
    workload.pairs
except rankwright.Error as error:
    print(error)
"""


def test_without_pandas_there_are_arrays_and_a_way_out():
    done = subprocess.run([sys.executable, "-c", WITHOUT_FRAMES], capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert first == "[0, 1, 2, 3] (4, 4)"
    assert "`pip install pandas`" in second and "arrays(..)" in second


def test_frames_are_of_the_library_that_is_chosen():
    polars = pytest.importorskip("polars")
    workload = rankwright.Workload("pattern:ring:4")
    try:
        rankwright.use_frames("polars")
        frame = workload.pairs
        assert isinstance(frame, polars.DataFrame) and frame["source"].to_list() == [0, 1, 2, 3]
        assert rankwright.strategies()["usual"].dtype == polars.Boolean
        plan = rankwright.place("nas:cg.A.16", "paper:2013", strategies=["blocked", "cyclic"])
        assert plan.ranking["strategy"][0] == plan.best
        with pytest.raises(InputError, match="found `arrow`, expected one of pandas, polars"):
            rankwright.use_frames("arrow")
    finally:
        rankwright.use_frames(None)


def test_tables_are_arrow_data():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(rankwright.Workload("pattern:ring:4").table())
    assert table.columns == ["job", "source", "destination", "messages", "bytes", "largest"]
    assert table["destination"].to_list() == [1, 2, 3, 0]
    assert table.schema["bytes"] == polars.Int64 and table.schema["job"] == polars.String
    assert polars.Schema(rankwright.Workload("pattern:ring:4").table()) == table.schema


def test_objects_of_another_version_are_refused():
    workload = rankwright.Workload.from_matrix(np.array([[0, 1], [1, 0]]))
    plan = rankwright.map_(workload, "paper:2013", "blocked")
    for thing in (workload, plan, plan.cluster):
        old = pickle.dumps(thing).replace(rankwright.__version__.encode(), b"0.0.9")
        with pytest.raises(Error, match="was pickled by rankwright 0.0.9, here is "):
            pickle.loads(old)


def test_tracing_from_within_says_how_to_record():
    with pytest.raises(Error, match="rankwright profile -o app.rwp -- mpirun"):
        with rankwright.trace("app.rwp"):
            pass


def test_no_mpi_is_needed_to_plan():
    environment = {"PATH": str(pathlib.Path(sys.executable).parent)}
    script = 'import rankwright; print(rankwright.place("pattern:ring:4", "paper:2013").best)'
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_relative_files_are_found_by_a_worker_in_another_folder(tmp_path, monkeypatch):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "a"\nprocesses = 4\npattern = "ring"\nlength = "1 kB"\n'
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b,c.toml").write_text((tmp_path / "jobs.toml").read_text().replace('"a"', '"b"'))
    names = ["jobs.toml", "b,c.toml", "jobs.toml,pattern:ring:4:messages=2,length=1 kB"]
    pickled = [pickle.dumps(rankwright.Workload(name)) for name in names]
    monkeypatch.chdir(os.sep)
    found = [pickle.loads(text).jobs for text in pickled]
    assert found == [{"a": 4}, {"b": 4}, {"a": 4, "ring-4": 4}]


def test_signals_reach_their_handlers():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
