"""Pairs of a chunk as JSON lines, or as an Arrow batch whose contexts are views over the turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pickle import PickleBuffer
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from dialtools.corpora.flat import FlatTurns, running
from dialtools.pairs.fragments import Fragments
from dialtools.pairs.options import KINDS
from dialtools.pairs.windows import Pairs
from dialtools.streams.policy import Rejected
from dialtools.streams.tally import Tally
from dialtools.streams.text_columns import escaped

TURNS_AT_ONCE = 1 << 20
"""Turns of contexts whose lines are put together at once, at some 30 bytes each."""


@dataclass
class Mined:
    """The P pairs of one chunk, rendered.

    Attributes:
        payloads: of each part of the split (one, "", without): `Lines`, or an Arrow batch.
        parts: (P,) which of the payloads has each pair, in the order of the input.
        digests: of each pair, what is equal for equal pairs; where doubles are to be dropped.
        ahead: of each bad record, how many of the pairs stand before it.
    """

    payloads: dict[str, Any]
    parts: np.ndarray
    digests: list[bytes] | None
    tally: Tally
    rejected: list[Rejected]
    ahead: Sequence[int] = ()


def ahead(rejected: Sequence[Rejected], line_P: np.ndarray) -> list[int]:
    """Return how many of P pairs stand before each bad record.

    Args:
        line_P: where the record of each pair begins, in order.
    """
    return np.searchsorted(line_P, [bad.where.line for bad in rejected]).tolist()


@dataclass(frozen=True)
class Lines:
    """JSON lines in one piece, which crosses process borders in shared memory."""

    blob: bytes
    num_rows: int

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Lines, (PickleBuffer(self.blob), self.num_rows)

    def take(self, rows: np.ndarray) -> Lines:
        """Return the lines of an index array."""
        lines = self.blob.splitlines(keepends=True)
        return Lines(b"".join([lines[i] for i in rows]), len(rows))


def as_lines(pairs: Pairs, turns: FlatTurns, kind: str, follow: int) -> Lines:
    """Return a JSON line for each pair, as `orjson.dumps` writes its record."""
    some = running(pairs.window + follow) // TURNS_AT_ONCE
    parts = np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(some[1:])) + 1)
    blobs = (_lines(pairs.where(part), turns, kind, follow) for part in parts)
    return Lines(b"".join(blobs), len(pairs))


def _lines(pairs: Pairs, turns: FlatTurns, kind: str, follow: int) -> bytes:
    """Put lines together of fragments: a text is escaped once, however many windows it is in."""
    told = turns.named[pairs.dialogue] & KINDS[kind].tells_speakers
    line = Fragments(len(pairs))
    texts = line.add(escaped(turns.texts)) + np.arange(len(turns), dtype=np.int32)
    line.constant(b'{"context":["')
    line.run(texts, pairs.start, pairs.window, between=b'","')
    line.constant(b'"],"response":"')
    line.one(texts[pairs.response])
    line.some(b'","window":%d,"kind":' + orjson.dumps(kind), pairs.window)
    line.one(line.add(_fields("dialogue_id", turns.ids)) + pairs.dialogue)
    line.some(b',"turn":%d', pairs.response - turns.starts[pairs.dialogue])
    if told.any():
        said = turns.speakers.dictionary_encode()
        names = line.add([orjson.dumps(name) for name in [*said.dictionary.to_pylist(), None]])
        codes = np.int32(names) + np.asarray(said.indices.fill_null(len(said.dictionary)))
        line.either(told, b',"speakers":[', b"")
        line.run(codes, pairs.start, np.where(told, pairs.window + 1, 0), between=b",")
        line.either(told, b"]", b"")
    behind, most = _behind(kind, follow)
    if most:
        count = _following(pairs, turns, most)
        begin = b',"%s":[' % behind.encode()
        line.either(count > 0, begin + b'"', begin)
        line.run(texts, pairs.response + 1, count, between=b'","')
        line.either(count > 0, b'"]', b"]")
    for name, values in turns.facts.items():
        line.one(line.add(_fields(name, values)) + pairs.dialogue)
    line.constant(b"}\n")
    return line.joined()


def _fields(name: str, values: pa.Array) -> list[bytes]:
    """Return each value as a field of a JSON object that goes on; null as nothing."""
    key = b"," + orjson.dumps(name) + b":"
    return [b"" if value is None else key + orjson.dumps(value) for value in values.to_pylist()]


def _behind(kind: str, follow: int) -> tuple[str, int]:
    """Return what the turns behind a response are called, and how many of them a pair has."""
    return ("negatives", 1) if KINDS[kind].names_negative else ("follow", follow)


def _following(pairs: Pairs, turns: FlatTurns, follow: int) -> np.ndarray:
    """Return (P,) how many turns there are after each response, `follow` at most."""
    ends = (turns.starts + turns.sizes)[pairs.dialogue]
    return np.minimum(follow, ends - pairs.response - 1)


def as_batch(pairs: Pairs, turns: FlatTurns, kind: str, follow: int) -> pa.RecordBatch:
    """Return an Arrow batch; windows 1,2,3 share one copy of the context texts."""
    pairs, turns = _of_used(pairs, turns)
    start, response, dialogue = pairs.start, pairs.response, pairs.dialogue
    first, windows = pa.array(np.int32(start)), pa.array(np.int32(pairs.window))
    kinds = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(pairs), np.int8)), [kind])
    arrays = {
        "context": pa.ListViewArray.from_arrays(first, windows, turns.texts),
        "response": turns.texts.take(pa.array(response)),
        "window": windows,
        "kind": kinds,
        "dialogue_id": turns.ids.take(pa.array(dialogue)),
        "turn": pa.array(np.int32(response - turns.starts[dialogue])),
    }
    if KINDS[kind].tells_speakers:
        said = pa.array(np.int32(pairs.window + 1))
        arrays["speakers"] = pa.ListViewArray.from_arrays(first, said, turns.speakers)
    behind, most = _behind(kind, follow)
    if most:
        after = pa.array(_following(pairs, turns, most), pa.int32())
        next_ = pa.array(response + 1, pa.int32())
        arrays[behind] = pa.ListViewArray.from_arrays(next_, after, turns.texts)
    for name, values in turns.facts.items():
        arrays[name] = values.take(pa.array(dialogue))
    return pa.RecordBatch.from_pydict(arrays)


def _of_used(pairs: Pairs, turns: FlatTurns) -> tuple[Pairs, FlatTurns]:
    """Leave out dialogues that no pair comes from: of a split, or a sample."""
    is_used = np.bincount(pairs.dialogue, minlength=len(turns.sizes)) > 0
    if is_used.all():
        return pairs, turns
    used, dialogue = np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[pairs.dialogue]
    before, turns = turns.starts[used], turns.only(used)
    shift = (turns.starts - before)[dialogue]
    moved = (pairs.start + shift, pairs.end + shift, pairs.response + shift)
    return Pairs(*moved, dialogue), turns
