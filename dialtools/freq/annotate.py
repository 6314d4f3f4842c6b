"""Records with their weights: spliced into JSON lines as they stand, or as a column of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from dialtools.freq.texts import Texts
from dialtools.streams import exact
from dialtools.streams.rows import rows as rows_of
from dialtools.streams.sinks import record_batches

WEIGHT = "weight"


class Weighed(NamedTuple):
    """JSON lines or an Arrow batch of T records, and their (T,) weights."""

    payload: bytes | pa.RecordBatch
    weights: np.ndarray

    @property
    def is_lines(self) -> bool:
        """Whether the payload is JSON lines."""
        return isinstance(self.payload, bytes)

    def first(self, rows: int) -> Weighed:
        """Return the first records."""
        payload = self.payload
        if isinstance(payload, bytes):
            payload = b"".join([line + b"\n" for line in payload.split(b"\n")[:rows]])
        else:
            payload = payload.slice(0, rows)
        return Weighed(payload, self.weights[:rows])


def weighed(
    parts: Iterable[Texts], weigh: Callable[[pa.Array], np.ndarray], *, held_bytes: int
) -> Iterator[Weighed]:
    """Yield each part's payload and weights.

    Looks up what fills `held_bytes` at once, as a lookup reads all counts.
    """
    held: list[Texts] = []
    size = 0
    for part in parts:
        held.append(part)
        size += part.texts.nbytes + _size(part.payload)
        if size >= held_bytes:
            yield from _weighed(held, weigh)
            held, size = [], 0
    if held:
        yield from _weighed(held, weigh)


def _size(payload: bytes | pa.RecordBatch | None) -> int:
    """Return the bytes of a payload."""
    assert payload is not None  # what is to be re-emitted was asked for
    return len(payload) if isinstance(payload, bytes) else payload.nbytes


def _weighed(held: list[Texts], weigh: Callable[[pa.Array], np.ndarray]) -> Iterator[Weighed]:
    weights = weigh(pa.chunked_array([part.texts for part in held], pa.string()))
    at = 0
    for part in held:
        assert part.payload is not None
        yield Weighed(part.payload, weights[at : at + len(part.texts)])
        at += len(part.texts)


def rendered(parts: Iterable[Weighed], *, lines: bool, columns: bool) -> Iterator[Any]:
    """Yield what a writer takes.

    Args:
        lines: it writes JSON lines.
        columns: the parts are batches.
    """
    if lines:
        return (as_lines(part) for part in parts)
    if columns:
        return (as_batch(part) for part in parts)
    return record_batches(record for part in parts for record in as_records(part))


def as_lines(part: Weighed) -> bytes:
    """Return JSON lines with the weights; the bytes of every other field stay as they are."""
    payload, weights = part
    if not isinstance(payload, bytes):
        option = orjson.OPT_APPEND_NEWLINE
        rows = as_records(part)
        return b"".join([orjson.dumps(row, option=option, default=str) for row in rows])
    distinct, which = np.unique(weights, return_inverse=True)  # each is written as text once
    ends = [b',"weight":%b}\n' % orjson.dumps(weight) for weight in distinct.tolist()]
    # not strict: after the last line end comes nothing, which is no line
    lines = zip(payload.split(b"\n"), which.tolist(), strict=False)
    # a name may also be written with escapes of its letters
    if b'"weight"' not in payload and b"\\u" not in payload:
        return b"".join([line[:-1] + ends[i] for line, i in lines])
    return b"".join([_replaced(line, ends[i], float(distinct[i])) for line, i in lines])


def _replaced(line: bytes, end: bytes, weight: float) -> bytes:
    record = exact.loads(line)
    if WEIGHT not in record:
        return line[:-1] + end
    return orjson.dumps(record | {WEIGHT: weight}, option=orjson.OPT_APPEND_NEWLINE)


def as_records(part: Weighed) -> Iterator[dict[str, Any]]:
    """Yield records with their weights."""
    payload, weights = part
    if isinstance(payload, bytes):
        rows = map(exact.loads, payload.split(b"\n")[:-1])
    else:
        rows = rows_of(payload)
    yield from (row | {WEIGHT: weight} for row, weight in zip(rows, weights.tolist(), strict=True))


def as_batch(part: Weighed) -> pa.RecordBatch:
    """Return a batch with a column of float32 weights, in place of one it had.

    Views and dictionaries stay.
    """
    batch = part.payload
    assert not isinstance(batch, bytes)
    column = pa.array(part.weights.astype(np.float32))
    if WEIGHT in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(WEIGHT), WEIGHT, column)
    return batch.append_column(WEIGHT, column)
