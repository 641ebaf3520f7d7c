"""The exceptions of the package."""

from __future__ import annotations


class Error(Exception):
    """Base of all exceptions of rankwright."""


class InputError(Error, ValueError):
    """An input or an argument is wrong.

    The text says where, what was found, what was expected and what to do.

    Attributes:
        file: The file, or what stands for it; ``None`` for an argument.
        line: The line in it, from 1; ``None`` if unknown.
        field: The field, as the user wrote it; ``None`` if unknown.
    """

    def __init__(
        self, text: str, file: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        # All arguments go to the base: so exceptions of worker processes can be pickled.
        super().__init__(text, file, line, field)
        self.text = text
        self.file = file
        self.line = line
        self.field = field

    def __str__(self) -> str:
        return self.text


class InfeasibleError(Error):
    """What was asked for is not possible, such as more ranks than cores."""
