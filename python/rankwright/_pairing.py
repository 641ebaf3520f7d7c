"""Which jobs should share nodes."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from . import _native
from ._arguments import count, read_text
from ._clusters import ClusterLike, cluster_of
from ._errors import InputError
from ._frames import Frame, arrays_of, frame
from ._plans import Progress, check_progress
from ._profiles import Profile
from ._workloads import Workload, WorkloadLike, workload_of

#: Bytes per second, a text with a unit, or a file of a tool that counted it.
MemoryTraffic: TypeAlias = "float | str | os.PathLike[str]"


class Pairing:
    """Who shares nodes with whom.

    Attributes:
        answer: ``share``, ``no difference`` or ``do not share``.
        groups: The names of the jobs that share nodes.
        alone: The names of the others.
        cost: The objective of this pairing.
        baseline: The objective if every job runs alone on whole nodes.
        random_mean: Its mean over random pairings.
        random_worst: That of the worst pairing; ``None`` for more than two jobs per node.
        gain: The gain against ``baseline`` as a share; positive is better.
        gain_half_width: Of profiles, half the width of the 95 % interval of the gain; ``None`` where it is not
            known. A gain below it makes the answer ``no difference``.
        notes: Of profiles, what weakens the answer, and which resource decides; a sentence each.
        by_clocks: Jobs that were replayed by their clocks, because their calls were not recorded or are one-sided.
    """

    def __init__(
        self,
        paired: _native.Paired,
        beside: _native.Table | None = None,
        by_clocks: Sequence[str] = (),
    ) -> None:
        self.answer = paired["answer"]
        self.groups = paired["groups"]
        self.alone = paired["alone"]
        self.cost = paired["cost"]
        self.baseline = paired["baseline"]
        self.random_mean = paired["random_mean"]
        self.random_worst = paired["random_worst"]
        self.gain = paired["gain"]
        self.gain_half_width = paired["gain_half_width"]
        self.notes = paired["notes"]
        self.by_clocks = list(by_clocks)
        self._jobs = arrays_of(paired["jobs"])
        self._beside = None if beside is None else arrays_of(beside)

    @property
    def jobs(self) -> Frame:
        """A row per job: ``job, group`` (-1: alone), ``share`` of the cores of each node, ``percent``: its run
        time in percent of that alone on whole nodes."""
        return frame(self._jobs)

    @property
    def beside(self) -> Frame | None:
        """Of profiles: ``percent`` of each ``job`` beside each ``background`` job, with the ``half_width`` of
        its 95 % interval; ``None`` for a table."""
        return None if self._beside is None else frame(self._beside)

    def __repr__(self) -> str:
        return f"<Pairing {self.answer!r}: {self.groups}, gain {100 * self.gain:.1f} %>"


def pair(
    jobs: Sequence[WorkloadLike] | None = None,
    cluster: ClusterLike | None = None,
    *,
    table: Any = None,
    runtimes: Any = None,
    rules: str | os.PathLike[str] | None = None,
    memory_traffic: Mapping[str, MemoryTraffic] | None = None,
    objective: str = "sum",
    per_node: int = 2,
    copies: int = 1,
    tolerance: float = 1.0,
    offsets: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Pairing:
    """Which jobs should share nodes. As ``rankwright pair``.

    Args:
        jobs: Profiles or other workloads with message timing, each recorded alone; they are replayed alone and
            beside each other on ``cluster``.
        cluster: As for :func:`place`; needed for ``jobs``.
        table: Instead of ``jobs``: run times in percent of those alone on whole nodes. A CSV file with the
            header ``background,BT,CG,..``; a pandas frame with background jobs as index and measured jobs as
            columns; or a mapping ``{background: {measured: percent}}``.
        runtimes: Run times alone on whole nodes, seconds: a CSV file ``job,seconds`` or a mapping.
        rules: A ``pairing.toml``: facts of jobs, and which must not share nodes.
        memory_traffic: Of ``jobs``, by name: the memory bandwidth that each rank uses while it computes, in bytes per
            second or a text such as ``"2GB/s"``; or a file in which likwid-perfctr, perf stat, PCP or resctrl counted
            it, such as ``"likwid.csv"``, or ``"likwid.csv:ranks=16"`` if 16 ranks ran where it was recorded.
        objective: What should be small: ``sum``, ``runtime``, ``worst``, ``makespan``; or large:
            ``weighted-speedup``.
        per_node: The most jobs on a node.
        copies: How often each job is to run.
        tolerance: Differences up to this percentage count as none.
        offsets: How often two jobs are replayed beside each other; by default 5.
        seed: Seed of the search for more than two jobs per node.
        progress: Called with what is being done and which share of that is done, from 0 to 1, at last with
            ``done`` and 1; ends the work if it returns ``False``.

    Raises:
        InputError: A table, a name or an argument is wrong.
        InfeasibleError: The cluster has too few nodes.

    >>> jobs = {"CG": {"CG": 102, "EP": 100, "FT": 96}, "EP": {"CG": 75, "EP": 100, "FT": 94},
    ...         "FT": {"CG": 84, "EP": 100, "FT": 90}}
    >>> pair(table=jobs).groups
    [['CG', 'EP']]
    """
    check_progress(progress)
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)):
        raise InputError(f"tolerance: found {tolerance!r}, expected a percentage from 0 to 100")
    if not 0 <= tolerance <= 100:
        raise InputError(f"tolerance: found {tolerance}, expected a percentage from 0 to 100")
    settings = {
        "objective": objective,
        "per_node": count("per_node", per_node),
        "copies": count("copies", copies),
        "tolerance": float(tolerance),
        "seed": count("seed", seed, least=0),
        "offsets": count("offsets", offsets),
        "memory_traffic": _traffic(memory_traffic),
    }
    rule_text = None if rules is None else _text(rules, "rules")
    if jobs is None:
        for name, given in [("memory_traffic", memory_traffic), ("cluster", cluster), ("offsets", offsets)]:
            if given is not None:
                raise InputError(f"{name}: found it without jobs, which alone are replayed, expected jobs")
        percent = None if table is None else _text(table, "table")
        if percent is None and rule_text is None:
            raise InputError("found no jobs, expected jobs and a cluster, a table, or rules")
        times = None if runtimes is None else _text(runtimes, "runtimes")
        return Pairing(_native.pair_by_table(percent, times, rule_text, settings))
    if table is not None or runtimes is not None:
        raise InputError("found jobs and a table or runtimes, expected one of them")
    if cluster is None:
        raise InputError("cluster: found None, expected the cluster on which the jobs are replayed")
    if isinstance(jobs, (str, os.PathLike, Workload, Profile, np.ndarray)):
        jobs = [jobs]
    workload, names = _jobs_of(jobs)
    return Pairing(
        *_native.pair_profiles(
            workload._handle, names, cluster_of(cluster)._handle, rule_text, settings, progress
        )
    )


def _jobs_of(jobs: Sequence[WorkloadLike]) -> tuple[Workload, list[str]]:
    """All jobs together, and their names: of profiles that of the file; all different."""
    parts: list[Workload] = []
    names: list[str] = []
    for job in jobs:
        part = workload_of(job)
        parts.append(part)
        path = ""
        if isinstance(job, Profile):
            path = str(job.path)
        elif isinstance(job, (str, os.PathLike)):
            path = os.fspath(job)
        is_profile = path.endswith(".rwp") and len(part.jobs) == 1
        names += [Path(path).stem] if is_profile else list(part.jobs)
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[at] = f"{name}-{seen[name]}"
    return Workload.together(parts), names


def _traffic(traffic: Any) -> list[tuple[str, str]]:
    """The memory traffic of each job: its name with a rate or a file."""
    if traffic is None:
        return []
    if not isinstance(traffic, Mapping):
        raise InputError(f"memory_traffic: found {traffic!r}, expected a mapping of jobs to rates or files")

    def text(job: Any, value: Any) -> str:
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # Neither infinite nor NaN, nor an integer beyond all floats.
        if not is_number or not abs(value) <= sys.float_info.max:
            raise InputError(
                f"memory_traffic[{job!r}]: found {value!r}, expected bytes per second, a text such as 2GB/s or a file"
            )
        return f"{float(value):f} B/s"

    return [(str(job), text(job, value)) for job, value in traffic.items()]


def _text(source: Any, what: str) -> tuple[str, str]:
    """The text of a file, or of a frame or mapping as such a file, and its name."""
    if isinstance(source, (str, os.PathLike)):
        return read_text(source, f"a file of {what}"), os.fspath(source)
    if hasattr(source, "to_dict") and hasattr(source, "index"):
        source = source.to_dict() if what == "runtimes" else source.T.to_dict()
    if not isinstance(source, Mapping) or not source:
        raise InputError(f"{what}: found {source!r}, expected a file, a frame or a mapping")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if what == "runtimes":
        writer.writerow(["job", "seconds"])
        writer.writerows(source.items())
        return out.getvalue(), what
    names = list(source)
    writer.writerow(["background", *names])
    for background, row in source.items():
        missing = [name for name in names if not isinstance(row, Mapping) or name not in row]
        if missing:
            raise InputError(
                f"table[{background!r}]: found no value for {missing[0]!r}, expected percentages for "
                f"{', '.join(map(str, names))}"
            )
        writer.writerow([background, *(row[name] for name in names)])
    return out.getvalue(), what
