"""Records put aside on disk between two passes: what to re-emit, and the texts to look up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dialtools.freq.texts import Texts
from dialtools.streams.full import scratch_file
from dialtools.streams.payloads import PayloadSpool


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
