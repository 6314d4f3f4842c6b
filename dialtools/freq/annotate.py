"""Records with their weights: spliced into JSON lines as they stand, or as a column of a batch.

Between the two passes, of counting and of weighing, they are put aside on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from dialtools.freq.texts import Texts
from dialtools.streams.full import scratch_file
from dialtools.streams.payloads import Payload, PayloadSpool, batch_with, lines_with, records_of
from dialtools.streams.record_tables import record_batches

WEIGHT = "weight"


class Weighed(NamedTuple):
    """JSON lines or an Arrow batch of T records, and their (T,) weights."""

    payload: Payload
    weights: np.ndarray

    @property
    def is_lines(self) -> bool:
        """Whether the payload is JSON lines."""
        return isinstance(self.payload, bytes)


class Spool:
    """Holds on disk what `add` was given, and gives it back in that order."""

    def __init__(self) -> None:
        self.payloads = PayloadSpool()
        self.texts = scratch_file()
        self.parts: list[tuple[int, str]] = []
        """The input of each batch, and its name."""
        self.stream: Any = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.payloads.close()
        self.texts.close()

    def add(self, texts: Texts) -> None:
        """Put a batch aside."""
        batch = pa.RecordBatch.from_arrays([texts.texts], ["text"])
        self.stream = self.stream or pa.ipc.new_stream(self.texts, batch.schema)
        self.stream.write_batch(batch)
        assert texts.payload is not None  # what is to be re-emitted was asked for
        self.payloads.add(texts.payload)
        self.parts.append((texts.source, texts.name))

    def __iter__(self) -> Iterator[Texts]:
        if not self.parts:
            return
        self.stream.close()
        self.texts.seek(0)
        with pa.ipc.open_stream(self.texts) as batches:
            for part, batch, payload in zip(self.parts, batches, self.payloads, strict=True):
                yield Texts(*part, batch["text"], payload=payload)


def first_texts(parts: Iterable[Texts], most: int | None) -> Iterator[Texts]:
    """Yield parts with what is to be re-emitted, until they have so many texts; None is all."""
    for part in parts:
        yield part if most is None else part.first(most)
        if most is not None and (most := most - len(part.texts)) <= 0:
            return


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


def _size(payload: Payload | None) -> int:
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


def rendered(
    parts: Iterable[Weighed], *, lines: bool, columns: bool, at_once: bool = True
) -> Iterator[Any]:
    """Yield what a writer takes.

    Args:
        lines: it writes JSON lines.
        columns: the parts are batches, or the first is, whose columns lines behind it have to fit.
        at_once: somebody reads while it is written.
    """
    if lines:
        return (as_lines(part) for part in parts)
    if columns:
        return (batch for part in parts for batch in as_batches(part))
    records = (record for part in parts for record in as_records(part))
    return record_batches(records, at_once=at_once)


def as_lines(part: Weighed) -> bytes:
    """Return JSON lines with the weights; the bytes of every other field stay as they are."""
    distinct, which = np.unique(part.weights, return_inverse=True)  # each is written as text once
    values = list(map(orjson.dumps, distinct.tolist()))
    return lines_with(part.payload, WEIGHT, values, which.tolist())


def as_records(part: Weighed) -> Iterator[dict[str, Any]]:
    """Yield records with their weights."""
    rows = zip(records_of(part.payload), part.weights.tolist(), strict=True)
    yield from (row | {WEIGHT: weight} for row, weight in rows)


def as_batches(part: Weighed) -> Iterator[pa.RecordBatch]:
    """Yield a batch with a column of float32 weights, in place of one it had; of lines several.

    Views and dictionaries stay.
    """
    if isinstance(part.payload, bytes):
        yield from record_batches(as_records(part), at_once=True)
    else:
        yield batch_with(part.payload, WEIGHT, pa.array(part.weights.astype(np.float32)))
