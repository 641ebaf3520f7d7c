"""Clusters."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from . import _native
from ._arguments import count, name_of, restored
from ._errors import InputError
from ._jobs import BatchJob, native_job

#: What is accepted as a cluster.
ClusterLike: TypeAlias = "str | os.PathLike[str] | Cluster"


class Cluster:
    """A cluster: nodes, cores, memories, network devices, switches and their rates.

    Args:
        name: A ``cluster.toml`` or hwloc XML file, ``synthetic:STRING`` or a built-in name such as
            ``paper:2013``; as ``--on`` of the command line.
        nodes: How many nodes an hwloc XML file or a synthetic string stands for.

    Raises:
        InputError: There is no such cluster, or its description is wrong.

    >>> cluster = Cluster("synthetic:package:2 core:8 pu:1", nodes=4)
    >>> len(cluster.nodes), cluster.core_count
    (4, 64)
    """

    _handle: _native.Cluster

    def __init__(self, name: str | os.PathLike[str], nodes: int | None = None) -> None:
        self._source = name_of(name, "the cluster")
        self._nodes: int | list[str] | None = count("nodes", nodes)
        self._handle = _native.Cluster.open(self._source, self._nodes, False)

    @classmethod
    def from_toml(cls, text: str, name: str = "cluster.toml") -> Cluster:
        """The cluster of the text of a ``cluster.toml``; ``name`` stands for the file in errors."""
        return cls._of(_native.Cluster.parse(text, name, None), name)

    @classmethod
    def _of(cls, native: _native.Cluster, source: str, nodes: int | list[str] | None = None) -> Cluster:
        cluster = cls.__new__(cls)
        cluster._handle, cluster._source, cluster._nodes = native, source, nodes
        return cluster

    @classmethod
    def _built_in(cls, source: str, nodes: int | list[str] | None, at_least: bool) -> Cluster:
        return cls._of(_native.Cluster.open(source, nodes, at_least), source, nodes)

    @property
    def name(self) -> str:
        """Its name."""
        return self._handle.name

    @property
    def nodes(self) -> list[str]:
        """The host names of the nodes."""
        return self._handle.nodes

    @property
    def core_count(self) -> int:
        """The number of cores of all nodes."""
        return self._handle.core_count

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of the description, as in ``placement.json``."""
        return self._handle.digest

    @property
    def rates(self) -> dict[str, Any]:
        """Bandwidths in bytes per second, latencies in seconds; ``calibrated`` says whether they were measured.

        ``None`` stands for rates that follow from the hardware.
        """
        return cast("dict[str, Any]", json.loads(self._handle.rates()))

    @property
    def calibration(self) -> dict[str, Any] | None:
        """What ``rankwright calibrate`` measured on it; ``None`` if its rates are assumed.

        ``date`` and ``mpi``; ``devices``: bandwidth and latency by network device; ``messages``: LogGP
        parameters by what sender and receiver share; ``pairs``: bandwidth by number of senders;
        ``measured``: spread and number of samples of each rate.
        """
        return cast("dict[str, Any] | None", self.rates.get("calibration"))

    def granted(self, job: BatchJob, *, cpu: str = "thread") -> Cluster:
        """What is granted to a batch job, with the hardware, rates and switches of this cluster.

        As ``rankwright cluster import slurm:`` in the job, but also with the numbers of CPUs and GPUs that
        ``details`` of a job of Slurm or LSF's list of affinities tell. Only granted PUs are free. Hosts that this
        cluster does not name are like its nodes. The cluster is called ``job-7``; ``to_toml()`` keeps it.

        Args:
            job: The job.
            cpu: What the batch system counts as a CPU, which differs by site: ``"thread"`` (a PU) or ``"core"``. The
                slots of PBS count as cores.

        Raises:
            InfeasibleError: More CPUs are granted on a host than it has.

        Warns:
            UserWarning: The first CPUs stand for the granted ones, whose numbers are not known; or hosts are taken
                for nodes of this cluster that it does not name.

        >>> variables = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-1]", "SLURM_JOB_CPUS_PER_NODE": "8(x2)"}
        >>> cluster = Cluster("synthetic:package:2 core:4 pu:1").granted(BatchJob(variables))
        >>> cluster.nodes, cluster.core_count
        (['n0', 'n1'], 16)
        """
        taken = native_job(job)
        if taken is None:
            raise InputError("job: found None, expected a rankwright.BatchJob")
        native, texts = self._handle.granted(taken, str(cpu))
        for text in texts:
            warnings.warn(text, stacklevel=2)
        return Cluster._of(native, native.name)

    def to_toml(self) -> str:
        """The text of a ``cluster.toml`` that describes this cluster."""
        return self._handle.to_toml()

    def svg(self) -> str:
        """A picture of nodes, devices and switches: SVG."""
        return self._handle.svg()

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<Cluster {self.name!r}: {len(self.nodes)} nodes, {self.core_count} cores>"

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Cluster) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        by_name = self._source.startswith(("synthetic:", "paper:"))
        if by_name:
            maker: Callable[..., Any] = Cluster._built_in
            state: tuple[Any, ...] = (self._source, self._nodes, True)
        else:
            # By contents: the file need not exist where the object is used.
            maker, state = Cluster._of_text, (self._source, self.to_toml(), self.digest)
        return restored, (maker, _native.VERSION, state, self.digest)

    @classmethod
    def _of_text(cls, source: str, text: str, digest: str) -> Cluster:
        cluster = cls.from_toml(text, source)
        if cluster.digest != digest and os.path.exists(source):
            # What a cluster.toml cannot say, such as that its nodes are invented.
            return cls(source, len(cluster.nodes) if source.endswith(".xml") else None)
        return cluster


def cluster_of(cluster: ClusterLike, nodes: int | str | None = None) -> Cluster:
    """The cluster that a user named or gave; one that is named as a synthetic string has at least ``nodes``, or
    those of a hostlist."""
    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, (str, os.PathLike)):
        wanted = _native.hosts(nodes) if isinstance(nodes, str) else count("nodes", nodes)
        return Cluster._built_in(os.fspath(cluster), wanted, True)
    raise InputError(
        f"the cluster: found {type(cluster).__name__}, expected a name, a path or a rankwright.Cluster"
    )
