"""Profiles: recorded runs as frames and matrices."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from . import _native
from ._arguments import count, known, name_of, restored
from ._arrays import amounts_column, graph_of, labelled_matrix, matrix_of
from ._errors import Error
from ._frames import Frame, arrays_of, columns_of_rows, frame
from ._workloads import Traffic, Workload


class Profile(Traffic):
    """A recorded run: who sent what to whom and when, and how long ranks were in MPI.

    Frames are pandas' or polars', whichever is installed (:func:`use_frames`).
    """

    _handle: _native.Profile
    #: The names of the tables.
    TABLES = ("pairs", "calls", "ranks", "messages", "timeline")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(name_of(path, "the profile"))
        self._handle = _native.Profile.open(str(self.path))

    @property
    def pairs(self) -> Frame:
        """A row per pair of ranks and kind of call.

        ``source, destination, kind`` (point_to_point, put, get), ``messages, bytes, largest`` (bytes),
        ``first_s, last_s`` (seconds since MPI started), ``gap_mean_s``, ``gap_cv`` (gaps between sends).
        """
        return frame(self.table("pairs"))

    @property
    def calls(self) -> Frame:
        """Collective calls: a row per rank, communicator, operation, form and root.

        ``rank, communicator, operation, form, root`` (-1: none or unknown), ``calls, bytes`` (contributed by the
        rank), ``time_s`` (inside the calls), ``first_s, last_s``.
        """
        return frame(self.table("calls"))

    @property
    def ranks(self) -> Frame:
        """A row per rank.

        ``rank, host, pus`` (affinity, P#), ``ended, wall_s, mpi_s``, calls and seconds of each class of calls,
        ``waited_for_pu_s, processor_s, peak_memory_bytes``; unknown times are NaN.
        """
        return frame(self.table("ranks"))

    @property
    def messages(self) -> Frame:
        """The messages in order of time: ``time_s, source, destination, bytes``.

        Those of collective operations are included. Needs a run recorded with ``profile --events``.
        """
        return frame(self.table("messages"))

    @property
    def timeline(self) -> Frame:
        """How network devices are used in 100 bins of time: a row per device and bin.

        ``time_s, node, device, bytes_out, bytes_in``. Needs a run recorded with ``profile --events``.
        """
        return frame(_timeline_rows(self.timeline_report()))

    def timeline_report(self, bins: int = 100) -> dict[str, Any]:
        """The time line as ``rankwright timeline --format json`` has it, with this number of bins.

        Raises:
            InfeasibleError: The calls of the run were not recorded in order.
        """
        bins = count("bins", bins) or 1
        return cast("dict[str, Any]", json.loads(self._handle.timeline(bins)))

    def table(self, name: str) -> Any:
        """A table by name (:attr:`TABLES`), for libraries that read Arrow data (``__arrow_c_stream__``).

        That of ``timeline`` is a dictionary of lists.
        """
        known("table", name, self.TABLES)
        if name == "timeline":
            return _timeline_rows(self.timeline_report())
        if name == "messages":
            return self._handle.messages()[0]
        return getattr(self._handle, name)()

    @property
    def summary(self) -> dict[str, Any]:
        """Facts of the whole run, as ``rankwright traffic show --format json`` prints them."""
        summary, triage = json.loads(self._handle.summary(10))
        return {**summary, "triage": triage}

    def comm_matrix(
        self, output: str = "size", sparse: bool = False, *, collectives: str = "none"
    ) -> Any:
        """The traffic matrix, of shape (ranks, ranks): a row per sender, a column per receiver.

        Args:
            output: ``"size"``: bytes; ``"count"``: messages.
            sparse: A SciPy CSR array instead of a NumPy array.
            collectives: Adds collective calls as the messages of an algorithm: ``none``, ``default``,
                ``linear``, ``binomial``, ``ring`` or ``library``.
        """
        column = amounts_column(output)
        ranks, flows = self._flows(collectives)
        return matrix_of(ranks, flows["source"], flows["destination"], flows[column], sparse)

    def to_xarray(self, output: str = "size", *, collectives: str = "none") -> Any:
        """The traffic matrix as an ``xarray.DataArray`` with the dimensions ``source`` and ``destination``.

        Args:
            output: ``"size"``: bytes; ``"count"``: messages.
            collectives: As for :meth:`comm_matrix`.

        Raises:
            Error: xarray is not installed.
        """
        return labelled_matrix(self.comm_matrix(output, collectives=collectives), output)

    def to_networkx(self, *, collectives: str = "none") -> Any:
        """The traffic as a ``networkx.DiGraph``: a node per rank, an edge per pair that communicates.

        Edges have bytes as ``weight`` and the number of ``messages``; :func:`place` takes such a graph.

        Args:
            collectives: As for :meth:`comm_matrix`.

        Raises:
            Error: networkx is not installed.
        """
        return graph_of(*self._flows(collectives))

    def _flows(self, collectives: str = "none") -> tuple[int, dict[str, np.ndarray[Any, Any]]]:
        flows = arrays_of(self._handle.pairs_with_collectives(collectives))
        return self._handle.ranks_count, flows

    def comm_over_time(
        self, output: str = "size", bins: int = 50
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """What is sent over time.

        Args:
            output: ``"size"``: bytes; ``"count"``: messages.
            bins: The number of bins of equal width.

        Returns:
            The amount of each bin, of shape (bins,), and the edges in seconds, of shape (bins + 1,).

        Raises:
            InfeasibleError: The calls of the run were not recorded in order.
        """
        column = amounts_column(output)
        bins = count("bins", bins) or 1
        table, span = self._handle.messages()
        messages = arrays_of(table)
        weights = messages["bytes"] if column == "bytes" else np.ones(len(table), dtype=np.int64)
        last = float(messages["time_s"].max()) if len(table) else 0.0
        edges = np.linspace(0.0, max(span, last, 1e-9), bins + 1)
        place = np.clip(np.searchsorted(edges, messages["time_s"], side="right") - 1, 0, bins - 1)
        amounts = np.zeros(bins, dtype=np.int64)
        np.add.at(amounts, place, weights)
        return amounts, edges

    def workload(self) -> Workload:
        """The job that ran, to place or simulate it."""
        return Workload(self.path)

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of its traffic."""
        return self.workload().digest

    def _repr_html_(self) -> str:
        from ._pictures import profile_html

        return profile_html(self)

    def __repr__(self) -> str:
        return f"<Profile {os.fspath(self.path)!r}: {self._handle.ranks_count} ranks>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (Profile, _native.VERSION, (self.path.absolute(),), self.digest)


def _timeline_rows(report: dict[str, Any]) -> dict[str, list[Any]]:
    rows = [
        {
            "time_s": report["bin_s"] * number,
            "node": device["node"],
            "device": device["device"],
            "bytes_out": out,
            "bytes_in": into,
        }
        for device in report["devices"]
        for number, (out, into) in enumerate(
            zip(device["bytes_out"], device["bytes_in"], strict=True)
        )
    ]
    names = ("time_s", "node", "device", "bytes_out", "bytes_in")
    return columns_of_rows(rows) if rows else {name: [] for name in names}


def open_profile(path: str | os.PathLike[str]) -> Profile:
    """Opens a profile: ``rankwright.open("app.rwp")``.

    Args:
        path: What ``rankwright profile`` wrote, or a run in a format that ``rankwright traffic import`` reads.

    Raises:
        InputError: It cannot be read.
    """
    return Profile(path)


def trace(*_: object, **__: object) -> NoReturn:
    """Not possible: raises an error that says how to record a run.

    The tracer takes the place of MPI's functions through the profiling interface (PMPI). The dynamic linker
    decides which function a call reaches when ``mpi4py.MPI`` is loaded, which also starts MPI. A context manager
    inside the program comes after both.

    Raises:
        Error: Always.
    """
    raise Error(
        "a run cannot be recorded from within the program: the calls of MPI are bound when mpi4py is imported, "
        "before this. Start it under the tracer: `rankwright profile -o app.rwp -- mpirun -n 4 python app.py`, "
        'then `rankwright.open("app.rwp")`; `--events` also records when'
    )
