"""Profiles: the numbers are those of the command line."""

import csv
import io
import json
import pickle

import numpy as np
import pytest

import rankwright

from conftest import run

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def profile(recorded):
    return rankwright.open(recorded)


def test_the_summary_is_that_of_traffic_show(profile, recorded, program):
    printed = json.loads(run(program, "-q", "traffic", "show", recorded, "--format", "json"))
    printed.pop("sending", None)
    assert profile.summary == printed


def test_pairs_and_matrix_are_those_of_traffic_export(profile, recorded, program, tmp_path):
    out = tmp_path / "pairs.csv"
    run(program, "-q", "traffic", "export", recorded, "--format", "csv", "-o", out)
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    size, count = profile.comm_matrix(), profile.comm_matrix("count")
    assert rows and size.shape == (4, 4)
    for row in rows:
        at = int(row["source"]), int(row["destination"])
        assert (size[at], count[at]) == (int(row["bytes"]), int(row["messages"]))
    assert size.sum() - np.trace(size) == sum(int(row["bytes"]) for row in rows)
    assert profile.pairs["bytes"].sum() == size.sum()


def test_the_sparse_matrix_is_the_dense_one(profile):
    pytest.importorskip("scipy")
    assert (profile.comm_matrix(sparse=True).toarray() == profile.comm_matrix()).all()


def test_collectives_add_messages(profile):
    assert profile.comm_matrix(collectives="linear").sum() > profile.comm_matrix().sum()
    with pytest.raises(rankwright.InputError, match="found `tree`, expected one of none, default"):
        profile.comm_matrix(collectives="tree")


def test_the_graph_has_the_edges_of_the_matrix(profile):
    pytest.importorskip("networkx")
    size = profile.comm_matrix(collectives="linear")
    graph = profile.to_networkx(collectives="linear")
    assert {(a, b): data["weight"] for a, b, data in graph.edges(data=True) if data["weight"]} == {
        (int(a), int(b)): int(size[a, b]) for a, b in zip(*np.nonzero(size))
    }


def test_calls_and_ranks_have_a_row_each(profile):
    assert set(profile.calls["operation"]) <= {"Allreduce", "Bcast", "Barrier", "Reduce", "Gather"}
    ranks = profile.ranks
    assert list(ranks["rank"]) == [0, 1, 2, 3] and (ranks["wall_s"] > 0).all()
    classes = [f"{name}_s" for name in ("point_to_point", "wait", "collective", "one_sided", "other")]
    assert np.allclose(ranks["mpi_s"], ranks[classes].sum(axis=1))


def test_what_is_sent_over_time_adds_up_to_all_messages(profile):
    amounts, edges = profile.comm_over_time(bins=7)
    assert amounts.shape == (7,) and edges.shape == (8,) and edges[0] == 0
    assert amounts.sum() == profile.messages["bytes"].sum()
    assert profile.comm_over_time("count", bins=3)[0].sum() == len(profile.messages)
    point_to_point = profile.comm_matrix("count").sum()
    assert len(profile.messages) >= point_to_point


def test_the_time_line_has_its_bins(profile):
    assert set(profile.timeline.columns) == {"time_s", "node", "device", "bytes_out", "bytes_in"}
    assert profile.timeline_report(bins=5)["ranks"] == 4


def test_arrays_need_no_frames(profile):
    for name in profile.TABLES:
        arrays = profile.arrays(name)
        assert all(isinstance(array, np.ndarray) for array in arrays.values())
        assert len({len(array) for array in arrays.values()}) == 1
    with pytest.raises(rankwright.InputError, match="found `edges`, expected one of pairs, calls"):
        profile.arrays("edges")


def test_a_profile_without_events_says_how_to_record_them(tmp_path, program):
    path = tmp_path / "ring.rwp"
    run(program, "-q", "traffic", "generate", "ring:4", "-o", path)
    profile = rankwright.open(path)
    assert profile.comm_matrix().shape == (4, 4)
    with pytest.raises(rankwright.InfeasibleError, match="profile --events"):
        profile.comm_over_time()


def test_a_changed_file_is_noticed_when_it_is_unpickled(tmp_path, program):
    path = tmp_path / "app.rwp"
    run(program, "-q", "traffic", "generate", "ring:4", "-o", path)
    pickled = pickle.dumps(rankwright.open(path))
    assert pickle.loads(pickled).comm_matrix().shape == (4, 4)
    path.unlink()
    run(program, "-q", "traffic", "generate", "ring:5", "-o", path)
    with pytest.raises(rankwright.InputError, match="has changed since this Profile was pickled"):
        pickle.loads(pickled)


def test_a_damaged_profile_is_an_input_error_with_its_file(tmp_path):
    path = tmp_path / "broken.rwp"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 50)
    with pytest.raises(rankwright.InputError) as caught:
        rankwright.open(path)
    assert caught.value.file == str(path) and "expected" in str(caught.value)


def test_html_of_a_profile_has_no_markup_of_its_names(profile):
    assert "<table>" in profile._repr_html_() and "<script" not in profile._repr_html_()
