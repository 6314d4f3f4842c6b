"""Records put aside on disk between two passes: what to re-emit, and the texts to look up."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa

from dialtools.freq.texts import Texts
from dialtools.streams.full import scratch_file


class _Part(NamedTuple):
    """A batch that was put aside: its input, and how its payload lies on disk."""

    source: int
    name: str
    columnar: bool
    bytes: int


class Spool:
    """Holds on disk what `add` was given, and gives it back in that order."""

    def __init__(self) -> None:
        self.payloads = scratch_file()
        self.texts = scratch_file()
        self.parts: list[_Part] = []
        self.stream: Any = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.payloads.close()
        self.texts.close()

    def add(self, texts: Texts) -> None:
        """Put a batch aside."""
        batch = pa.RecordBatch.from_arrays([texts.texts], ["text"])
        self.stream = self.stream or pa.ipc.new_stream(self.texts, batch.schema)
        self.stream.write_batch(batch)
        assert texts.payload is not None  # what is to be re-emitted was asked for
        columnar = not isinstance(texts.payload, bytes)
        payload = _packed(texts.payload) if columnar else texts.payload
        self.payloads.write(payload)
        self.parts.append(_Part(texts.source, texts.name, columnar, len(payload)))

    def __iter__(self) -> Iterator[Texts]:
        if not self.parts:
            return
        self.stream.close()
        self.texts.seek(0)
        self.payloads.seek(0)
        with pa.ipc.open_stream(self.texts) as batches:
            for part, batch in zip(self.parts, batches, strict=True):
                payload: Any = self.payloads.read(part.bytes)
                if part.columnar:
                    payload = pa.ipc.open_stream(payload).read_next_batch()
                yield Texts(part.source, part.name, batch["text"], payload=payload)


def _packed(batch: pa.RecordBatch) -> pa.Buffer:
    """Return a batch as the bytes of a stream of its own."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()
