"""Tables as frames of pandas or polars, or as NumPy arrays."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ._errors import Error, InputError
from ._native import Table

#: A data frame of pandas or polars, whichever is used.
Frame: TypeAlias = Any

#: Names of columns, and their values.
Columns: TypeAlias = Mapping[str, Any]

_LIBRARIES = ("pandas", "polars")
_chosen: str | None = None


def use_frames(library: str | None) -> None:
    """Chooses the library of frames.

    Args:
        library: ``"pandas"``, ``"polars"``, or ``None`` for the first of these that is installed.

    Raises:
        InputError: There is no such library.
    """
    global _chosen
    if library is not None and library not in _LIBRARIES:
        raise InputError(f"frames: found `{library}`, expected one of {', '.join(_LIBRARIES)}, None")
    _chosen = library


def frame(data: Table | Columns) -> Frame:
    """The frame of a table or of columns.

    Raises:
        Error: Neither pandas nor polars is installed.
    """
    for library in (_chosen,) if _chosen else _LIBRARIES:
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        # polars takes a table by the Arrow PyCapsule interface; pandas would need pyarrow for that.
        plain = data if library == "polars" and isinstance(data, Table) else columns_of(data)
        return module.DataFrame(plain)
    wanted = _chosen or "pandas"
    raise Error(
        f"frames need {_chosen or 'pandas or polars'}, which is not installed: `pip install {wanted}`; "
        "without it there are NumPy arrays: the methods arrays(..) and comm_matrix(), and table(..) for "
        "libraries that read Arrow data"
    )


def columns_of(data: Table | Columns) -> dict[str, Any]:
    """The columns of a table by name."""
    return data.columns() if isinstance(data, Table) else dict(data)


def arrays_of(data: Table | Columns) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of a table as NumPy arrays of one dimension; texts are objects."""

    def array(values: Any) -> np.ndarray[Any, Any]:
        if isinstance(values, np.ndarray):
            return values
        texts = any(isinstance(value, str) for value in values)
        return np.array(values, dtype=object if texts or not len(values) else None)

    return {name: array(values) for name, values in columns_of(data).items()}


def columns_of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Columns of rows: those keys whose values are texts, numbers or unknown in all rows."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))

    def is_plain(value: Any) -> bool:
        return value is None or isinstance(value, (str, int, float, bool))

    def column(name: str) -> list[Any]:
        values = [row.get(name) for row in rows]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values) and all(isinstance(value, (int, float)) for value in numbers):
            return [float("nan") if value is None else float(value) for value in values]
        return values

    return {name: column(name) for name in names if all(is_plain(row.get(name)) for row in rows)}
