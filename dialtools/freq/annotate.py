"""Records with their weights: spliced into JSON lines as they stand, or one more column of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.freq.texts import Texts
from dialtools.streams.sinks import record_batches

if TYPE_CHECKING:
    import pyarrow as pa

WEIGHT = "weight"
Weighed = tuple[Any, np.ndarray]
"""JSON lines or an Arrow batch of T records, and their (T,) weights."""


def weighed(
    parts: Iterable[Texts], weigh: Callable[[pa.Array], np.ndarray], *, held_bytes: int
) -> Iterator[Weighed]:
    """Yield each part's payload and weights; looks up what fills `held_bytes` at once, as a lookup reads all counts."""
    held: list[Texts] = []
    size = 0
    for part in parts:
        held.append(part)
        size += part.texts.nbytes + (
            len(part.payload) if isinstance(part.payload, bytes) else part.payload.nbytes
        )
        if size >= held_bytes:
            yield from _weighed(held, weigh)
            held, size = [], 0
    if held:
        yield from _weighed(held, weigh)


def _weighed(held: list[Texts], weigh: Callable[[pa.Array], np.ndarray]) -> Iterator[Weighed]:
    import pyarrow as pa

    weights, at = weigh(pa.chunked_array([part.texts for part in held], pa.string())), 0
    for part in held:
        yield part.payload, weights[at : at + len(part.texts)]
        at += len(part.texts)


def first(part: Weighed, rows: int) -> Weighed:
    """Return the first records of a part."""
    payload, weights = part
    kept = (
        b"".join(payload.splitlines(keepends=True)[:rows])
        if isinstance(payload, bytes)
        else payload.slice(0, rows)
    )
    return kept, weights[:rows]


def rendered(parts: Iterable[Weighed], *, kind: str, columns: bool) -> Iterator[Any]:
    """Yield what a writer of a format takes; `columns` tells that the parts are batches."""
    if kind == "jsonl":
        return (as_lines(*part) for part in parts)
    if columns:
        return (as_batch(*part) for part in parts)
    return record_batches(record for part in parts for record in as_records(*part))


def as_lines(payload: Any, weights: np.ndarray) -> bytes:
    """Return JSON lines with the weights; the bytes of every other field stay as they are."""
    if not isinstance(payload, bytes):
        option = orjson.OPT_APPEND_NEWLINE
        return b"".join(
            [orjson.dumps(row, option=option, default=str) for row in as_records(payload, weights)]
        )
    distinct, which = np.unique(weights, return_inverse=True)
    ends = [b',"weight":%b}\n' % orjson.dumps(weight) for weight in distinct.tolist()]
    lines = zip(
        payload.split(b"\n"), which.tolist(), strict=False
    )  # after the last line end comes nothing
    if b'"weight"' not in payload and b"\\u" not in payload:
        return b"".join([line[:-1] + ends[i] for line, i in lines])
    return b"".join([_replaced(line, ends[i], float(distinct[i])) for line, i in lines])


def _replaced(line: bytes, end: bytes, weight: float) -> bytes:
    record = orjson.loads(line)
    if WEIGHT not in record:
        return line[:-1] + end
    return orjson.dumps(record | {WEIGHT: weight}, option=orjson.OPT_APPEND_NEWLINE)


def as_records(payload: Any, weights: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield records with their weights."""
    if isinstance(payload, bytes):
        rows = (orjson.loads(line) for line in payload.splitlines())
    else:
        rows = ({k: v for k, v in row.items() if v is not None} for row in payload.to_pylist())
    yield from (row | {WEIGHT: weight} for row, weight in zip(rows, weights.tolist(), strict=True))


def as_batch(batch: pa.RecordBatch, weights: np.ndarray) -> pa.RecordBatch:
    """Return a batch with a column of float32 weights, in place of one it had; views and dictionaries stay."""
    import pyarrow as pa

    column = pa.array(weights.astype(np.float32))
    if WEIGHT in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(WEIGHT), WEIGHT, column)
    return batch.append_column(WEIGHT, column)
