"""Pairs of a chunk as JSON lines, or as an Arrow batch whose contexts are views over the turns.

pyarrow is imported where batches are made: JSON lines do without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.pairs.options import KINDS
from dialtools.pairs.windows import FACTS, FlatTurns, Pairs
from dialtools.streams.policy import Rejected
from dialtools.streams.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Mined:
    """The pairs of one chunk, rendered.

    Attributes:
        payloads: of each part of the split (one, "", without): `Lines`, or an Arrow batch.
        digests: of each part, what is equal for equal pairs; where doubles are to be dropped.
        name: of the input that the chunk is of.
    """

    payloads: dict[str, Any]
    digests: dict[str, list[bytes]]
    tally: Tally
    rejected: list[Rejected] = field(default_factory=list)
    name: str = ""


def as_dicts(pairs: Pairs, turns: FlatTurns, kind: str, follow: int) -> Iterator[dict[str, Any]]:
    """Yield pair records."""
    texts, speakers, ids = turns.texts, turns.speakers, turns.ids
    starts = turns.starts.tolist()
    told = [KINDS[kind].tells_speakers and named for named in turns.named]
    behind, after = _behind(kind, follow)
    places = (pairs.start, pairs.end, pairs.response, pairs.dialogue)
    columns = zip(*(column.tolist() for column in places), strict=True)
    # the common case, in one literal
    if all(told) and not after and not turns.facts and None not in ids:
        for start, end, response, d in columns:
            yield {
                "context": texts[start:end],
                "response": texts[response],
                "window": end - start,
                "kind": kind,
                "dialogue_id": ids[d],
                "turn": response - starts[d],
                "speakers": speakers[start : response + 1],
            }
        return
    for start, end, response, d in columns:
        row = {
            "context": texts[start:end],
            "response": texts[response],
            "window": end - start,
            "kind": kind,
        }
        if ids[d] is not None:
            row["dialogue_id"] = ids[d]
        row["turn"] = response - starts[d]
        if told[d]:
            row["speakers"] = speakers[start : response + 1]
        if after:
            end_of_dialogue = starts[d] + turns.sizes[d]
            row[behind] = texts[response + 1 : min(response + 1 + after, end_of_dialogue)]
        yield row | {name: of[d] for name, of in turns.facts.items() if of[d] is not None}


def _behind(kind: str, follow: int) -> tuple[str, int]:
    """Return what the turns behind a response are called, and how many of them a pair has."""
    return ("negatives", 1) if KINDS[kind].names_negative else ("follow", follow)


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
    """Return a JSON line for each pair."""
    dumps, newline = orjson.dumps, orjson.OPT_APPEND_NEWLINE
    rows = as_dicts(pairs, turns, kind, follow)
    return Lines(b"".join([dumps(row, option=newline) for row in rows]), len(pairs))


def as_batch(pairs: Pairs, turns: FlatTurns, kind: str, follow: int) -> pa.RecordBatch:
    """Return an Arrow batch; windows 1,2,3 share one copy of the context texts."""
    import pyarrow as pa

    pairs, turns = _without_idle_dialogues(pairs, turns)
    texts = pa.array(turns.texts, pa.string())
    start = pa.array(pairs.start, pa.int32())
    kinds = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(pairs), np.int8)), [kind])
    sizes = np.asarray(turns.sizes, np.int64)
    arrays = {
        "context": pa.ListViewArray.from_arrays(start, pa.array(pairs.window, pa.int32()), texts),
        "response": texts.take(pa.array(pairs.response)),
        "window": pa.array(pairs.window, pa.int32()),
        "kind": kinds,
        "dialogue_id": pa.array(turns.ids, pa.string()).take(pa.array(pairs.dialogue)),
        "turn": pa.array(pairs.response - turns.starts[pairs.dialogue], pa.int32()),
    }
    if KINDS[kind].tells_speakers:
        speakers = pa.array(turns.speakers, pa.string())
        arrays["speakers"] = pa.ListViewArray.from_arrays(
            start, pa.array(pairs.window + 1, pa.int32()), speakers
        )
    behind, most = _behind(kind, follow)
    if most:
        after = np.minimum(most, (turns.starts + sizes)[pairs.dialogue] - pairs.response - 1)
        arrays[behind] = pa.ListViewArray.from_arrays(
            pa.array(pairs.response + 1, pa.int32()), pa.array(after, pa.int32()), texts
        )
    for name, values in turns.facts.items():
        of_dialogue = pa.array(values, FACTS[name])
        arrays[name] = of_dialogue.take(pa.array(pairs.dialogue))
    return pa.RecordBatch.from_pydict(arrays)


def _without_idle_dialogues(pairs: Pairs, turns: FlatTurns) -> tuple[Pairs, FlatTurns]:
    """Leave out the dialogues that no pair comes from: of a split, or a sample."""
    used, place = np.unique(pairs.dialogue, return_inverse=True)
    if len(used) == len(turns.sizes):
        return pairs, turns
    smaller, starts = FlatTurns(), turns.starts
    for d in used:
        span = slice(int(starts[d]), int(starts[d]) + turns.sizes[d])
        smaller.texts += turns.texts[span]
        smaller.speakers += turns.speakers[span]
        smaller.ids.append(turns.ids[d])
        smaller.lines.append(turns.lines[d])
        smaller.sizes.append(turns.sizes[d])
    smaller.facts = {name: [values[d] for d in used] for name, values in turns.facts.items()}
    shift = (smaller.starts - starts[used])[place] if len(used) else np.zeros(0, np.int64)
    moved = Pairs(
        start=pairs.start + shift,
        end=pairs.end + shift,
        response=pairs.response + shift,
        dialogue=place,
    )
    return moved, smaller
