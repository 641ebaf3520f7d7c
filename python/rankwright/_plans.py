"""Placements: which rank runs where."""

from __future__ import annotations

import json
import os
import time as clock
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from . import _native
from ._arguments import read_text, settings_of, time_text, write_whole
from ._clusters import Cluster, ClusterLike, cluster_of
from ._errors import Error, InputError
from ._frames import Frame, columns_of_rows, frame
from ._jobs import BatchJob
from ._workloads import Workload, WorkloadLike, workload_of

#: Gets what is being done and the share of it that is done, from 0 to 1; ends the work if it returns False.
Progress: TypeAlias = Callable[[str, float], object]


class Placement:
    """Where each rank runs: the contents of a ``placement.json``.

    Args:
        text: The text of the file.

    >>> plan = map_("pattern:ring:4", "synthetic:package:1 core:4 pu:1", "blocked")
    >>> plan.placement.rows()[3]["cores"]
    '3'
    """

    def __init__(self, text: str) -> None:
        try:
            contents = json.loads(text)
            self.strategy = str(contents["strategy"])
            self._jobs: list[dict[str, Any]] = contents["jobs"]
            self._nodes: list[dict[str, Any]] = contents["nodes"]
        except (ValueError, KeyError, TypeError) as error:
            found = "text that is not JSON" if isinstance(error, ValueError) else "other contents"
            raise InputError(
                f"the placement: found {found}, expected what `rankwright place` writes (placement.json)"
            ) from None
        self.text = text
        self.contents: dict[str, Any] = contents

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Placement:
        """Reads a ``placement.json``."""
        return cls(read_text(path, "a placement"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all, as ``rankwright place`` does."""
        write_whole(path, self.text)

    def rows(self) -> list[dict[str, Any]]:
        """A row per rank: ``job, rank, node, cores`` (L#), ``pus`` (P#), ``numa`` (L#), ``nics, gpus``."""

        def listed(values: Sequence[Any]) -> str:
            return ",".join(map(str, values))

        return [
            {
                "job": job["name"],
                "rank": entry["rank"],
                "node": entry["node"],
                "cores": listed(entry["cores"]),
                "pus": listed(entry["pus"]),
                "numa": entry["numa"],
                "nics": listed(entry.get("nics", ())),
                "gpus": listed(entry.get("gpus", ())),
            }
            for job in self._jobs
            for entry in job["ranks"]
        ]

    @property
    def ranks(self) -> Frame:
        """The rows as a frame; lists are texts with commas."""
        return frame(columns_of_rows(self.rows()))

    @property
    def predicted(self) -> dict[str, float]:
        """By quantity: its predicted value, in seconds or bytes."""
        return dict(self.contents.get("predicted", {}))

    def svg(self) -> str:
        """A picture: the nodes with the ranks on their cores, SVG."""
        from ._pictures import placement_svg

        return placement_svg(self.contents)

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<Placement by {self.strategy!r}: {sum(len(job['ranks']) for job in self._jobs)} ranks>"

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Placement) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


class Plan:
    """A placement, and why this one: what :func:`place` returns.

    Attributes:
        workload: What is placed.
        cluster: Where.
        placement: Where the ranks of the best strategy run.
        comparison: Everything, as ``rankwright place --format json`` prints it.
        stopped: Whether the search was ended before its end.
    """

    def __init__(self, workload: Workload, cluster: Cluster, planned: _native.Planned) -> None:
        self.workload = workload
        self.cluster = cluster
        self.placement = Placement(planned["placement"])
        self.comparison: dict[str, Any] = json.loads(planned["comparison"])
        self.stopped = planned["stopped"]
        self._planned = planned

    @property
    def best(self) -> str:
        """The best strategy, with its options."""
        return cast(str, self.comparison["best"])

    @property
    def left_out(self) -> dict[str, str]:
        """By strategy without a placement: why."""
        return dict(self._planned["left_out"])

    @property
    def not_simulated(self) -> str | None:
        """Why strategies were not simulated, where they should have been."""
        return self._planned["not_simulated"]

    @property
    def by(self) -> str:
        """By what the strategies are ranked: ``static``, ``model``, ``simulation`` or ``replay``."""
        return cast(str, self.comparison["by"])

    @property
    def verdict(self) -> str | None:
        """Whether the placement pays: ``shorter_run``, ``not_proven``, ``less_traffic``, ``less_waiting``,
        ``no_gain`` or ``unknown``; ``None`` for :func:`map_`."""
        answer = self.comparison.get("answer")
        return None if answer is None else cast(str, answer["verdict"])

    @property
    def gain(self) -> float | None:
        """The share of the run time that is saved against the launcher's default; ``None`` if unknown.

        0 where the default is the best itself."""
        rows = (self.comparison.get("answer") or {}).get("rows", ())
        for row in rows:
            if row["role"] == "best":
                return cast("float | None", row.get("gain"))
            if row["role"] == "default_and_best" and row.get("run_time_s") is not None:
                return 0.0
        return None

    @property
    def answer(self) -> str:
        """What ``rankwright place`` says first: the gain in a sentence, a table, what weakens it."""
        answer = self.comparison.get("answer")
        if answer is None:
            return cast(str, self.comparison["reason"])
        table = self._planned["table"]
        widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
        lines = (
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )
        return "\n".join([answer["text"], "", *lines, "", self._planned["remarks"]]).rstrip() + "\n"

    def rows(self) -> list[dict[str, Any]]:
        """The strategies, the best first: all metrics of ``compare --format json``."""
        strategies = self.comparison["strategies"]
        rows = (strategies[position] for position in self._planned["order"])
        return [
            {"strategy": row["name"], **{key: row[key] for key in row if key != "name"}}
            for row in rows
        ]

    @property
    def ranking(self) -> Frame:
        """The strategies, the best first: bytes between nodes, times in seconds where they are known."""
        kept = ("strategy_name", "strategy_options")
        rows = [{key: row[key] for key in row if key not in kept} for row in self.rows()]
        return frame(columns_of_rows(rows))

    def save(self, path: str | os.PathLike[str] = "placement.json") -> None:
        """Writes ``placement.json`` as ``rankwright place`` does, for ``rankwright run`` and ``check``."""
        self.placement.save(path)

    def svg(self) -> str:
        """A picture: the nodes with the ranks on their cores, SVG."""
        return self.placement.svg()

    def _repr_html_(self) -> str:
        from ._pictures import plan_html

        return plan_html(self)

    def __repr__(self) -> str:
        return f"<Plan {self.best!r} of {len(self.comparison['strategies'])}, by {self.by}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_plan, (_native.VERSION, self.workload, self.cluster, _plain(self._planned))


def _plain(planned: _native.Planned) -> dict[str, Any]:
    return dict(planned)


def _restored_plan(
    version: str, workload: Workload, cluster: Cluster, planned: _native.Planned
) -> Plan:
    if version != _native.VERSION:
        raise Error(
            f"this Plan was pickled by rankwright {version}, here is {_native.VERSION}: install the same "
            "version where objects are made and where they are used"
        )
    return Plan(workload, cluster, planned)


def place(
    workload: WorkloadLike,
    cluster: ClusterLike,
    *,
    strategies: str | Sequence[str] | None = None,
    share: str | None = None,
    objective: str | None = None,
    effort: str | None = None,
    time: float | str | None = None,
    moves: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    nodes: int | str | None = None,
    cores_per_rank: int | None = None,
    ranks_per_node: int | None = None,
    ranks_per_package: int | None = None,
    ranks_per_numa: int | None = None,
    ranks_per_gpu: int | str | None = None,
    per: str = "core",
    programs: str | Sequence[str] | None = None,
    own_nodes: bool = False,
    nics: str | None = None,
    gpus: str | None = None,
    launcher: str | None = None,
    balance: float | None = None,
    keep_node_groups: bool | str = False,
    arrivals: str = "source",
    loop: str | None = None,
    service: str = "deterministic",
    job: BatchJob | None = None,
    keep_best: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Places the ranks of a workload: runs strategies, predicts, takes the best. As ``rankwright place``.

    Args:
        workload: A name, a :class:`Workload` or :class:`Profile`, a traffic matrix (bytes; a row per sender),
            a networkx graph; or a list of these, which run at the same time.
        cluster: A name or a :class:`Cluster`.
        strategies: The strategies to try (:func:`strategies`), such as ``"blocked,kway:seed=3"`` or a list; by
            default all.
        share: Instead of strategies, how jobs share nodes: ``"exclusive-full"``, ``"exclusive-half"`` (half of the
            cores of twice as many nodes), ``"shared"``, ``"shared:2"`` (two jobs per node) or ``"shared:apart"``
            (on sockets of their own); by default whichever is best.
        objective: What should be small, where times are known: ``balanced`` (the default), ``waiting`` or
            ``finish``.
        effort: ``fast``, ``normal`` or ``best``.
        time: Instead of an effort: end the call within this time, seconds or a text such as ``"2min"``, with the
            best placement so far. The result then depends on the speed of this machine.
        moves: Instead of an effort: the number of trial moves of each search.
        seed: Seed of searches and simulations; by default 1.
        threads: How many; by default one per PU. The result does not depend on it.
        nodes: At most this many nodes, or only those of a hostlist such as ``"n[0-3]"``; a synthetic string stands
            for as many.
        cores_per_rank: Whole cores of each rank; by default 1.
        ranks_per_node, ranks_per_package, ranks_per_numa, ranks_per_gpu: How many share one; ``"1/2"`` is a rank
            with two GPUs. Ranks per GPU by default use ``nics="device-affinity"`` and ``gpus="near"``.
        per: ``"core"`` or ``"pu"``: what each rank gets.
        programs: The programs of the job, a text or its words, as behind ``--`` of the command line:
            ``"-n 2 --cores-per-rank 4 ./ocean : -n 6 ./air"``. Their ranks get the cores that it says.
        own_nodes: Give each of these programs nodes of its own.
        nics: How network devices are chosen, such as ``"by-load"``; by default, and with ``"none"``, not at all.
        gpus: ``"near"``, ``"one-per-rank"`` or ``"none"``; by default ``"near"`` with ``ranks_per_gpu`` and for a
            ``job`` with GPUs, else ``"none"``.
        launcher: The launcher whose default is compared with; by default ``openmpi4``.
        balance: On nodes of different speed: the share by which the longest computing time of a rank may exceed the
            shortest possible one, from 0; by default 0.02.
        keep_node_groups: Consider only placements that keep the ranks of each node together and without other
            ranks: with ``"recorded"`` or ``True`` the groups of the recorded run (of block order, if its hosts are
            not known), with ``"block"`` those of block order on this cluster.
        arrivals, loop, service: How strategies are simulated, as for :func:`simulate`.
        job: The batch job whose nodes are used, no others: ``BatchJob.around(os.environ)``. Without ``nodes`` and
            a size of the ranks, each node gets as many ranks as the job has tasks there (Slurm). Nodes are used with
            all their CPUs; :meth:`Cluster.granted` has only granted ones.
        keep_best: At Ctrl-C return the best so far instead of raising ``KeyboardInterrupt``.
        progress: Called with what is being done and which share of that is done, from 0 to 1, at last with
            ``done`` and 1; ends the search if it returns ``False``.

    Raises:
        InputError: A name or an argument is wrong.
        InfeasibleError: The ranks do not fit, or nodes are not granted.

    Warns:
        UserWarning: An argument has no effect.

    >>> plan = place("nas:cg.A.16", "paper:2013", strategies=["blocked", "cyclic", "kway"])
    >>> plan.best, len(plan.rows())
    ('blocked', 3)
    >>> both = place(["nas:cg.A.4", "nas:ep.A.4"], "synthetic:package:2 core:2 pu:1", nodes=2, share="shared:apart")
    >>> sorted({(row["node"], row["cores"]) for row in both.placement.rows() if row["job"] == "ep.A.4"})
    [('node0', '2'), ('node0', '3'), ('node1', '2'), ('node1', '3')]
    """
    begun = clock.monotonic()
    settings = settings_of(
        strategies=[strategies] if isinstance(strategies, str) else strategies,
        share=share,
        objective=objective,
        effort=effort,
        moves=moves,
        seed=seed,
        threads=threads,
        nodes=nodes,
        cores_per_rank=cores_per_rank,
        ranks_per_node=ranks_per_node,
        ranks_per_package=ranks_per_package,
        ranks_per_numa=ranks_per_numa,
        ranks_per_gpu=ranks_per_gpu,
        per=per,
        programs=programs,
        own_nodes=own_nodes,
        nics=nics,
        gpus=gpus,
        launcher=launcher,
        balance=balance,
        keep_node_groups=keep_node_groups,
        arrivals=arrivals,
        loop=loop,
        service=service,
        job=job,
    )
    limit = None if time is None else (time_text(time), begun)
    return _planned(
        workload, cluster, {**settings, "compared": True, "keep_best": keep_best}, progress, limit
    )


def map_(
    workload: WorkloadLike,
    cluster: ClusterLike,
    strategy: str,
    *,
    objective: str | None = None,
    effort: str | None = None,
    time: float | str | None = None,
    moves: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    nodes: int | str | None = None,
    cores_per_rank: int | None = None,
    ranks_per_node: int | None = None,
    ranks_per_package: int | None = None,
    ranks_per_numa: int | None = None,
    ranks_per_gpu: int | str | None = None,
    per: str = "core",
    nics: str | None = None,
    gpus: str | None = None,
    balance: float | None = None,
    arrivals: str = "source",
    loop: str | None = None,
    service: str = "deterministic",
    job: BatchJob | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The placement of one strategy, compared with nothing. As ``rankwright map``; arguments as :func:`place`.

    >>> map_("pattern:ring:8", "synthetic:package:1 core:4 pu:1", "cyclic", nodes=2).best
    'cyclic'
    """
    begun = clock.monotonic()
    settings = settings_of(
        strategies=[strategy],
        objective=objective,
        effort=effort,
        moves=moves,
        seed=seed,
        threads=threads,
        nodes=nodes,
        cores_per_rank=cores_per_rank,
        ranks_per_node=ranks_per_node,
        ranks_per_package=ranks_per_package,
        ranks_per_numa=ranks_per_numa,
        ranks_per_gpu=ranks_per_gpu,
        per=per,
        nics=nics,
        gpus=gpus,
        balance=balance,
        arrivals=arrivals,
        loop=loop,
        service=service,
        job=job,
    )
    limit = None if time is None else (time_text(time), begun)
    return _planned(
        workload, cluster, {**settings, "compared": False, "keep_best": False}, progress, limit
    )


def _planned(
    workload: WorkloadLike,
    cluster: ClusterLike,
    settings: dict[str, Any],
    progress: Progress | None,
    limit: tuple[str, float] | None = None,
) -> Plan:
    """Plans; ``limit``: the time that the call may take, and the time of the clock at which it began."""
    check_progress(progress)
    opened = workload_of(workload)
    if settings["programs"] is not None and len(opened._handle.jobs) > 1:
        raise InputError("programs: found several jobs, expected the one that has these programs")
    on = cluster_of(cluster, settings["named_nodes"] or settings["nodes"])
    if limit is not None:
        time, begun = limit
        settings = {**settings, "time": (time, clock.monotonic() - begun)}
    planned = _native.plan(opened._handle, on._handle, settings, progress)
    for text in planned["warnings"]:
        warnings.warn(text, stacklevel=3)
    return Plan(opened, on, planned)


def check_progress(progress: object) -> None:
    """Refuses what cannot be called."""
    if progress is not None and not callable(progress):
        raise InputError(f"progress: found {progress!r}, expected a function of a text and a share")


def ends(answer: object) -> bool:
    """Whether a progress function answered ``False``, also NumPy's; other values that count as false do not."""
    return isinstance(answer, (bool, np.bool_)) and not answer


def strategies() -> Frame:
    """The strategies: ``name, summary, source, options`` with defaults, ``usual``: tried without a name."""
    return frame(_native.strategies())
