"""Matrices and graphs as traffic, and what is refused."""

import numpy as np
import pytest

import rankwright
from rankwright import InputError, Workload

RING = np.array([[0, 8, 0], [0, 0, 5], [2, 0, 0]])


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "float64"])
def test_a_matrix_comes_back(dtype):
    workload = Workload.from_matrix(RING.astype(dtype))
    assert (workload.comm_matrix() == RING).all()
    assert (workload.comm_matrix("count") == (RING > 0)).all()


def test_sparse_matrices_are_taken_and_given():
    sparse = pytest.importorskip("scipy.sparse")
    for kind in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
        workload = Workload.from_matrix(kind(RING))
        assert (workload.comm_matrix(sparse=True).toarray() == RING).all()


def test_messages_have_a_matrix_of_their_own():
    workload = Workload.from_matrix(RING, messages=RING * 2)
    assert (workload.comm_matrix("count") == RING * 2).all()
    assert workload.arrays()["largest"].tolist() == [1, 1, 1]
    with pytest.raises(InputError, match=r"messages\[0, 1\]: found 0, expected at least 1 for 8 bytes"):
        Workload.from_matrix(RING, messages=np.zeros((3, 3)))
    with pytest.raises(InputError, match="messages: found a matrix of 2 x 2, expected 3 x 3"):
        Workload.from_matrix(RING, messages=np.zeros((2, 2)))


def test_graphs_are_directed_or_both_ways():
    networkx = pytest.importorskip("networkx")
    directed = networkx.DiGraph()
    directed.add_weighted_edges_from([(0, 1, 8), (1, 2, 5), (2, 0, 2)])
    assert (Workload.from_matrix(directed).comm_matrix() == RING).all()
    undirected = networkx.Graph()
    undirected.add_edge("a", "b", weight=3)
    assert Workload.from_matrix(undirected).comm_matrix().tolist() == [[0, 3], [3, 0]]
    assert rankwright.place(directed, "paper:2013", strategies="blocked").workload.ranks == 3
    undirected.add_edge("a", "c", weight="much")
    with pytest.raises(InputError, match="found weight 'much', expected bytes"):
        Workload.from_matrix(undirected)
    with pytest.raises(InputError, match="found no nodes"):
        Workload.from_matrix(networkx.Graph())


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (np.zeros((2, 3)), "found 2 x 3, expected a square matrix"),
        (np.zeros(4), "found 4, expected a square matrix"),
        (np.zeros((2, 2, 2)), "found 2 x 2 x 2, expected a square matrix"),
        (np.zeros((0, 0)), "found a matrix of 0 x 0, expected at least one rank"),
        (np.array([[0, -1], [0, 0]]), r"the traffic\[0, 1\]: found -1, expected a number from 0"),
        (np.array([[0, np.nan], [0, 0]]), "found nan, expected a finite number"),
        (np.array([[0, np.inf], [0, 0]]), "found inf, expected a finite number"),
        (np.array([[0, 0.5], [0, 0]]), "found 0.5, expected a whole number; scale weights to bytes"),
        (np.array([[0, 2.0**63], [0, 0]]), "expected at most 9223372036854775807"),
        (np.array([[0, 2**64 - 1], [0, 0]], dtype="uint64"), "expected at most"),
        (np.array([["0", "1"], ["1", "0"]]), "found values of type <U1, expected whole"),
        (np.array([[0, 1j], [0, 0]]), "found values of type complex128"),
        (np.array([[None, 1], [1, 0]], dtype=object), "found values of type object"),
        (np.array([[True, False], [False, True]]), "found values of type bool"),
    ],
)
def test_what_is_no_traffic_is_refused(matrix, says):
    with pytest.raises(InputError, match=says):
        Workload.from_matrix(matrix)
    with pytest.raises(InputError, match=says):
        rankwright.place(matrix, "paper:2013")


def test_a_traffic_matrix_is_placed():
    blocks = np.kron(np.array([[0, 1], [1, 0]]), np.ones((4, 4), dtype=int)) * 1000
    plan = rankwright.place(blocks, "synthetic:package:1 core:4 pu:1", nodes=2, threads=1)
    assert plan.by == "static" and plan.workload.ranks == 8
    assert plan.rows()[0]["inter_node_bytes"] < blocks.sum()


def test_a_list_of_lists_is_a_matrix_and_a_list_of_names_several_jobs():
    assert rankwright.place(RING.tolist(), "paper:2013", strategies="blocked").workload.ranks == 3
    both = rankwright.place([RING, "pattern:ring:4"], "paper:2013", strategies="blocked").workload
    assert both.jobs == {"traffic": 3, "ring-4": 4} and both.comm_matrix()[3, 4] > 0


def test_other_values_are_no_workload():
    for wrong in (rankwright.open, rankwright.Workload, rankwright.Cluster):
        with pytest.raises(InputError, match="found 3, expected a name or a path"):
            wrong(3)
    with pytest.raises(InputError, match="the workload: found int, expected a name"):
        rankwright.place(7, "paper:2013")
    with pytest.raises(InputError, match="the cluster: found NoneType, expected a name"):
        rankwright.place(RING, None)
    with pytest.raises(InputError, match="output: found `bytes`, expected `size` or `count`"):
        Workload.from_matrix(RING).comm_matrix("bytes")


def test_traffic_is_a_graph_with_bytes_and_messages():
    networkx = pytest.importorskip("networkx")
    graph = Workload.from_matrix(RING, messages=RING * 2).to_networkx()
    assert isinstance(graph, networkx.DiGraph) and sorted(graph.nodes) == [0, 1, 2]
    assert graph.edges[0, 1] == {"weight": 8, "messages": 16}
    assert (Workload.from_matrix(graph).comm_matrix() == RING).all()
    assert (Workload.from_matrix(graph).comm_matrix("count") == RING * 2).all()
    assert (Workload.from_matrix(graph, RING).comm_matrix("count") == RING).all()
    both = Workload("nas:ep.A.4,pattern:ring:4").to_networkx()
    assert len(both) == 8 and both.has_edge(4, 5) and not both.has_edge(3, 4)


def test_graphs_may_have_messages():
    networkx = pytest.importorskip("networkx")
    ring = Workload("pattern:ring:4:messages=3")
    again = rankwright.place(ring.to_networkx(), "paper:2013", strategies="blocked").workload
    assert (again.comm_matrix("count") == ring.comm_matrix("count")).all()
    graph = networkx.Graph()
    graph.add_edge(0, 1, weight=8, messages=2)
    graph.add_edge(1, 2, weight=5)
    graph.add_edge(0, 2, weight=0)
    count = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    assert Workload.from_matrix(graph).comm_matrix("count").tolist() == count
    for wrong, says in [
        ("two", "edge 0 - 1: found messages 'two', expected a number"),
        (0.5, r"messages\[0, 1\]: found 0.5, expected a whole number"),
        (0, r"messages\[0, 1\]: found 0, expected at least 1 for 8 bytes"),
    ]:
        graph.edges[0, 1]["messages"] = wrong
        with pytest.raises(InputError, match=says):
            Workload.from_matrix(graph)


def test_traffic_is_an_array_with_names():
    pytest.importorskip("xarray", reason="SKIPPED: no xarray")
    array = Workload.from_matrix(RING).to_xarray()
    assert array.dims == ("source", "destination") and (array.values == RING).all()
    assert int(array.sel(source=1, destination=2)) == 5
    assert (array.name, array.attrs["units"]) == ("bytes", "B")
    messages = Workload.from_matrix(RING).to_xarray("count")
    assert messages.name == "messages" and int(messages.sum()) == 3


def test_what_is_not_installed_is_named(monkeypatch):
    import sys

    for library in ("xarray", "networkx"):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(rankwright.Error, match=f"{library}, which is not installed"):
            getattr(Workload.from_matrix(RING), f"to_{library}")()
