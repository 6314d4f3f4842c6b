"""What a part reads of the inputs; which part that is, `streams.shards` tells."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dialtools.errors import DataError
from dialtools.streams.bytesio import own_name
from dialtools.streams.policy import Policy, Where
from dialtools.streams.provenance import input_bytes
from dialtools.streams.shards import Shard, Span
from dialtools.streams.tally import Tally

T = TypeVar("T")


def spans(paths: Sequence[str], shard: Shard | None) -> Iterator[tuple[str, Span | None]]:
    """Yield the inputs that a part reads, each with what is read of it; None is all.

    Args:
        shard: None is all inputs.

    Raises:
        DataError: if an input is not there, or can be read once only.
    """
    if shard is None:
        yield from ((path, None) for path in paths or ("-",))
        return
    sizes = [_size(path) for path in paths]
    mine, before = shard.cut(sum(sizes)), 0
    for path, size in zip(paths, sizes, strict=True):
        start, stop = max(mine.start - before, 0), min(mine.stop - before, size)
        before += size
        if start < stop:
            yield path, Span(start, stop, size) if stop - start < size else None


def _size(path: str) -> int:
    """Return the bytes of an input; of an empty one 1, so that some part reads it."""
    size = input_bytes(path)
    if size is None:
        there = Path(path).exists()
        what = "--shard reads files, not a pipe" if there else "no such file or directory"
        raise DataError(what, where=own_name(path))
    return max(1, size)


class Elsewhere(Policy):
    """Bad records are another part's until this one has begun.

    Attributes:
        begun: whether what is read now is this part's.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__("skip")
        self.policy = policy
        self.begun = False

    def reject(
        self, where: Where, message: str, raw: object = b"", hint: str | None = None
    ) -> None:
        if self.begun:
            self.policy.reject(where, message, raw, hint)


def within(
    span: Span | None,
    units: Callable[[Policy, Tally], Iterator[T]],
    policy: Policy,
    tally: Tally | None = None,
) -> Iterator[T]:
    """Yield the units of an input that a part has; they are counted first, so it is read twice.

    Args:
        span: None is all of it.
        units: reads the input, from its beginning.
        tally: gets what is counted of the part.
    """
    tally = Tally() if tally is None else tally
    if span is None:
        yield from units(policy, tally)
        return
    mine = span.cut(sum(1 for _ in units(Elsewhere(policy), Tally())))
    elsewhere = Elsewhere(policy)
    every = units(elsewhere, tally)
    deque(islice(every, mine.start), maxlen=0)
    if mine.start:
        tally.forget()
    elsewhere.begun = True
    yield from every if span.is_last else islice(every, len(mine))
