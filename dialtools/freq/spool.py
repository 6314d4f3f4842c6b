"""Records put aside on disk between two passes: what is to be re-emitted, and the texts to look up."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dialtools.freq.texts import Texts

if TYPE_CHECKING:
    import pyarrow as pa


class Spool:
    """Holds on disk what `add` was given, and gives it back in that order."""

    def __init__(self) -> None:
        self.payloads, self.texts = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed below
        self.parts: list[tuple[int, str, bool, int]] = []
        self.stream: Any = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.payloads.close()
        self.texts.close()

    def add(self, found: Texts) -> None:
        """Put a batch aside."""
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays([found.texts], ["text"])
        self.stream = self.stream or pa.ipc.new_stream(self.texts, batch.schema)
        self.stream.write_batch(batch)
        columnar = not isinstance(found.payload, bytes)
        payload = _packed(found.payload) if columnar else found.payload
        self.payloads.write(payload)
        self.parts.append((found.source, found.name, columnar, len(payload)))

    def __iter__(self) -> Iterator[Texts]:
        import pyarrow as pa

        if not self.parts:
            return
        self.stream.close()
        self.texts.seek(0)
        self.payloads.seek(0)
        with pa.ipc.open_stream(self.texts) as texts:
            for (source, name, columnar, size), batch in zip(self.parts, texts, strict=True):
                payload: Any = self.payloads.read(size)
                yield Texts(
                    source, name, batch["text"], payload=_unpacked(payload) if columnar else payload
                )


def _packed(batch: pa.RecordBatch) -> pa.Buffer:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def _unpacked(payload: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.ipc.open_stream(payload).read_next_batch()
