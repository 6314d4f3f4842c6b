"""One part of N of what is read: the parts one after another are the whole.

The inputs lie one after another, each as long as its bytes on the disk; part I has those from
(I-1)/N to I/N of all. What is cut out of an input are whole units of it, in which every run reads
it: blocks of a plain file, each up to its last line end; batches of a table; chunks of what is
compressed or has rows of its own. So a part reads what one run reads, piece by piece.
"""

from __future__ import annotations

from typing import NamedTuple


class Shard(NamedTuple):
    """Part `number` of `of`; the first is 1."""

    number: int
    of: int

    @classmethod
    def named(cls, text: str | None) -> Shard | None:
        """Return the part that --shard names, or None without it."""
        return cls(*map(int, text.split("/"))) if text else None

    def cut(self, units: int) -> range:
        """Return which of so many units are this part's."""
        return range(_up(units * (self.number - 1), self.of), _up(units * self.number, self.of))


class Span(NamedTuple):
    """What of an input is a part's: bytes `start` to `stop` of `size`."""

    start: int
    stop: int
    size: int

    def cut(self, units: int) -> range:
        """Return which of the units of the input are the part's."""
        return range(_up(units * self.start, self.size), _up(units * self.stop, self.size))

    @property
    def is_last(self) -> bool:
        """Whether it goes to the end of the input."""
        return self.stop == self.size


def _up(number: int, by: int) -> int:
    return -(-number // by)
