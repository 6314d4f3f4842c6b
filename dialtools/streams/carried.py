"""A value that JSON has no kind for, on its way from a column to whatever is written.

A light module: who meets such a value needs no pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast


class Carried:
    """A time in nanoseconds, a decimal, bytes, ...: to a table as it came, to JSON as text.

    Attributes:
        scalar: the Arrow scalar.
    """

    __slots__ = ("scalar",)

    def __init__(self, scalar: Any) -> None:
        self.scalar = scalar

    @property
    def kind(self) -> str:
        """The name of its type."""
        return str(self.scalar.type)

    def __str__(self) -> str:
        from dialtools.streams.rows import text_of_scalar

        return text_of_scalar(self.scalar)

    __repr__ = __str__  # in messages, and inside of lists

    def __reduce__(self) -> tuple[Any, ...]:
        from dialtools.streams.rows import alone

        # arrays travel to another process, scalars with more digits than Python has do not
        return _first, (alone(self.scalar),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Carried) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _first(array: Any) -> Carried:
    return Carried(array[0])


def scalars(values: Iterable[Any]) -> list[Any]:
    """Return values as a table takes them."""
    return [_scalar(value) for value in values]


def _scalar(value: Any) -> Any:
    if isinstance(value, list):
        return scalars(cast("list[Any]", value))
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {name: _scalar(part) for name, part in parts.items()}
    return value.scalar if isinstance(value, Carried) else value
