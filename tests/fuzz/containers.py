"""Records as files of every format, columns of every type, and what packs them."""

from __future__ import annotations

import bz2
import contextlib
import datetime
import decimal
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from fuzz import mutate
from fuzz.records import WIDTH, Record

Packed = tuple[str, bytes]
"""A suffix of a file's name, and its bytes."""


def as_text(records: Sequence[Record]) -> bytes:
    spoken = [str(record.get("text") or "\n".join(texts_of(record))) for record in records]
    return "\n\n".join(spoken).encode()


def texts_of(record: Record) -> list[str]:
    return [value for value in record.values() if isinstance(value, str)]


def as_csv(draw: Random, rows: Sequence[Any], delimiter: str = ",") -> bytes:
    """Return records, mutated ones among them, as CSV, now and then with quotes that are odd."""
    head = list(next((row for row in rows if isinstance(row, dict)), {"text": ""}))
    lines = [delimiter.join(head)]
    for row in rows:
        cells = list(row.values()) if isinstance(row, dict) else [row]
        lines.append(delimiter.join(_cell(draw, cell, delimiter) for cell in cells))
    ends = draw.choice(("\n", "\n", "\r\n", "\r"))
    text = draw.choice(("", "", "\ufeff", f"sep={delimiter}\n")) + ends.join(lines)
    codec = draw.choice((*["utf-8"] * 8, "utf-16", "utf-16-le", "cp1252"))
    return text.encode(codec, "surrogatepass" if codec.startswith("utf") else "replace")


def _cell(draw: Random, value: Any, delimiter: str) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if draw.random() < 0.02:
        return f'"{text}'
    if any(mark in text for mark in (delimiter, '"', "\n", "\r")) and draw.random() < 0.95:
        return '"{}"'.format(text.replace('"', '""'))
    return text


def as_table(records: Sequence[Record]) -> pa.Table:
    """Return records as columns, vectors as fixed lists; fields that are missing are null."""
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: _column([record.get(name) for record in records]) for name in names}
    for name in names:
        if name.endswith("embedding"):
            columns[name] = columns[name].cast(pa.list_(pa.float32(), WIDTH))
    return pa.table(columns)


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):
        return pa.array([None if value is None else repr(value) for value in values])


def odd_column(draw: Random, rows: int) -> pa.Array:
    """Return a column of a type that few expect."""
    make, kind = draw.choice(COLUMNS)
    values = [None if draw.random() < 0.2 else make(draw) for _ in range(rows)]
    array = pa.array(values, pa.binary() if kind is None else kind)
    return array if kind is not None else pa.Array.from_buffers(pa.string(), rows, array.buffers())


Drawn = Callable[[Random], Any]


def _const(*values: Any) -> Drawn:
    return lambda draw: draw.choice(values)


BYTES = _const(b"abc", b"\xff\xfe", b"\x00", b"")
BIG = _const(2**63 - 1, 0, 5, 10**15)
WHEN = _const(1700000000123456789, -(2**60), 0)
COLUMNS: tuple[tuple[Drawn, pa.DataType | None], ...] = (
    (BYTES, None),  # text that is not UTF-8
    (BYTES, pa.binary()),
    (BYTES, pa.large_binary()),
    (_const(b"abcd"), pa.binary(4)),
    *((WHEN, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    (WHEN, pa.timestamp("ns", "Europe/Oslo")),
    (WHEN, pa.duration("ns")),
    (_const(5, 86399999999999), pa.time64("ns")),
    (_const(0, 2**31 - 1, -(2**31)), pa.date32()),
    (_const(datetime.date(1, 1, 1)), pa.date64()),
    (_const((1, 2, 3)), pa.month_day_nano_interval()),
    (_const(decimal.Decimal("1.50")), pa.decimal128(20, 2)),
    (_const(decimal.Decimal("9" * 60)), pa.decimal256(70, 0)),
    (BIG, pa.uint64()),
    (BIG, pa.int64()),
    (_const(1, 0), pa.int8()),
    (_const(1.5, float("nan"), 1e300), pa.float64()),
    (_const(np.float16(1.5)), pa.float16()),
    (_const(True, False), pa.bool_()),
    (_const(None), pa.null()),
    (_const("a", "\x1b]0;x\x07", "é"), pa.large_string()),
    (_const("a", "b" * 40), pa.string_view()),
    (_const("a", "b"), pa.dictionary(pa.int8(), pa.string())),
    (_const(["a"], [None], []), pa.list_(pa.string())),
    (_const(["a"], [], ["b", "c"]), pa.large_list(pa.string())),
    (_const(["a", "b"]), pa.list_(pa.string(), 2)),
    (_const(["a"], []), pa.list_view(pa.string())),
    (_const([[1.0]], [[]]), pa.list_(pa.list_(pa.float32()))),
    (_const([1.0] * WIDTH, [float("nan")] * WIDTH), pa.list_(pa.float64(), WIDTH)),
    (_const([1] * WIDTH), pa.list_(pa.int8(), WIDTH)),
    (_const([]), pa.list_(pa.float32(), 0)),
    (_const({"text": "a", "speaker": 5}), pa.struct({"text": pa.string(), "speaker": pa.int8()})),
    (_const([{"text": "a"}]), pa.list_(pa.struct({"text": pa.string()}))),
    (_const([("a", 1)]), pa.map_(pa.string(), pa.int8())),
    (_const({}), pa.struct([])),
)
"""What a value of each type may be."""


def odd_table(draw: Random, table: pa.Table) -> pa.Table:
    """Return a table with a column or a few in other types, more, doubled, or with nulls."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        if not table.num_columns:
            return table
        at = draw.randrange(table.num_columns)
        name = draw.choice((table.column_names[at], *mutate.ODD_FIELDS))
        with contextlib.suppress(UnicodeError):
            field = name.encode().decode()
            new = odd_column(draw, table.num_rows)
            change = draw.choice(("set", "set", "set", "add", "drop", "view"))
            if change == "set":
                table = table.set_column(at, field, new)
            elif change == "add":
                table = table.append_column(field, new)
            elif change == "drop":
                table = table.remove_column(at)
            else:
                table = table.slice(draw.randrange(3))
    return table


def as_parquet(draw: Random, table: pa.Table) -> bytes:
    sink = io.BytesIO()
    rows = draw.choice((1, 7, 1000))
    pq.write_table(table, sink, compression=draw.choice(("none", "zstd")), row_group_size=rows)
    return sink.getvalue()


def as_arrow(draw: Random, table: pa.Table) -> bytes:
    sink = io.BytesIO()
    packs = pa.ipc.IpcWriteOptions(compression=draw.choice((None, None, "zstd", "lz4")))
    make = draw.choice((pa.ipc.new_stream, pa.ipc.new_stream, pa.ipc.new_file))
    with make(sink, table.schema, options=packs) as writer:
        for batch in table.to_batches(max_chunksize=draw.choice((3, 1000))):
            writer.write_batch(batch)
    return sink.getvalue()


def as_columns(draw: Random, table: pa.Table) -> Packed:
    """Return a table as Arrow, or as Parquet where that has its types."""
    if draw.random() < 0.5:
        with contextlib.suppress(pa.ArrowException):
            return ".parquet", as_parquet(draw, table)
    return ".arrow", as_arrow(draw, table)


def as_npy(draw: Random, rows: int) -> bytes:
    sink = io.BytesIO()
    kind = draw.choice(("f4", "f4", "f4", "f2", "f8", "i4", "c8", "U3", "?", ">f4", "V4"))
    shape = draw.choice(((rows, WIDTH), (rows, WIDTH), (rows,), (rows, 0), (rows, 2, 3), ()))
    np.save(sink, np.zeros(shape, kind))
    return sink.getvalue()


TAR_PACKS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


def compressed(draw: Random, content: bytes) -> Packed:
    """Return bytes compressed, in one part or two."""
    half = draw.choice((len(content), len(content) // 2))
    parts = [content[:half], content[half:]] if half < len(content) else [content]
    if draw.random() < 0.5:
        return ".gz", b"".join(gzip.compress(part, mtime=0) for part in parts)
    return ".zst", b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


def archived(draw: Random, files: dict[str, bytes]) -> Packed:
    """Return files as an archive."""
    sink = io.BytesIO()
    if draw.random() < 0.5:
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return ".zip", sink.getvalue()
    packs = draw.choice(tuple(TAR_PACKS))
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return f".tar{packs}", TAR_PACKS[packs](sink.getvalue())
