"""Workloads: which ranks send how much to whom, and when."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from . import _native
from ._arguments import known, name_of, restored
from ._arrays import amounts_column, flows_of, graph_of, is_matrix, labelled_matrix, matrix_of
from ._errors import InputError
from ._frames import Frame, arrays_of, frame

if TYPE_CHECKING:
    from ._profiles import Profile

#: What is accepted as a workload; a sequence is several jobs that run at the same time.
WorkloadLike: TypeAlias = "str | os.PathLike[str] | Workload | Profile | Any | Sequence[Any]"


class Traffic:
    """What workloads and profiles have in common."""

    def comm_matrix(self, output: str = "size", sparse: bool = False) -> Any:
        """The traffic matrix, of shape (ranks, ranks): a row per sender, a column per receiver."""
        raise NotImplementedError

    def _flows(self) -> tuple[int, dict[str, np.ndarray[Any, Any]]]:
        """The number of ranks; ``source``, ``destination``, ``messages`` and ``bytes`` of each pair."""
        raise NotImplementedError

    def to_xarray(self, output: str = "size") -> Any:
        """The traffic matrix as an ``xarray.DataArray`` with the dimensions ``source`` and ``destination``.

        Args:
            output: ``"size"``: bytes; ``"count"``: messages.

        Raises:
            Error: xarray is not installed.
        """
        return labelled_matrix(self.comm_matrix(output), output)

    def to_networkx(self) -> Any:
        """The traffic as a ``networkx.DiGraph``: a node per rank, an edge per pair that communicates.

        Edges have bytes as ``weight`` and the number of ``messages``; :func:`place` takes such a graph.

        Raises:
            Error: networkx is not installed.
        """
        return graph_of(*self._flows())

    def table(self, name: str) -> _native.Table:
        """The table of this name, for libraries that read Arrow data (``__arrow_c_stream__``)."""
        raise NotImplementedError

    def arrays(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """The table of this name as NumPy arrays of one dimension, by column; needs no other package."""
        return arrays_of(self.table(name))


class Workload(Traffic):
    """Jobs that run at the same time: which ranks send how much to whom, and when.

    Args:
        name: A profile (``app.rwp``), a ``jobs.toml``, traffic of another tool, or a name such as
            ``pattern:halo-2d:64``, ``nas:cg.B.32`` or ``paper:2013/mixed-1``; several with commas between.

    Raises:
        InputError: There is no such workload, or its file is wrong.

    >>> workload = Workload("pattern:ring:4:messages=3")
    >>> workload.comm_matrix("count")[0].tolist()
    [0, 3, 0, 0]
    """

    _handle: _native.Workload

    def __init__(self, name: str | os.PathLike[str]) -> None:
        source = name_of(name, "the workload")
        self._handle = _native.Workload.open(source)
        names = tuple(map(_absolute, _native.names_of(source)))
        self._state: tuple[Any, ...] = (Workload._of_names, names)

    @classmethod
    def _of_names(cls, *names: str) -> Workload:
        return cls(names[0]) if len(names) == 1 else cls.together(names)

    @classmethod
    def from_matrix(cls, size: Any, messages: Any = None, *, name: str = "traffic") -> Workload:
        """One job of a traffic matrix.

        Args:
            size: Bytes from each sender (row) to each receiver (column), of shape (ranks, ranks): a NumPy
                array, a SciPy sparse matrix or array, or a networkx graph whose edges have bytes as ``weight``
                (of an undirected edge, each way), and may have the number of ``messages``. Nodes 0..n-1 are
                ranks, others are numbered in their order.
            messages: The number of messages of each pair, of the same shape; by default one, or what the edges
                of a graph have.
            name: The name of the job.

        Raises:
            InputError: It is not square, or a value is negative, not finite or not whole.

        There is no message timing: placements are compared by bytes.

        >>> import numpy as np
        >>> Workload.from_matrix(np.array([[0, 8], [4, 0]])).ranks
        2
        """
        ranks, pairs, amounts = flows_of(size, messages)
        return cls._of_flows(name, ranks, pairs, amounts)

    @classmethod
    def _of_flows(cls, name: str, ranks: int, pairs: Any, amounts: Any) -> Workload:
        workload = cls.__new__(cls)
        workload._handle = _native.Workload.of_flows(name, ranks, pairs, amounts)
        workload._state = (Workload._of_flows, (name, ranks, pairs, amounts))
        return workload

    @classmethod
    def together(cls, workloads: Sequence[WorkloadLike], *, name: str | None = None) -> Workload:
        """The jobs of several workloads, which run at the same time; ``name``: by default those of the jobs.

        >>> Workload.together(["nas:cg.A.16", "nas:ep.A.4"]).jobs
        {'cg.A.16': 16, 'ep.A.4': 4}
        """
        parts = [workload_of(workload) for workload in workloads]
        if not parts:
            raise InputError("the workloads: found none, expected at least one")
        workload = cls.__new__(cls)
        workload._handle = _native.Workload.together(name, [part._handle for part in parts])
        workload._state = (Workload._of_parts, (name, parts))
        return workload

    @classmethod
    def _of_parts(cls, name: str, parts: Sequence[Workload]) -> Workload:
        return cls.together(parts, name=name)

    @property
    def name(self) -> str:
        """Its name."""
        return self._handle.name

    @property
    def jobs(self) -> dict[str, int]:
        """The number of ranks of each job, by name."""
        return dict(self._handle.jobs)

    @property
    def ranks(self) -> int:
        """The number of ranks of all jobs."""
        return sum(ranks for _, ranks in self._handle.jobs)

    @property
    def is_timed(self) -> bool:
        """Whether message timing is known, so that times can be predicted."""
        return self._handle.is_timed

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of the traffic, as in ``placement.json``."""
        return self._handle.digest

    @property
    def summary(self) -> dict[str, Any]:
        """Bytes, messages and how each job sends."""
        return cast("dict[str, Any]", json.loads(self._handle.summary()))

    @property
    def pairs(self) -> Frame:
        """A row per job and pair of ranks: ``job, source, destination, messages, bytes, largest``."""
        return frame(self._handle.pairs())

    def table(self, name: str = "pairs") -> _native.Table:
        """The table ``pairs``, for libraries that read Arrow data (``__arrow_c_stream__``)."""
        known("table", name, ("pairs",))
        return self._handle.pairs()

    def arrays(self, name: str = "pairs") -> dict[str, np.ndarray[Any, Any]]:
        """The columns of ``pairs`` as NumPy arrays of one dimension."""
        return super().arrays(name)

    def comm_matrix(self, output: str = "size", sparse: bool = False) -> Any:
        """The traffic matrix, of shape (ranks, ranks): a row per sender, a column per receiver.

        Args:
            output: ``"size"``: bytes; ``"count"``: messages.
            sparse: A SciPy CSR array instead of a NumPy array.

        The ranks of a second job follow those of the first.
        """
        column = amounts_column(output)
        ranks, flows = self._flows()
        return matrix_of(ranks, flows["source"], flows["destination"], flows[column], sparse)

    def _flows(self) -> tuple[int, dict[str, np.ndarray[Any, Any]]]:
        arrays = self.arrays()
        offsets, first = {}, 0
        for job, ranks in self._handle.jobs:
            offsets[job], first = first, first + ranks
        offset = np.array([offsets[job] for job in arrays["job"]], dtype=np.int64)
        for end in ("source", "destination"):
            arrays[end] = arrays[end] + offset
        return first, arrays

    def __repr__(self) -> str:
        return f"<Workload {self.name!r}: {len(self._handle.jobs)} jobs, {self.ranks} ranks>"

    def __reduce__(self) -> tuple[Any, ...]:
        maker, state = self._state
        return restored, (maker, _native.VERSION, state, self.digest)


def workload_of(workload: WorkloadLike) -> Workload:
    """The workload that a user named or gave."""
    from ._profiles import Profile

    if isinstance(workload, Workload):
        return workload
    if isinstance(workload, Profile):
        return workload.workload()
    if isinstance(workload, (str, os.PathLike)):
        return Workload(workload)
    if is_matrix(workload):
        return Workload.from_matrix(workload)
    if isinstance(workload, Sequence):
        if workload and all(isinstance(part, (list, tuple)) for part in workload):
            return Workload.from_matrix(workload)
        parts = [workload_of(part) for part in workload]
        return parts[0] if len(parts) == 1 else Workload.together(parts)
    raise InputError(
        f"the workload: found {type(workload).__name__}, expected a name, a path, a rankwright.Workload or "
        "Profile, a NumPy array, a SciPy sparse matrix, a networkx graph, or a list of these"
    )


def _absolute(name: str) -> str:
    """The path of a file as an absolute one, so that it means the same in another folder."""
    return os.path.abspath(name) if os.path.exists(name) else name
