"""Batch jobs: what Slurm, PBS, LSF or Flux granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from . import _native
from ._errors import InputError

#: What the extension module takes: variables, and what the batch system says besides.
NativeJob: TypeAlias = tuple[dict[str, str], "str | None"]

#: The variables that are kept; an environment may have secrets, and jobs travel to other processes.
_KEPT = ("SLURM_", "PBS_", "LSB_", "FLUX_")
_OF_GPUS = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK")


class BatchJob:
    """A job of Slurm, PBS, LSF or Flux: its hosts and what is granted on them.

    The package does not read environment variables: pass those of the job, usually ``os.environ``.

    Args:
        environment: The variables of the job.
        details: Output of the batch system's commands. In a Slurm job that of ``scontrol show job --details ID``,
            which lists CPU and GPU numbers; in a Flux job that of ``flux job info ID R``, which is required.

    Raises:
        InputError: There is no job, or its variables are inconsistent.

    >>> variables = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-1]", "SLURM_JOB_CPUS_PER_NODE": "16,8"}
    >>> job = BatchJob(variables)
    >>> job.title, job.hosts
    ('job 7 of Slurm', {'n0': 16, 'n1': 8})
    >>> BatchJob.around({"HOME": "/home/me"}) is None
    True
    """

    def __init__(self, environment: Mapping[str, str], details: str | None = None) -> None:
        self._native = _given(environment, details)
        found = _native.job_around(self._native)
        if found is None:
            raise InputError(
                "environment: found no variables of a batch job, expected those of a job of Slurm, PBS, LSF or "
                "Flux; BatchJob.around() is None outside of jobs"
            )
        self._title, self._hosts = found

    @classmethod
    def around(cls, environment: Mapping[str, str], details: str | None = None) -> BatchJob | None:
        """The job with this environment; ``None`` if it is not that of a job."""
        if _native.job_around(_given(environment, details)) is None:
            return None
        return cls(environment, details)

    @property
    def title(self) -> str:
        """Its name for people: ``job 7 of Slurm``."""
        return self._title

    @property
    def hosts(self) -> dict[str, int | None]:
        """By host, in the order granted: the number of its CPUs (of PBS: slots); ``None`` if unknown.

        Whether these are cores or hardware threads is not known: it depends on the site."""
        return dict(self._hosts)

    def __repr__(self) -> str:
        return f"<BatchJob {self.title!r}: {len(self._hosts)} hosts>"

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchJob, self._native


def _given(environment: Any, details: Any) -> NativeJob:
    if not isinstance(environment, Mapping):
        raise InputError(
            f"environment: found {type(environment).__name__}, expected variables by name, such as os.environ"
        )
    if details is not None and not isinstance(details, str):
        raise InputError(f"details: found {details!r}, expected the text that the batch system prints")
    kept = {
        name: value
        for name, value in environment.items()
        if isinstance(name, str) and (name.startswith(_KEPT) or name in _OF_GPUS)
    }
    if wrong := [name for name, value in kept.items() if not isinstance(value, str)]:
        raise InputError(f"environment: found {kept[wrong[0]]!r} for {wrong[0]}, expected a text")
    return kept, details


def native_job(job: Any) -> NativeJob | None:
    """What the extension module takes."""
    if job is None:
        return None
    if not isinstance(job, BatchJob):
        raise InputError(
            f"job: found {type(job).__name__}, expected a rankwright.BatchJob, such as BatchJob(os.environ)"
        )
    return job._native
