"""What a placement costs: by formulas, by simulation, by replay."""

from __future__ import annotations

import json
import os
from typing import Any, TypeAlias

from . import _native
from ._arguments import count
from ._clusters import Cluster, ClusterLike, cluster_of
from ._errors import InputError
from ._frames import Frame, columns_of_rows, frame
from ._plans import Placement, Plan, Progress, check_progress, map_
from ._workloads import Workload, WorkloadLike, workload_of

#: A plan, a placement, the path of a ``placement.json``.
PlacementLike: TypeAlias = "Plan | Placement | str | os.PathLike[str]"


class Simulation:
    """The result of a simulation or replay. Times are seconds.

    Attributes:
        result: Everything, as ``rankwright simulate --format json`` prints it.
        left_out: Of a replay: calls that were not replayed, and how often, by what they are.
    """

    def __init__(self, text: str, left_out: dict[str, int] | None = None) -> None:
        self.result: dict[str, Any] = json.loads(text)
        self.left_out = left_out or {}

    @property
    def total_waiting(self) -> float:
        """Waiting without service, summed over all messages and servers, seconds."""
        return float(self.result["total_waiting_s"])

    @property
    def finish(self) -> float:
        """When the last message arrived, seconds."""
        return float(self.result["workload_finish_s"])

    @property
    def stopped(self) -> bool:
        """Whether the progress function ended it: the numbers are then those of the messages so far."""
        return self.result["stopped_at_s"] is not None

    @property
    def replications(self) -> dict[str, Any] | None:
        """Of several seeds: ``mean`` and ``half_width`` (95 % interval) of each time; ``None`` for one."""
        return self.result.get("replications")

    @property
    def servers(self) -> Frame:
        """The network devices, memories and links at which messages arrived, a row each."""
        return frame(columns_of_rows(self.result["per_server"]))

    @property
    def jobs(self) -> Frame:
        """The jobs: messages, waiting, latency (mean and percentiles), a row each."""
        return frame(columns_of_rows(self.result["per_job"]))

    @property
    def ranks(self) -> Frame:
        """Of a replay: ``waited_s`` and ``end_s`` of each rank."""
        return frame(columns_of_rows(self.result.get("per_rank", [])))

    def __repr__(self) -> str:
        return f"<Simulation: waiting {self.total_waiting:.6g} s, finish {self.finish:.6g} s>"


def _given(
    workload: WorkloadLike,
    cluster: ClusterLike,
    placement: PlacementLike | None,
    strategy: str | None,
    nodes: int | None,
    seed: int | None = None,
) -> tuple[Workload, Cluster, str]:
    """What is placed, where, and the text of the placement."""
    if (placement is None) == (strategy is None):
        raise InputError("found both or none of placement and strategy, expected one of them")
    opened, on = workload_of(workload), cluster_of(cluster, nodes)
    if placement is None:
        placement = map_(opened, on, strategy or "", nodes=nodes, seed=seed)
    if isinstance(placement, Plan):
        return opened, on, placement.placement.text
    if isinstance(placement, Placement):
        return opened, on, placement.text
    if isinstance(placement, (str, os.PathLike)):
        return opened, on, Placement.read(placement).text
    raise InputError(
        f"placement: found {type(placement).__name__}, expected a Plan, a Placement or the path of a "
        "placement.json"
    )


def estimate(
    workload: WorkloadLike,
    cluster: ClusterLike,
    placement: PlacementLike | None = None,
    *,
    strategy: str | None = None,
    nodes: int | None = None,
) -> dict[str, Any]:
    """What a placement costs by formulas: no search, no simulation.

    Args:
        workload: As for :func:`place`.
        cluster: As for :func:`place`.
        placement: A :class:`Plan`, a :class:`Placement` or the path of a ``placement.json``.
        strategy: Instead of a placement: the strategy that makes it.
        nodes: At most this many nodes.

    Returns:
        Bytes between nodes, ``busiest_nic_time_s``, ``hop_bytes``; with message timing also waiting and finish in
        seconds by the fluid model, and ``highest_utilisation`` by the queueing model.

    >>> round(estimate("nas:cg.A.16", "paper:2013", strategy="blocked")["inter_node_share"], 2)
    0.0
    """
    opened, on, text = _given(workload, cluster, placement, strategy, nodes)
    values, busiest = _native.estimate(opened._handle, on._handle, text)
    return {**values, "busiest_server": busiest}


def simulate(
    workload: WorkloadLike,
    cluster: ClusterLike,
    placement: PlacementLike | None = None,
    *,
    strategy: str | None = None,
    nodes: int | None = None,
    seed: int | None = None,
    replications: int = 1,
    threads: int | None = None,
    arrivals: str = "source",
    loop: str | None = None,
    service: str = "deterministic",
    replay: bool = False,
    eager_limit: int | None = None,
    discipline: str = "fifo",
    progress: Progress | None = None,
) -> Simulation:
    """Simulates a placement message by message. As ``rankwright simulate``.

    Args:
        workload: As for :func:`place`, with message timing.
        cluster: As for :func:`place`.
        placement: A :class:`Plan`, a :class:`Placement` or the path of a ``placement.json``.
        strategy: Instead of a placement: the strategy that makes it.
        nodes: At most this many nodes.
        seed: Seed of the random numbers; by default 1.
        replications: How many seeds; several give 95 % intervals.
        threads: How many simulations at once; by default one per PU.
        arrivals: Messages that are sent together: all of a ``source``, or those of a ``pair``.
        loop: When ranks send on: ``open``, ``departure`` or ``arrival``; by default ``arrival`` for profiles,
            else ``open``.
        service: ``deterministic`` or ``exponential``.
        replay: Replay the recorded calls of profiles (``profile --events``) instead of their clocks.
        eager_limit: Of a replay: longest message, in bytes, that is sent before its receive is posted.
        discipline: Of a replay: how messages share a server, ``fifo`` or ``max-min``.
        progress: Called with what is being done and which share of that is done, from 0 to 1, at last with
            ``done`` and 1; ends the work if it returns ``False``.

    Raises:
        InputError: A job has no message timing, or an argument is wrong.
        InfeasibleError: The placement is of another workload.

    >>> simulate("nas:cg.A.16", "paper:2013", strategy="cyclic").result["messages"] > 0
    True
    """
    check_progress(progress)
    seed = count("seed", seed, least=0)
    opened, on, text = _given(workload, cluster, placement, strategy, nodes, seed)
    if replay:
        limit = None if eager_limit is None else count("eager_limit", eager_limit, least=0)
        return Simulation(
            *_native.replay(opened._handle, on._handle, text, limit, discipline, progress)
        )
    settings = {
        "seed": seed,
        "replications": count("replications", replications),
        "threads": count("threads", threads),
        "arrivals": str(arrivals),
        "pacing": loop,
        "service": str(service),
    }
    return Simulation(_native.simulate(opened._handle, on._handle, text, settings, progress))
