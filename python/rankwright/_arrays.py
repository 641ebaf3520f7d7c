"""Traffic matrices: from flows, and from the matrices and graphs of users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ._errors import Error, InputError

Array: TypeAlias = np.ndarray[Any, Any]

#: The largest amount that is held exactly.
_LARGEST = 2**63 - 1


def matrix_of(
    ranks: int, source: Array, destination: Array, values: Array, sparse: bool
) -> Any:
    """A matrix with a row per sender and a column per receiver; amounts of the same pair are added up."""
    if sparse:
        try:
            from scipy.sparse import coo_array
        except ImportError:
            raise Error("sparse=True needs SciPy, which is not installed: `pip install scipy`") from None
        whole = coo_array((values, (source, destination)), shape=(ranks, ranks)).tocsr()
        whole.sum_duplicates()
        return whole
    try:
        matrix = np.zeros((ranks, ranks), dtype=np.int64)
    except MemoryError:
        raise Error(
            f"a dense matrix of {ranks} x {ranks} does not fit into memory: use sparse=True"
        ) from None
    np.add.at(matrix, (source, destination), values)
    return matrix


def amounts_column(output: str) -> str:
    """The column that ``output`` names as in Pipit: ``size`` or ``count``."""
    try:
        return {"size": "bytes", "count": "messages"}[output]
    except (KeyError, TypeError):
        raise InputError(f"output: found `{output}`, expected `size` or `count`") from None


def labelled_matrix(matrix: Array, output: str) -> Any:
    """A traffic matrix as an ``xarray.DataArray``."""
    try:
        import xarray
    except ImportError:
        raise Error("to_xarray() needs xarray, which is not installed: `pip install xarray`") from None
    ranks = np.arange(len(matrix))
    name, units = ("bytes", "B") if output == "size" else ("messages", "1")
    return xarray.DataArray(
        matrix,
        dims=("source", "destination"),
        coords={"source": ranks, "destination": ranks},
        name=name,
        attrs={"long_name": f"{name} from each rank to each rank", "units": units},
    )


def graph_of(ranks: int, flows: dict[str, Array]) -> Any:
    """Pairs of ranks as a ``networkx.DiGraph``; amounts of the same pair are added up."""
    try:
        import networkx
    except ImportError:
        raise Error("to_networkx() needs networkx, which is not installed: `pip install networkx`") from None
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(ranks))
    columns = (flows[name].tolist() for name in ("source", "destination", "bytes", "messages"))
    for source, destination, size, messages in zip(*columns, strict=True):
        known = graph.get_edge_data(source, destination) or {"weight": 0, "messages": 0}
        graph.add_edge(
            source,
            destination,
            weight=known["weight"] + size,
            messages=known["messages"] + messages,
        )
    return graph


def is_matrix(traffic: object) -> bool:
    """Whether a value is a NumPy array, a SciPy sparse matrix or array, or a networkx graph."""
    return isinstance(traffic, np.ndarray) or hasattr(traffic, "tocoo") or _is_graph(traffic)


def _is_graph(traffic: object) -> bool:
    return all(hasattr(traffic, name) for name in ("nodes", "edges", "is_directed", "adj"))


def flows_of(
    traffic: Any, messages: Any = None
) -> tuple[int, tuple[Array, Array], tuple[Array, Array, Array]]:
    """The number of ranks, sources and destinations, and messages, bytes and largest message of each pair."""
    ranks, source, destination, size = _entries(traffic, "the traffic")
    counted = _messages_of_graph(traffic) if messages is None else _entries(messages, "messages")
    if counted is None:
        count = np.ones_like(size)
    else:
        others, row, column, of_pair = counted
        if others != ranks:
            raise InputError(
                f"messages: found a matrix of {others} x {others}, expected {ranks} x {ranks} as of the bytes"
            )
        # Over all pairs that either matrix has.
        keys = np.concatenate([source * ranks + destination, row * ranks + column])
        unique, back = np.unique(keys, return_inverse=True)
        both = np.zeros((2, len(unique)), dtype=np.int64)
        both[0, back[: len(size)]] = size
        both[1, back[len(size) :]] = of_pair
        source, destination = np.divmod(unique, ranks)
        size, count = both
        if (without := (size > 0) & (count == 0)).any():
            at = int(np.argmax(without))
            raise InputError(
                f"messages[{source[at]}, {destination[at]}]: found 0, expected at least 1 for "
                f"{size[at]} bytes"
            )
    kept = (size > 0) if counted is None else (count > 0)
    source, destination, size, count = (part[kept] for part in (source, destination, size, count))
    largest = -(-size // np.maximum(count, 1))
    return ranks, (source, destination), (count, size, largest)


def _entries(traffic: Any, name: str) -> tuple[int, Array, Array, Array]:
    """The number of ranks, and row, column and checked value of each entry."""
    if _is_graph(traffic):
        return _of_graph(traffic, "weight", "bytes", lambda data: 1)
    if hasattr(traffic, "tocoo"):
        coordinates = traffic.tocoo()
        _check_shape(coordinates.shape, name)
        coordinates.sum_duplicates()
        row, column = coordinates.row.astype(np.int64), coordinates.col.astype(np.int64)
        return coordinates.shape[0], row, column, _whole(coordinates.data, row, column, name)
    try:
        matrix = np.asarray(traffic)
    except ValueError:
        raise InputError(f"{name}: found rows of different lengths, expected a square matrix") from None
    _check_shape(matrix.shape, name)
    if matrix.dtype.kind not in "iuf":
        _whole(matrix.ravel()[:1], np.zeros(1), np.zeros(1), name)
    row, column = (part.astype(np.int64) for part in np.nonzero(matrix))
    return matrix.shape[0], row, column, _whole(matrix[row, column], row, column, name)


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        found = " x ".join(map(str, shape)) or "a single value"
        raise InputError(
            f"{name}: found {found}, expected a square matrix: a row per sender, a column per receiver"
        )
    if shape[0] == 0:
        raise InputError(f"{name}: found a matrix of 0 x 0, expected at least one rank")


def _whole(values: Array, row: Array, column: Array, name: str) -> Array:
    """The values as whole numbers, or an error that names the first that is none."""
    if values.dtype.kind not in "iuf":
        raise InputError(
            f"{name}: found values of type {values.dtype}, expected whole or floating-point numbers"
        )

    def refuse(wrong: Array, expected: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(
                f"{name}[{row[at]}, {column[at]}]: found {values[at]}, expected {expected}"
            )

    if values.dtype.kind == "f":
        refuse(~np.isfinite(values), "a finite number")
    refuse(values < 0, "a number from 0")
    refuse(values > _LARGEST, f"at most {_LARGEST}")
    if values.dtype.kind == "f":
        refuse(values != np.floor(values), "a whole number; scale weights to bytes")
        # The largest float below 2**63 is far below it, but 2**63 itself passes the comparison above.
        refuse(values >= float(2**63), f"at most {_LARGEST}")
    return values.astype(np.int64)


def _messages_of_graph(traffic: Any) -> tuple[int, Array, Array, Array] | None:
    """The ``messages`` of the edges of a networkx graph, if any edge has them: of another, one if it has bytes."""
    if not _is_graph(traffic) or all("messages" not in data for *_, data in traffic.edges(data=True)):
        return None
    return _of_graph(traffic, "messages", "a number", lambda data: int(data.get("weight", 1) > 0))


def _of_graph(
    graph: Any, name: str, expected: str, default: Callable[[dict[str, Any]], int]
) -> tuple[int, Array, Array, Array]:
    """An amount of the edges of a networkx graph, of an undirected edge each way."""
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError("the graph: found no nodes, expected a node per rank")
    numbered = set(nodes) == set(range(len(nodes)))
    rank_of = {node: node if numbered else number for number, node in enumerate(nodes)}
    rows: dict[tuple[int, int], float] = {}
    for start, end, data in graph.edges(data=True):
        amount = data.get(name, default(data))
        if isinstance(amount, bool) or not isinstance(amount, (int, float, np.integer, np.floating)):
            raise InputError(f"edge {start!r} - {end!r}: found {name} {amount!r}, expected {expected}")
        ways = {(rank_of[start], rank_of[end])}
        if not graph.is_directed():
            ways.add((rank_of[end], rank_of[start]))
        for way in ways:
            rows[way] = rows.get(way, 0) + amount
    places = np.array(list(rows), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(rows.values()) or [0])[: len(rows)]
    return len(nodes), places[:, 0], places[:, 1], _whole(values, places[:, 0], places[:, 1], name)
