"""Arguments of users, checked; their files; and objects that travel between processes."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._errors import Error, InputError
from ._jobs import native_job


def count(what: str, value: Any, least: int = 1, below: int = 2**32) -> int | None:
    """A whole number from ``least``, less than ``below``; or None."""
    if value is None:
        return None
    if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
        raise InputError(f"{what}: found {value!r}, expected a whole number")
    number = int(value)
    if not least <= number < below:
        raise InputError(f"{what}: found {number}, expected {least} to {below - 1}")
    return number


def name_of(value: Any, what: str) -> str:
    """A name or path as text."""
    try:
        return str(os.fspath(value))
    except TypeError:
        raise InputError(f"{what}: found {value!r}, expected a name or a path") from None


def known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InputError(f"{what}: found `{name}`, expected one of {', '.join(known)}")


def restored(maker: Callable[..., Any], version: str, state: tuple[Any, ...], digest: str) -> Any:
    """An object that was pickled, made anew; an error if the version or the input is another."""
    what = maker.__qualname__.split(".")[0]
    if version != _native.VERSION:
        raise Error(
            f"this {what} was pickled by rankwright {version}, here is {_native.VERSION}: install the same "
            "version where objects are made and where they are used"
        )
    restored = maker(*state)
    if restored.digest != digest:
        raise InputError(
            f"{state[0]}: it has changed since this {what} was pickled, or is another file here; open it anew"
        )
    return restored


def read_text(path: str | os.PathLike[str], expected: str) -> str:
    """The text of a file."""
    name = os.fspath(path)
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        found = (error.strerror or str(error)).lower()
    except UnicodeDecodeError:
        found = "bytes that are not UTF-8 text"
    raise InputError(f"{name}: found {found}, expected {expected}", name)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file, whole or not at all: beside it, then renamed."""
    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                # A temporary file is private; the new one gets the usual permissions.
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(file.fileno(), 0o666 & ~mask)
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise Error(f"{target}: cannot be written: {reason}; choose another folder") from error


#: The settings that are whole numbers, and the least value of each.
_COUNTS = {
    "seed": 0,
    "threads": 1,
    "cores_per_rank": 1,
    "ranks_per_node": 1,
    "ranks_per_package": 1,
    "ranks_per_numa": 1,
}
_NAMES = ("share", "objective", "effort", "nics", "gpus", "launcher", "loop")


def settings_of(
    *, strategies: Sequence[str] | None, per: str, **given: Any
) -> dict[str, Any]:
    """The settings of a plan, checked; those that are not given are None."""
    names = None if strategies is None else list(strategies)
    if names is not None:
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise InputError(f"strategies: found {wrong[0]!r}, expected names of strategies")
        if not names:
            raise InputError("strategies: found none, expected at least one, or None for all")
    if per not in ("core", "pu"):
        raise InputError(f"per: found {per!r}, expected `core` or `pu`")
    settings: dict[str, Any] = {
        name: count(name, given.get(name), least) for name, least in _COUNTS.items()
    }
    for name in _NAMES:
        value = given.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name}: found {value!r}, expected a name")
        settings[name] = value
    per_gpu = given.get("ranks_per_gpu")
    if not isinstance(per_gpu, str):
        number = count("ranks_per_gpu", per_gpu)
        per_gpu = None if number is None else str(number)
    return {
        **settings,
        **_nodes(given.get("nodes")),
        "ranks_per_gpu": per_gpu,
        "balance": _balance(given.get("balance")),
        "keep_node_groups": _groups(given.get("keep_node_groups")),
        "arrivals": str(given.get("arrivals", "source")),
        "pacing": settings["loop"],
        "service": str(given.get("service", "deterministic")),
        "job": native_job(given.get("job")),
        "moves": count("moves", given.get("moves"), least=0, below=2**64),
        "programs": _words(given.get("programs")),
        "own_nodes": bool(given.get("own_nodes", False)),
        "strategies": names,
        "per_pu": per == "pu",
        "time": None,
    }


def _balance(balance: Any) -> float | None:
    """A share; the library knows its range."""
    if balance is None:
        return None
    if isinstance(balance, bool) or not isinstance(balance, (int, float)):
        raise InputError(f"balance: found {balance!r}, expected a share from 0 to 1000, like 0.02")
    return float(balance)


def _groups(keep: Any) -> str | None:
    """Whose groups of ranks are kept together: a name, or True for those of the recorded run."""
    if keep is None or isinstance(keep, bool):
        return "recorded" if keep else None
    if not isinstance(keep, str):
        raise InputError(f"keep_node_groups: found {keep!r}, expected True, False, `recorded` or `block`")
    return keep


def _nodes(nodes: Any) -> dict[str, Any]:
    """How many nodes, or which: a number, also as text, or a hostlist."""
    if not isinstance(nodes, str):
        return {"nodes": count("nodes", nodes), "named_nodes": None}
    if nodes.isascii() and nodes.isdigit():
        return {"nodes": count("nodes", int(nodes)), "named_nodes": None}
    if ".." in nodes or not any(letter.isalpha() for letter in nodes):
        raise InputError(
            f"nodes: found {nodes!r}, expected a number or a hostlist like n[0-3]; rankwright.sweep() compares "
            "several numbers of nodes"
        )
    return {"nodes": None, "named_nodes": nodes}


def _words(programs: Any) -> list[str] | None:
    """The words of a program line."""
    if programs is None:
        return None
    try:
        words = shlex.split(programs) if isinstance(programs, str) else list(programs)
    except (TypeError, ValueError) as error:
        raise InputError(f"programs: found {programs!r} ({error}), expected a text or its words") from None
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise InputError(f"programs: found {wrong[0]!r}, expected words")
    return words


def time_text(time: Any) -> str:
    """A time as text, such as ``2.5 s``."""
    if isinstance(time, str):
        return time
    if isinstance(time, bool) or not isinstance(time, (int, float)):
        raise InputError(f"time: found {time!r}, expected seconds, or a text such as 10s")
    return f"{float(time):.9f} s"
