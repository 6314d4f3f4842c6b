"""Inputs cut into chunks that workers can decode: whole lines, or a batch of columns.

Where a chunk ends depends on the input alone, never on the number of workers.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pickle import PickleBuffer
from typing import Any

import orjson

from dialtools.errors import DataError
from dialtools.streams.bytesio import display_name, open_input
from dialtools.streams.ecd import LINES
from dialtools.streams.policy import Policy, Where

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
CHUNK_BYTES = 1 << 17
MAX_LINE_BYTES = 64 << 20
BATCH_ROWS = 4096
WHOLE = "a record a line is expected; a corpus as it was published is named with --from (`dialtools formats` lists them)"


@dataclass(frozen=True)
class Chunk:
    """Part of an input: `data` is whole lines (jsonl, text), records (rows), or an Arrow batch (arrow).

    Rows that span several lines have `lines`, where each begins; else they follow one another from
    `first` on.
    """

    name: str
    first: int
    format: str
    data: Any
    lines: tuple[int, ...] | None = None

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        data = (
            PickleBuffer(self.data) if isinstance(self.data, bytes) else self.data
        )  # bytes cross in shared memory
        return Chunk, (self.name, self.first, self.format, data, self.lines)


def input_format(path: str, given: str | None, head: bytes = b"") -> str:
    """Return the format by --from, else by suffix, else by magic bytes, else JSONL."""
    if given:
        return given
    suffixes = [s for s in Path(path).suffixes if s not in (".gz", ".zst")]
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    if head[:4] == b"PAR1":
        return "parquet"
    return "arrow" if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff" else "jsonl"


def read_chunks(
    paths: Sequence[str],
    *,
    format: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    prompt: bool = False,
    whole_dialogues: bool = True,
) -> Iterator[Chunk]:
    """Yield the chunks of each input in turn; holds one chunk.

    Args:
        paths: files; `-`, or no path at all, is stdin.
        prompt: hand on the lines that a pipe has, rather than wait for a full chunk.
        whole_dialogues: cut plain text at blank lines only, so that no dialogue is cut in two.

    Raises:
        DataError: if an input cannot be opened or is damaged.
    """
    for path in paths or ("-",):
        name = display_name(path)
        with open_input(path) as stream:
            kind = input_format(path, format, stream.peek(6)[:6])
            if kind in ("parquet", "arrow"):
                yield from _batches(stream, path, name, kind)
            elif kind in ("jsonl", "text", *LINES):
                read = stream.read1 if prompt else stream.read
                border = _blank_line if kind == "text" and whole_dialogues else _line_end
                yield from _lines(partial(read, chunk_bytes), name, kind, border)
            else:
                raise DataError(
                    f"cannot read {kind} here",
                    where=name,
                    hint="dial-pairs reads csv and tsv chat logs",
                )


def _lines(
    read: Callable[[], bytes], name: str, kind: str, border: Callable[[bytes], int]
) -> Iterator[Chunk]:
    """Cut after the last border of what was read."""
    first, held = 1, b""
    while block := read():
        held = held + block if held else block
        end = border(held)
        if end <= 0:
            if len(held) > MAX_LINE_BYTES:
                raise DataError(
                    f"a line is longer than {MAX_LINE_BYTES >> 20} MiB", where=Where(name, first)
                )
            continue
        yield Chunk(name, first, kind, held[:end])
        first += held.count(b"\n", 0, end)
        held = held[end:]
    if held:
        yield Chunk(name, first, kind, held)


def _line_end(held: bytes) -> int:
    return held.rfind(b"\n") + 1


def _blank_line(held: bytes) -> int:
    return max(
        held.rfind(b"\n\n") + 2 if b"\n\n" in held else 0,
        held.rfind(b"\n\r\n") + 3 if b"\n\r\n" in held else 0,
    )


def _batches(stream: io.BufferedReader, path: str, name: str, kind: str) -> Iterator[Chunk]:
    import pyarrow as pa

    first = 1
    try:
        for batch in _parquet(stream, path) if kind == "parquet" else _arrow(stream):
            if batch.num_rows:
                yield Chunk(name, first, "arrow", batch)
                first += batch.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise DataError(f"damaged {kind}: {str(error).splitlines()[0]}", where=name) from None


def _parquet(stream: io.BufferedReader, path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    if path != "-" and Path(path).suffix == ".parquet":
        yield from pq.ParquetFile(path).iter_batches(batch_size=BATCH_ROWS)
        return
    with tempfile.TemporaryFile() as spool:  # Parquet's table of contents is at its end
        while block := stream.read(1 << 20):
            spool.write(block)
        spool.seek(0)
        yield from pq.ParquetFile(spool).iter_batches(batch_size=BATCH_ROWS)


def _arrow(stream: io.BufferedReader) -> Iterator[Any]:
    import pyarrow as pa

    if stream.peek(6)[:6] == b"ARROW1":
        with tempfile.TemporaryFile() as spool:
            while block := stream.read(1 << 20):
                spool.write(block)
            spool.seek(0)
            reader = pa.ipc.open_file(spool)
            yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
        return
    yield from pa.ipc.open_stream(stream)


def records(chunk: Chunk, policy: Policy) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line (or row) number and record; lines that are no JSON object go to the policy."""
    if chunk.format == "jsonl":
        yield from _json_records(chunk, policy)
    elif chunk.format == "arrow":
        rows = chunk.data.to_pylist()
        yield from (
            (n, {k: v for k, v in row.items() if v is not None})
            for n, row in enumerate(rows, chunk.first)
        )
    elif chunk.format in LINES:
        yield from _line_records(chunk, policy)
    elif chunk.format == "rows":
        yield from (
            zip(chunk.lines, chunk.data, strict=True)
            if chunk.lines
            else enumerate(chunk.data, chunk.first)
        )
    else:
        lines = enumerate(chunk.data.split(b"\n"), chunk.first)
        yield from (
            (n, {"text": text})
            for n, line in lines
            if (text := decode(line, Where(chunk.name, n), policy))
        )


def _line_records(chunk: Chunk, policy: Policy) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first):
        where = Where(chunk.name, number)
        if line.strip() and (text := decode(line, where, policy, "\r")):
            try:
                yield number, LINES[chunk.format](text)
            except ValueError as error:
                policy.reject(where, str(error), line)


def _json_records(chunk: Chunk, policy: Policy) -> Iterator[tuple[int, dict[str, Any]]]:
    loads = orjson.loads
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first):
        try:
            record = loads(line)
        except orjson.JSONDecodeError as error:
            if line.strip():
                policy.reject(
                    Where(chunk.name, number), why_not_json(line, error), line, _hint(line, number)
                )
            continue
        if type(record) is dict:
            yield number, record
        else:
            policy.reject(
                Where(chunk.name, number), "expected a JSON object", line, _hint(line, number)
            )


def _hint(line: bytes, number: int) -> str | None:
    """Return what to do about a file that begins like a whole JSON document: a list, or an object over several lines."""
    begins = line.strip()
    return (
        WHOLE
        if number == 1 and (begins[:1] == b"[" or begins.endswith((b"{", b"[", b",")))
        else None
    )


def why_not_json(line: bytes, error: Exception) -> str:
    """Say what is wrong with a line: a NUL, bytes that are not UTF-8, or broken JSON, and where."""
    if b"\0" in line:
        return f"NUL at byte {line.index(0) + 1}"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return f"invalid UTF-8 at byte {bad.start + 1}"
    return f"not JSON: {str(error).split(': line')[0]}"


def decode(line: bytes, where: Where, policy: Policy, blanks: str | None = None) -> str | None:
    """Return a line of text without the blanks at its ends, or None if it is empty or rejected."""
    if b"\0" in line:
        policy.reject(where, f"NUL at byte {line.index(0) + 1}", line)
        return None
    try:
        return line.decode("utf-8").strip(blanks) or None
    except UnicodeDecodeError as bad:
        policy.reject(where, f"invalid UTF-8 at byte {bad.start + 1}", line)
        return None


def read_records(
    paths: Sequence[str], *, format: str | None = None, policy: Policy
) -> Iterator[tuple[Where, dict[str, Any]]]:
    """Yield each record with its place; holds one chunk."""
    for chunk in read_chunks(paths, format=format):
        for number, record in records(chunk, policy):
            yield Where(chunk.name, number), record
