"""Tables as batches: how many rows at once, from whatever they come, and what damage is told."""

from __future__ import annotations

import gzip
import io
import os
import struct
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import DataError
from dialtools.streams import messages, tables
from dialtools.streams.bytesio import open_input
from dialtools.streams.tables import (
    _damage,
    _repeated_bytes,
    _row_bytes,
    arrow_batches,
    arrow_metadata,
    batches_as_written,
    parquet_batches,
    parquet_metadata,
    row_groups,
)

FIVE = pa.table({"n": range(5), "text": list("abcde")})


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def arrow(*batches: pa.RecordBatch, begin: Any = pa.ipc.new_stream) -> bytes:
    sink = io.BytesIO()
    with begin(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def read(path: Path, reader: Any) -> list[list[Any]]:
    with open_input(str(path)) as stream:
        return [batch["n"].to_pylist() for batch in reader(stream, str(path))]


def column(**changed: Any) -> Any:
    """A column of Parquet whose one long value is in a dictionary of half its bytes."""
    usual = {"statistics": None, "has_dictionary_page": True, "physical_type": "BYTE_ARRAY"}
    sizes = {"data_page_offset": 40, "dictionary_page_offset": 10}
    packed = {"total_compressed_size": 60, "total_uncompressed_size": 200}
    return SimpleNamespace(**{**usual, **sizes, **packed, **changed})


def test_a_row_may_take_as_much_as_the_longest_value_that_is_stored_once():
    told = SimpleNamespace(has_min_max=False)
    assert _repeated_bytes(column()) == _repeated_bytes(column(statistics=told)) == 100
    assert _repeated_bytes(column(statistics=SimpleNamespace(has_min_max=True))) == 0
    assert _repeated_bytes(column(has_dictionary_page=False)) == 0
    assert _repeated_bytes(column(physical_type="INT64")) == 0
    assert _repeated_bytes(column(data_page_offset=90)) == 200, "damaged: no more than all"
    assert _repeated_bytes(column(data_page_offset=5)) == 0
    assert _repeated_bytes(column(total_compressed_size=0)) == 200
    both = [column(), column(total_uncompressed_size=20), column(has_dictionary_page=False)]
    group: Any = SimpleNamespace(
        num_columns=3, column=both.__getitem__, total_byte_size=30, num_rows=4
    )
    assert _row_bytes(group) == 7.5 + 100 + 10


def test_as_many_rows_come_at_once_as_do_not_fill_memory(tmp_path: Path, monkeypatch):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"n": range(9)}), path, row_group_size=9, use_dictionary=False)
    monkeypatch.setattr(tables, "_row_bytes", lambda group: 10.9)
    for held, rows in ((39, [3, 3, 3]), (40, [4, 4, 1]), (9, [1] * 9), (1000, [9])):
        monkeypatch.setattr(tables, "SLICE_BYTES", held)
        assert [len(batch) for batch in read(path, parquet_batches)] == rows
    monkeypatch.setattr(tables, "BATCH_ROWS", 5)
    assert [len(batch) for batch in read(path, parquet_batches)] == [5, 4]
    monkeypatch.setattr(tables, "_row_bytes", lambda group: 0.5)
    monkeypatch.setattr(tables, "SLICE_BYTES", 2)
    assert [len(batch) for batch in read(path, parquet_batches)] == [2, 2, 2, 2, 1]


def test_the_longest_rows_of_any_group_count_and_a_file_without_rows_has_none(
    tmp_path, monkeypatch
):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"n": range(4)}), path, row_group_size=2)
    sizes = iter([1, 8])
    monkeypatch.setattr(tables, "_row_bytes", lambda group: next(sizes))
    monkeypatch.setattr(tables, "SLICE_BYTES", 8)
    assert [len(batch) for batch in read(path, parquet_batches)] == [1, 1, 1, 1]
    pq.write_table(pa.table({"n": pa.array([], pa.int64())}), path)
    assert sum(map(len, read(path, parquet_batches))) == 0


@pytest.mark.parametrize("name", ["x.parquet", "x", "x.gz", "x.parquet.gz"])
@pytest.mark.parametrize("pipe", [False, True])
def test_parquet_is_read_from_any_file_packed_or_piped(tmp_path: Path, name: str, pipe: bool):
    data, path = parquet(FIVE), tmp_path / name
    data = gzip.compress(data) if name.endswith(".gz") else data
    writing = threading.Thread(target=path.write_bytes, args=(data,))
    if pipe:
        os.mkfifo(path)
        writing.start()
    else:
        path.write_bytes(data)
    assert read(path, parquet_batches) == [[0, 1, 2, 3, 4]]
    if pipe:
        writing.join()


@pytest.mark.parametrize("begin", [pa.ipc.new_stream, pa.ipc.new_file])
@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_arrow_is_read_from_any_file_packed_or_piped(tmp_path: Path, begin, pipe: bool, pack):
    batch = FIVE.to_batches()[0]
    data = pack(arrow(batch.slice(0, 2), batch.slice(2), begin=begin))
    path = tmp_path / "x"
    writing = threading.Thread(target=path.write_bytes, args=(data,))
    for read_all in (lambda: read(path, arrow_batches), lambda: written(path)):
        path.unlink(missing_ok=True)
        if pipe:
            os.mkfifo(path)
            writing = threading.Thread(target=path.write_bytes, args=(data,))
            writing.start()
        else:
            path.write_bytes(data)
        assert read_all() == [[0, 1], [2, 3, 4]]
        if pipe:
            writing.join()


def written(path: Path) -> list[list[Any]]:
    return [batch["n"].to_pylist() for batch in batches_as_written(str(path))]


def test_streams_one_after_another_are_read_and_of_parts_the_first_alone(tmp_path: Path):
    batch = FIVE.to_batches()[0]
    (tmp_path / "x").write_bytes(arrow(batch.slice(0, 2)) + arrow(batch.slice(2)))
    assert read(tmp_path / "x", arrow_batches) == [[0, 1], [2, 3, 4]]
    assert written(tmp_path / "x") == [[0, 1]]
    cut = arrow(batch)
    for end in (len(cut) - 8, len(cut) - 1, len(cut) - 20, 100):
        (tmp_path / "x").write_bytes(cut[:end])
        for reader in (
            lambda: read(tmp_path / "x", arrow_batches),
            lambda: written(tmp_path / "x"),
        ):
            with pytest.raises(DataError, match="the stream has no end"):
                reader()
    (tmp_path / "x").write_bytes(cut[:-8] + b"\xff\xff\xff\xff\x05\0\0\0rubbish of more bytes")
    with pytest.raises(DataError, match="damaged arrow"):
        read(tmp_path / "x", arrow_batches)


def test_batches_and_row_groups_come_as_they_were_written_empty_ones_too(tmp_path: Path):
    words = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("n", pa.int64()), ("w", words)], {"a": "b"})
    batch = pa.RecordBatch.from_pydict({"n": [0, 1, 2], "w": ["x", "y", "x"]}, schema=schema)
    parts = [batch.slice(0, 2), batch.slice(0, 0), batch.slice(2)]
    for name, begin in (("stream", pa.ipc.new_stream), ("file", pa.ipc.new_file)):
        (tmp_path / name).write_bytes(arrow(*parts, begin=begin))
        found = list(batches_as_written(str(tmp_path / name)))
        assert [one.to_pylist() for one in found] == [one.to_pylist() for one in parts]
        assert all(one.schema.equals(schema, check_metadata=True) for one in found)
    path = str(tmp_path / "x.parquet")
    with pq.ParquetWriter(path, schema) as writer:
        for part in parts:
            writer.write_batch(part)
    groups = list(row_groups(path))
    assert [group["n"].to_pylist() for group in groups] == [[0, 1], [], [2]]
    assert all(group.schema.equals(schema, check_metadata=True) for group in groups)
    with pq.ParquetWriter(path, pa.schema([("n", pa.int64())]), store_schema=False) as writer:
        writer.write_table(pa.table({"n": [5]}))
    assert [group.to_pylist() for group in row_groups(path)] == [[{"n": 5}]]


def test_metadata_is_that_of_the_file_or_none(tmp_path: Path):
    batch = FIVE.to_batches()[0]
    told = batch.replace_schema_metadata({"a": "b"})
    for begin in (pa.ipc.new_stream, pa.ipc.new_file):
        for name, one, found in (("x", batch, {}), ("y.gz", told, {b"a": b"b"})):
            data = arrow(one, begin=begin)
            (tmp_path / name).write_bytes(gzip.compress(data) if name == "y.gz" else data)
            assert arrow_metadata(str(tmp_path / name)) == found
    for metadata in ({"a": "b"}, None):
        pq.write_table(FIVE.replace_schema_metadata(metadata), tmp_path / "x.parquet")
        found = parquet_metadata(str(tmp_path / "x.parquet"))
        assert found.get(b"a") == (b"b" if metadata else None)
    pq.write_table(FIVE, tmp_path / "x.parquet", store_schema=False)
    assert parquet_metadata(str(tmp_path / "x.parquet")) == {}


def test_unsound_batches_are_told_before_they_are_handed_on(tmp_path: Path):
    offsets = pa.py_buffer(struct.pack("<3i", 0, 1000, 1))
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a")])
    (tmp_path / "x").write_bytes(arrow(pa.RecordBatch.from_arrays([text], names=["n"])))
    for reader in (lambda: read(tmp_path / "x", arrow_batches), lambda: written(tmp_path / "x")):
        with pytest.raises(DataError) as told:
            reader()
        assert told.value.where == str(tmp_path / "x")
    doubled = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    (tmp_path / "x").write_bytes(arrow(doubled))
    with pytest.raises(DataError, match="n"):
        written(tmp_path / "x")


def test_what_libraries_say_of_damage_is_told_with_the_file():
    for error, said in (
        (MemoryError("x"), "x: damaged arrow: it asks for more memory than there is"),
        (pa.ArrowInvalid("one\ntwo"), "x: damaged arrow: one"),
        (OSError("no magic"), "x: damaged arrow: no magic"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "odd"), "x: damaged arrow: 'utf-8' codec"),
        (messages.Damaged("a footer"), "x: damaged arrow: a footer"),
    ):
        with pytest.raises(DataError) as told, _damage("arrow", "x"):
            raise error
        assert str(told.value).startswith(said) and "two" not in str(told.value)
    with pytest.raises(ZeroDivisionError), _damage("arrow", "x"):
        raise ZeroDivisionError
