"""Records, lines and batches to a file or stdout, compressed by suffix, atomic.

Light commands write lines, and should not pay for tables: `streams.table_writers` has these.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import orjson

from dialtools.catalog import load
from dialtools.errors import ConfigError
from dialtools.shown import printable_lines
from dialtools.streams.atomic import atomic_file, is_special
from dialtools.streams.failure import telling_failure
from dialtools.streams.formats import (
    DEFAULT,
    FOREIGN,
    FORMATS,
    OUTPUT_FORMATS,
    by_suffix,
    is_archive,
    last_suffix,
)
from dialtools.streams.pipes import widen

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[[Any], None]


def output_format(
    path: str,
    to: str | None,
    *,
    formats: Sequence[str] = OUTPUT_FORMATS,
    default: str = DEFAULT,
    dry: bool = False,
) -> str:
    """Return the format by --to, else by the suffix of the file, else the default.

    Args:
        formats: those that the command can write.
        dry: nothing will be written, so a terminal is no obstacle.

    Raises:
        ConfigError: if it cannot be written here: stdout is a terminal and the format binary, or
            the format cannot be streamed.
    """
    kind = to or by_suffix(path) or default
    if not to and (last_suffix(path) in FOREIGN or is_archive(path)):
        hint = f"--to {', '.join(formats)}; .gz or .zst compresses lines"
        raise ConfigError(f"cannot write {last_suffix(path)} files", hint=hint)
    if kind not in formats:
        raise ConfigError(f"cannot write {kind}", hint=f"--to {', '.join(formats)}")
    if FORMATS[kind].seeks and (path == "-" or Path(path).is_fifo()):
        where = "stdout" if path == "-" else "a pipe"
        raise ConfigError(f"{kind} cannot be streamed to {where}", hint="name -o FILE")
    if path == "-" and not FORMATS[kind].lines and sys.stdout.isatty() and not dry:
        hint = "name -o FILE, or --to jsonl"
        raise ConfigError(f"will not write {kind} to a terminal", hint=hint)
    return kind


def writer(
    output: str,
    *,
    format: str,
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
    floats: bool = False,
) -> AbstractContextManager[Write]:
    """Open an output; the yielded function takes what the format has: blobs of lines, or batches.

    Args:
        metadata: key-value metadata of a table.
        floats: embedding files: the columns of floats are stored as such (BYTE_STREAM_SPLIT and no
            dictionary in Parquet).
    """
    opened = load(FORMATS[format].writer)
    return opened(output, overwrite=overwrite, metadata=metadata or {}, floats=floats)


def is_stream(output: str) -> bool:
    """Tell whether somebody may read the output while it is written: stdout, or a FIFO."""
    return output == "-" or is_special(output)


@contextmanager
def open_output(path: str, *, overwrite: bool) -> Generator[BinaryIO]:
    """Open stdout for `-`, or a file that appears whole or not at all, compressed by suffix."""
    if path == "-":
        widen(1)
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with (
        atomic_file(path, overwrite=overwrite) as temporary,
        temporary.open("wb") as raw,
        _compressed(raw, path) as file,
    ):
        yield file


@contextmanager
def _compressed(raw: BinaryIO, path: str) -> Generator[BinaryIO]:
    if path.lower().endswith(".gz"):
        # neither name nor time in the header: same content, same bytes
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as file:
            yield cast("BinaryIO", file)
    elif path.lower().endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as file:
            yield cast("BinaryIO", file)
    else:
        yield raw


def write_whole(file: BinaryIO, blob: Any) -> None:
    """Write all of it, or raise.

    Under PYTHONUNBUFFERED stdout is a raw file, which may write a part and say no more.
    """
    written = file.write(blob)
    while isinstance(file, io.RawIOBase) and written < len(blob):
        written += file.write(memoryview(blob)[written:])


@contextmanager
def line_writer(output: str, *, overwrite: bool, **_: Any) -> Generator[Write]:
    """Open an output for blobs of whole JSON lines, which carry no metadata."""
    watched = is_stream(output)
    with (
        open_output(output, overwrite=overwrite) as file,
        telling_failure(file) if watched else nullcontext(),
    ):
        seen = output == "-" and file.isatty()

        def write(blob: bytes) -> None:
            write_whole(file, printable_lines(blob) if seen else blob)
            if watched:  # who reads a pipe sees records as they come
                file.flush()

        yield write


def write_records(
    records: Iterable[dict[str, Any]],
    output: str,
    *,
    to: str | None = None,
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write dicts in the format of --to or of the file's suffix; holds one batch.

    Raises:
        DataError: if no table holds them, as which they are to be written.
    """
    kind = output_format(output, to)
    if FORMATS[kind].lines:
        payloads = map(json_line, records)
    else:
        from dialtools.streams.record_tables import record_batches

        payloads = record_batches(records, at_once=is_stream(output))
    with writer(output, format=kind, overwrite=overwrite, metadata=metadata) as write:
        for payload in payloads:
            write(payload)


def write_batches(
    batches: Iterable[pa.RecordBatch],
    output: str,
    *,
    format: str,
    overwrite: bool,
    metadata: Mapping[str, str],
) -> None:
    """Write Arrow batches in a format: as they are, or as JSON lines."""
    from dialtools.streams.rows import rows

    lines = FORMATS[format].lines
    with writer(output, format=format, overwrite=overwrite, metadata=metadata) as write:
        for batch in batches:
            write(b"".join(map(json_line, rows(batch))) if lines else batch)


def json_line(record: dict[str, Any]) -> bytes:
    """Return a record as a line of JSON."""
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(record, default=str, option=option)
