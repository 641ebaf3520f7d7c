"""Many what-ifs at once, on any executor of ``concurrent.futures``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from typing import Any, Protocol

from ._clusters import Cluster
from ._errors import Error, InfeasibleError, InputError
from ._frames import Frame, columns_of_rows, frame
from ._plans import Plan, check_progress, ends, place
from ._predictions import Simulation
from ._profiles import Profile
from ._workloads import Workload


class Executor(Protocol):
    """What :func:`sweep` needs of an executor."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Has a function called somewhere; its future."""


class Sweep(Sequence[Any]):
    """The results of a sweep, in the order of the grid.

    Attributes:
        points: The arguments of each call.
        results: What each call returned; ``None`` where it was infeasible.
        errors: By the number of a point: why it is infeasible.
    """

    def __init__(self, points: list[dict[str, Any]]) -> None:
        self.points = points
        self.results: list[Any] = [None] * len(points)
        self.errors: dict[int, InfeasibleError] = {}

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, at: Any) -> Any:
        return self.results[at]

    def rows(self) -> list[dict[str, Any]]:
        """A row per point: its arguments, what came of it, and why if nothing did."""
        rows = []
        for number, (point, result) in enumerate(zip(self.points, self.results, strict=True)):
            row = {name: _short(value) for name, value in point.items()}
            row.update(_figures(result))
            row["error"] = str(self.errors[number]) if number in self.errors else ""
            rows.append(row)
        return rows

    @property
    def frame(self) -> Frame:
        """The rows as a frame."""
        return frame(columns_of_rows(self.rows()))

    def __repr__(self) -> str:
        return f"<Sweep: {len(self)} points, {len(self.errors)} infeasible>"


def sweep(
    what: Callable[..., Any] | Mapping[str, Sequence[Any]],
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None = None,
    *,
    executor: Executor | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> Sweep:
    """Calls a function for every point of a grid, or places for every point.

    Args:
        what: A function that is called with the names of the grid as arguments; or the grid, whose points are
            arguments of :func:`place`: ``workload``, ``cluster``, ``strategies``, ``nodes``, ``seed``, ...
        grid: By argument, the values to try: all combinations are. Or a list of points.
        executor: Any with ``submit`` as in ``concurrent.futures``: of processes, ``mpi4py.futures``, Dask
            (``client.get_executor()``). The function and its arguments must be picklable: a function of a
            module, not a lambda. By default all is done here, one after the other.
        progress: Called with a text and the share of points that are done.

    In workers each placement uses one thread unless ``threads`` is given. The order of results, and the results,
    do not depend on the executor. Points that are infeasible are in :attr:`Sweep.errors`.

    Raises:
        InputError: The grid is wrong, or the executor is closed.

    >>> found = sweep({"workload": ["nas:cg.A.16"], "cluster": ["paper:2013"],
    ...                "strategies": ["blocked", "cyclic"]})
    >>> [plan.best for plan in found]
    ['blocked', 'cyclic']
    """
    if callable(what):
        function, points = what, _points(grid)
    else:
        if grid is not None:
            raise InputError("grid: found two grids, expected a function before the grid")
        function, points = place, _points(what)
    check_progress(progress)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"executor: found {type(executor).__name__}, expected an executor as in concurrent.futures"
        )
    found = Sweep(points)
    if function is place and executor is not None:
        points = [{"threads": 1, **point} for point in points]
    futures = None if executor is None else _submitted(executor, function, points)
    for number, point in enumerate(points):
        try:
            if futures is None:
                found.results[number] = function(**point)
            else:
                found.results[number] = _result(futures[number])
        except InfeasibleError as error:
            found.errors[number] = error
        except BaseException:
            for future in futures or ():
                future.cancel()
            raise
        done = (number + 1) / len(points)
        if progress is not None and ends(progress(f"{number + 1} of {len(points)} points", done)):
            for future in futures or ():
                future.cancel()
            raise Error(f"stopped by the progress function after {number + 1} of {len(points)} points")
    return found


def _points(grid: Any) -> list[dict[str, Any]]:
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise InputError(
                    f"grid[{name!r}]: found {values!r}, expected a list of values to try"
                )
        combined = itertools.product(*grid.values())
        points = [dict(zip(grid, values, strict=True)) for values in combined]
    elif isinstance(grid, Sequence) and all(isinstance(point, Mapping) for point in grid):
        points = [dict(point) for point in grid]
    else:
        raise InputError(
            f"grid: found {grid!r}, expected a mapping of arguments to lists of values, or a list of points"
        )
    if not points:
        raise InputError("grid: found no points, expected at least one value for each argument")
    return points


def _submitted(
    executor: Executor, function: Callable[..., Any], points: list[dict[str, Any]]
) -> list[Future[Any]]:
    futures: list[Future[Any]] = []
    for point in points:
        try:
            futures.append(executor.submit(function, **point))
        except RuntimeError as error:
            # What executors raise after shutdown(), or when a worker has died.
            for future in futures:
                future.cancel()
            raise InputError(
                f"executor: it takes no more work: {error}; call sweep() inside its `with` block"
            ) from error
    return futures


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenExecutor as error:
        raise Error(
            f"a worker of the executor died: {error}; it may lack memory, or rankwright is not installed there"
        ) from error


def _short(value: Any) -> Any:
    """A value of a point as a cell."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (Cluster, Workload)):
        return value.name
    if isinstance(value, Profile):
        return str(value.path)
    if isinstance(value, (list, tuple)):
        return ",".join(str(_short(part)) for part in value)
    return f"{type(value).__name__}"


def _figures(result: Any) -> dict[str, Any]:
    """The main figures of a result."""
    if isinstance(result, Plan):
        best = result.rows()[0]
        names = ("inter_node_bytes", "busiest_nic_time_s", "total_waiting_s", "workload_finish_s")
        figures = {name: best[name] for name in names if name in best}
        return {"best": result.best, "verdict": result.verdict, "gain": result.gain, **figures}
    if isinstance(result, Simulation):
        return {"total_waiting_s": result.total_waiting, "workload_finish_s": result.finish}
    if isinstance(result, Mapping):
        return {str(name): value for name, value in result.items()}
    return {} if result is None else {"result": _short(result)}
