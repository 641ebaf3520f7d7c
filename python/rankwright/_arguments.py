"""Arguments of users, checked; their files; and objects that travel between processes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._errors import Error, InputError


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
