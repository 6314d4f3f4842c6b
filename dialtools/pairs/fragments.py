"""Many lines put together of few pieces of text, by their numbers: no line is a Python object."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class Fragments:
    """L lines, each of which is given its fragments from left to right."""

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self._pools: list[pa.Array] = []
        self._known = 0
        self._columns: list[tuple[Any, Run | None]] = []

    def add(self, texts: Any) -> int:
        """Take up fragments, texts of Arrow or a list of bytes; return the first's number."""
        first = self._known
        pool = texts.cast(pa.large_binary()) if isinstance(texts, pa.Array) else texts
        self._pools.append(pa.array(pool, pa.large_binary()) if pool is texts else pool)
        self._known += len(texts)
        return first

    def constant(self, text: bytes) -> None:
        """Continue each line with the same text."""
        self.one(np.int32(self.add([text])))

    def one(self, fragments: np.ndarray | np.int32) -> None:
        """Continue each line with a fragment, by its number."""
        self._columns.append((fragments.astype(np.int32, copy=False), None))

    def some(self, form: bytes, numbers: np.ndarray) -> None:
        """Continue each line with a number, of few small ones, in a form such as b"[%d]"."""
        there = np.bincount(numbers) > 0
        known = self.add([form % number for number in np.flatnonzero(there).tolist()])
        place = np.cumsum(there, dtype=np.int32) + np.int32(known - 1)
        self.one(place[numbers])

    def either(self, which: np.ndarray, yes: bytes, no: bytes) -> None:
        """Continue each line with one of two texts."""
        if which.all():
            return self.constant(yes)
        self.one(np.where(which, np.int32(self.add([yes])), np.int32(self.add([no]))))

    def run(
        self, fragments: np.ndarray, start: np.ndarray, count: np.ndarray, *, between: bytes
    ) -> None:
        """Continue each line with fragments in a row, `count` from `start` on.

        Args:
            fragments: numbers of which a row is taken.
            between: stands between two of them.
        """
        self._columns.append((fragments, Run(start, count, np.int32(self.add([between])))))

    def joined(self) -> bytes:
        """Return all lines, one after another; the last column is of one fragment."""
        sizes = [1 if run is None else run.size for _, run in self._columns]
        total = np.zeros(self.lines, np.int32) + sum(sizes)
        at = np.cumsum(total, dtype=np.int32) - total
        order = np.empty(int(total.sum()), np.int32)
        for (fragments, run), size in zip(self._columns, sizes, strict=True):
            if run is None:
                order[at] = fragments
            else:
                which, place = run.places(at)
                order[place] = fragments[which]
                order[place + 1] = run.between  # what comes next takes the place of the last
            at += size
        taken = pa.concat_arrays(self._pools).take(pa.array(order))
        data = taken.buffers()[2]
        return data.to_pybytes() if data else b""


class Run(NamedTuple):
    """Of each line, `count` fragments from `start` on, and what stands between two of them."""

    start: np.ndarray
    count: np.ndarray
    between: np.int32

    @property
    def size(self) -> np.ndarray:
        """(L,) fragments, with those between."""
        return np.maximum(2 * self.count - 1, 0).astype(np.int32)

    def places(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which fragments there are, and the place of each, where lines go on `at`."""
        first = np.cumsum(self.count, dtype=np.int32) - self.count
        each = np.arange(self.count.sum(), dtype=np.int32)
        shift = np.stack([self.start - first, at - 2 * first]).astype(np.int32)
        which, place = np.repeat(shift, self.count, axis=1)
        return which + each, place + 2 * each
