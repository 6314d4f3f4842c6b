"""What is written, where and how: formats by name, flushes, packed files, plain columns."""

from __future__ import annotations

import gzip
import io
import os
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.streams import record_tables
from dialtools.streams.failure import MARK
from dialtools.streams.record_tables import record_batches
from dialtools.streams.schemas import schema_of
from dialtools.streams.sinks import (
    json_line,
    open_output,
    output_format,
    write_batches,
    write_records,
    write_whole,
    writer,
)
from dialtools.streams.vectors import embedding_batch

BATCH = pa.RecordBatch.from_pydict({"a": [1, None], "b": ["x", "y"]})


def piped(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What is written to stdout, a pipe, from now on."""
    taken = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=taken, isatty=lambda: False))
    return taken


def test_the_format_is_that_of_the_flag_else_of_the_name_else_the_usual(monkeypatch):
    piped(monkeypatch)
    assert output_format("x.parquet", None) == output_format("x", "parquet") == "parquet"
    assert output_format("x.parquet", "jsonl") == output_format("-", None) == "jsonl"
    assert output_format("x", None, default="arrow") == output_format("-", "arrow") == "arrow"
    with pytest.raises(ConfigError, match="cannot write csv") as told:
        output_format("x.csv", None)
    assert told.value.hint == "--to jsonl, parquet, arrow"
    for kind in ("npy", "fbin"):
        assert output_format(f"x.{kind}", None, formats=("npy", "fbin")) == kind
        with pytest.raises(ConfigError, match=f"{kind} cannot be streamed to stdout"):
            output_format("-", kind, formats=("npy", "fbin"), dry=True)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_terminal_gets_lines_alone(monkeypatch: pytest.MonkeyPatch, kind: str):
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert output_format("-", None) == "jsonl" and output_format("x", kind) == kind
    assert output_format("-", kind, dry=True) == kind
    with pytest.raises(ConfigError, match=f"will not write {kind} to a terminal") as told:
        output_format("-", kind)
    assert told.value.hint == "name -o FILE, or --to jsonl"


@pytest.mark.parametrize(
    ("name", "unpack"),
    [
        ("x.jsonl", bytes),
        ("x.jsonl.gz", gzip.decompress),
        ("x.jsonl.zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    ],
)
def test_lines_are_packed_by_the_name_and_stand_there_whole(tmp_path: Path, name: str, unpack: Any):
    with writer(str(tmp_path / name), format="jsonl") as write:
        write(b'{"a":1}\n')
        assert not (tmp_path / name).exists()
        write(b'{"a":2}\n')
    assert unpack((tmp_path / name).read_bytes()) == b'{"a":1}\n{"a":2}\n'
    with pytest.raises(OutputError, match="exists already"):
        write_records([], str(tmp_path / name))
    write_records([], str(tmp_path / name), overwrite=True)
    assert unpack((tmp_path / name).read_bytes()) == b""


def test_a_pipe_hears_of_a_failure_and_a_file_does_not_appear(tmp_path: Path, monkeypatch):
    stdout = piped(monkeypatch)
    for path in ("-", str(tmp_path / "x.jsonl")):
        with pytest.raises(DataError), writer(path, format="jsonl") as write:
            write(b"{}\n")
            raise DataError("it broke")
    assert stdout.getvalue().startswith(b"{}\n" + MARK) and b"it broke" in stdout.getvalue()
    assert not [*tmp_path.iterdir()]
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR)
    with pytest.raises(DataError), writer(str(tmp_path / "pipe"), format="jsonl"):
        raise DataError("it broke")
    assert os.read(pipe, 4096).startswith(MARK)
    os.close(pipe)


def test_stdout_is_flushed_when_all_is_written(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    buffer = SimpleNamespace(
        write=lambda data: told.append("write") or len(data), flush=lambda: told.append("flush")
    )
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=buffer))
    with open_output("-", overwrite=False) as file:
        file.write(b"x")
    assert told == ["write", "flush"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_without_a_word_a_table_is_plain(tmp_path: Path, kind: str):
    path = tmp_path / f"x.{kind}"
    with writer(str(path), format=kind) as write:
        write(embedding_batch({"id": ["a"] * 9}, {"embedding": np.ones((9, 2))}))
    if kind == "parquet":
        group = pq.ParquetFile(path).metadata.row_group(0)
        for i in range(2):
            assert "RLE_DICTIONARY" in group.column(i).encodings
            assert "BYTE_STREAM_SPLIT" not in group.column(i).encodings
        assert b"dialtools" not in (pq.read_metadata(path).metadata or {})


def test_arrow_is_a_file_or_a_stream_by_its_name_and_a_pipe_gets_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stdout = piped(monkeypatch)
    words = pa.array(["x", "y"]).dictionary_encode()
    batch = pa.RecordBatch.from_pydict({"w": words}).replace_schema_metadata({"a": "b"})
    for name, is_file in (("x.arrow", True), ("x.feather.gz", True), ("x.arrows", False)):
        with writer(str(tmp_path / name), format="arrow", metadata={"c": "d"}) as write:
            write(batch)
        data = (tmp_path / name).read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        assert data.startswith(b"ARROW1") is is_file
        table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(data).read_all()
        assert table["w"].to_pylist() == ["x", "y"]
        assert pa.types.is_dictionary(table["w"].type) is not is_file
        assert table.schema.metadata == {b"a": b"b", b"c": b"d"}
    with writer("-", format="arrow") as write:
        write(BATCH)
    assert pa.ipc.open_stream(stdout.getvalue()).read_all().num_rows == 2
    os.mkfifo(tmp_path / "pipe.arrow")
    pipe = os.open(tmp_path / "pipe.arrow", os.O_RDWR)
    with writer(str(tmp_path / "pipe.arrow"), format="arrow") as write:
        write(BATCH)
    assert os.read(pipe, 1 << 16).startswith(b"\xff\xff\xff\xff")
    os.close(pipe)


@pytest.mark.parametrize("name", ["x.arrow", "x.arrows", "x.parquet"])
def test_a_table_without_rows_tells_what_made_it(tmp_path: Path, name: str):
    with writer(str(tmp_path / name), format=name[2:].rstrip("s"), metadata={"a": "b"}):
        pass
    data = (tmp_path / name).read_bytes()
    if name == "x.parquet":
        schema = pq.read_schema(tmp_path / name)
    else:
        schema = (pa.ipc.open_file if name == "x.arrow" else pa.ipc.open_stream)(data).schema
    assert schema.metadata[b"a"] == b"b" and schema.names == []


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_batches_of_other_columns_do_not_fit(tmp_path: Path, kind: str):
    with (
        pytest.raises(DataError, match="records do not fit one table") as told,
        writer(str(tmp_path / f"x.{kind}"), format=kind) as write,
    ):
        write(BATCH)
        write(pa.RecordBatch.from_pydict({"a": ["z"], "b": ["x"]}))
    assert told.value.hint == "--to jsonl takes any record" and not [*tmp_path.iterdir()]


def test_rows_are_batches_of_a_few_thousand_in_which_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(record_tables, "BATCH_ROWS", 2)
    rows = [{"a": 1}, {"b": 4}, {"b": 5, "c": 6}, {"a": 2}, {"a": 3.5, "d": ["x"]}]
    batches = list(record_batches(rows, at_once=False))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    assert all(batch.schema.names == ["a", "b", "c", "d"] for batch in batches)
    made = [row for batch in batches for row in batch.to_pylist()]
    assert made == [{name: row.get(name) for name in "abcd"} for row in rows]
    assert [batch.num_rows for batch in record_batches(rows[:2] * 2, at_once=True)] == [2, 2]
    for later in ({"c": 6}, {"a": 3.5}, {"a": 2**70}, {"a": "x"}, {"a": True}):
        stream = record_batches([*rows[:2], later], at_once=True)
        assert next(stream).to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": 4}]
        with pytest.raises(DataError, match="records do not fit one table") as told:
            next(stream)
        assert told.value.hint == "--to jsonl takes any record"
    for at_once in (True, False):
        assert list(record_batches([], at_once=at_once)) == []
    schema = schema_of([{"b": 2**64 - 1}, {"a": [1], "b": 1}, {}])
    assert schema == pa.schema([("b", pa.uint64()), ("a", pa.list_(pa.int64()))])


def test_what_json_has_no_kind_for_is_written_as_text(monkeypatch: pytest.MonkeyPatch):
    stdout = piped(monkeypatch)
    row = {"a": np.array([1.5, 2]), "b": Decimal("1.50"), "c": None}
    assert json_line(row) == b'{"a":[1.5,2.0],"b":"1.50","c":null}\n'
    write_records([{"a": 1}], "-")
    write_records([{"a": 1}], "-", to="arrow", metadata={"x": "y"})
    lines, _, stream = stdout.getvalue().partition(b"\n")
    assert lines == b'{"a":1}'
    assert pa.ipc.open_stream(stream).schema.metadata == {b"x": b"y"}


def test_batches_are_written_as_they_are_or_as_lines(tmp_path: Path):
    how: dict[str, Any] = {"overwrite": False, "metadata": {"a": "b"}}
    write_batches([BATCH, BATCH], str(tmp_path / "x.jsonl"), format="jsonl", **how)
    lines = b'{"a":1,"b":"x"}\n{"b":"y"}\n'
    assert (tmp_path / "x.jsonl").read_bytes() == lines * 2
    write_batches([BATCH, BATCH], str(tmp_path / "x.parquet"), format="parquet", **how)
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == BATCH.to_pylist() * 2
    assert pq.read_schema(tmp_path / "x.parquet").metadata[b"a"] == b"b"
    with pytest.raises(OutputError, match="exists already"):
        write_batches([BATCH], str(tmp_path / "x.jsonl"), format="jsonl", **how)
    write_batches([BATCH], str(tmp_path / "x.jsonl"), format="jsonl", overwrite=True, metadata={})
    assert (tmp_path / "x.jsonl").read_bytes() == lines


def test_a_buffered_file_is_written_to_once():
    taken: list[bytes] = []
    file: Any = SimpleNamespace(write=lambda data: taken.append(bytes(data)) or 1)
    write_whole(file, b"abc")
    assert taken == [b"abc"], "it keeps the rest itself"
