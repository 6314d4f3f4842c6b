"""Bounds of what is taken at once, documents read whole, scratch files, tables of late columns."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dialtools.catalog import load
from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.streams import bounds, full, json_file, nesting, record_tables
from dialtools.streams.bounds import BOUNDS, DEFAULTS, beyond, most, parse_bounds, size_text, use
from dialtools.streams.formats import (
    EMBEDDING_FORMATS,
    FORMATS,
    INPUT_FORMATS,
    OUTPUT_FORMATS,
    RECORD_FORMATS,
    by_magic,
    by_suffix,
    input_format,
    last_suffix,
)
from dialtools.streams.full import naming, scratch_file
from dialtools.streams.json_file import read_json
from dialtools.streams.policy import Collecting, Where
from dialtools.streams.record_tables import table_of_lines
from dialtools.streams.sinks import output_format


@pytest.fixture(autouse=True)
def default_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_chosen", {})


def test_sizes_are_told_as_they_are_read():
    for size, text in (
        *((0, "0"), (1, "1"), (1023, "1023"), (1024, "1KB"), (1536, "1536"), (3 << 20, "3MB")),
        *((1 << 30, "1GB"), (5 << 40, "5120GB"), ((1 << 30) + 1024, "1048577KB")),
    ):
        assert size_text(size) == text
        assert not size or parse_bounds(f"cell={text}") == (f"cell={text}",)
    assert DEFAULTS.startswith("line=64MB, cell=16MB, nesting=200, page=512MB, file=2GB")
    assert {key: bound.most for key, bound in BOUNDS.items()} == {
        **{"line": 64 << 20, "cell": 16 << 20, "nesting": 200, "page": 512 << 20},
        **{"file": 2 << 30, "archive": 64 << 30, "members": 250_000, "pairs": 512 << 20},
    }


def test_bounds_are_named_each_once_with_sizes_above_nothing():
    assert parse_bounds("line=1GB, members=1000") == ("line=1GB", "members=1000")
    assert parse_bounds("nesting=250") == ("nesting=250",)
    for wrong in ("", "line", "line=", "line=0", "line=1,line=2", "lines=1", "line=1,x=2", "="):
        with pytest.raises(ValueError, match=r"expected KEY=SIZE.* of line, cell, nesting"):
            parse_bounds(wrong)
    with pytest.raises(ValueError, match="nesting: expected 250 or less"):
        parse_bounds("cell=1,nesting=251")
    with pytest.raises(ValueError, match="line: expected 1MB or more"):  # it is read at once
        parse_bounds("line=1023KB")


def test_bounds_hold_until_others_do_and_a_hint_is_given_where_more_may_be_had():
    at = Where("x", 3)
    assert most("line") == 64 << 20
    assert str(beyond("line", "a line is longer than", where=at)) == (
        "x:3: a line is longer than 64MB"
    )
    assert beyond("line", "longer", where=at).hint is None, "where no command has set any"
    use(("line=1KB", "nesting=250"))
    assert (most("line"), most("nesting"), most("cell")) == (1024, 250, 16 << 20)
    assert beyond("line", "longer than", where=at).hint == "--bounds line=SIZE allows more"
    deep = beyond("nesting", "deeper than", where=at, of="levels")
    assert str(deep) == "x:3: deeper than 250 levels" and deep.hint is None
    use(("cell=1",))
    assert (most("line"), most("cell")) == (64 << 20, 1)


def test_levels_are_counted_from_the_record_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(bounds._chosen, "nesting", 3)
    assert nesting.shortest() == 8
    for line, may in ((b'{"a":[{}]}', False), (b'{"a":[{},[]]}', True), (b"[[[[", True)):
        assert nesting.may_nest(line) is may
    for record, deep in (
        ({}, False),
        ({"a": [{"b": 1}]}, False),
        ({"a": [{"b": []}]}, True),
        ({"a": [1, {"b": {}}]}, True),
        ([[], [[]], {}], False),
        ({"a": 1, "b": [[1], [[2]]]}, True),
    ):
        assert nesting.too_deep(record) is deep
    policy = Collecting()
    nesting.reject(policy, Where("x", 2), b"raw")
    assert policy.rejected == [
        (Where("x", 2), "nested deeper than 3 levels", b"raw", "--bounds nesting=SIZE allows more")
    ]


def test_a_document_is_read_whole_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.json"
    monkeypatch.setattr(json_file, "BLOCK_BYTES", 4)
    monkeypatch.setitem(bounds._chosen, "file", 9)
    path.write_text('{"a":[1]}')
    assert read_json(str(path)) == {"a": [1]}
    path.write_text('{"a":[12]}')
    with pytest.raises(DataError, match=r"x\.json: longer than 9"):
        read_json(str(path))
    with pytest.raises(DataError, match="longer than 9"):
        read_json("/dev/zero")
    path.write_text('{"a"')
    with pytest.raises(DataError, match=r"x\.json: not JSON: "):
        read_json(str(path))
    with pytest.raises(DataError, match="No such file"):
        read_json(str(tmp_path / "none"))


def test_a_scratch_file_has_no_name_and_tells_where_there_is_no_room(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_file() as file:
        assert not [*tmp_path.iterdir()]
        file.write(b"abc")
        file.seek(0)
        assert file.read() == b"abc"

    class NoRoom(full._Scratch):
        def write(self, data: Any) -> int:
            with naming(tempfile.gettempdir()):
                raise OSError(errno.ENOSPC, "x")

    monkeypatch.setattr(full, "_Scratch", NoRoom)
    with pytest.raises(OutputError) as told, scratch_file() as file:
        file.write(b"a" * (2 << 20))
    assert str(told.value) == f"{tmp_path}: No space left on device"
    for number in (errno.EDQUOT, errno.EFBIG, errno.EIO):
        with pytest.raises(OutputError, match=os.strerror(number)) as told, naming("x"):
            raise OSError(number, "odd")
        assert isinstance(told.value.__cause__, OSError)
    for error in (OSError(errno.EACCES, "odd"), DataError(os.strerror(errno.EIO)), ValueError()):
        with pytest.raises(type(error)) as passed, naming("x"):
            raise error
        assert passed.value is error


def test_a_table_of_lines_is_written_batch_by_batch_with_the_columns_of_all(tmp_path, monkeypatch):
    monkeypatch.setattr(record_tables, "BATCH_ROWS", 2)
    path = tmp_path / "x.arrows"
    how: dict[str, Any] = {"format": "arrow", "metadata": {"a": "b"}}
    with table_of_lines(str(path), overwrite=False, **how) as add:
        add(b'{"n":1}\n{"n":2}\n')
        add(b'{"n":2.5,"m":null}\n')
        add(b'{"m":"x"}\n')
    with pa.ipc.open_stream(path) as stream:
        batches = list(stream)
    assert [batch.num_rows for batch in batches] == [2, 2]
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == [
        *(
            {"n": 1.0, "m": None},
            {"n": 2.0, "m": None},
            {"n": 2.5, "m": None},
            {"n": None, "m": "x"},
        )
    ]
    assert batches[0].schema.metadata == {b"a": b"b"}
    with pytest.raises(OutputError, match="exists already"):
        table_of_lines(str(path), overwrite=False, **how).__enter__()
    for odd in (b'{"n":"x"}\n', b'{"n":[1]}\n', b'{"n":{}}\n'):
        with (
            pytest.raises(DataError, match="records do not fit one table: ") as told,
            table_of_lines(str(path), overwrite=True, **how) as add,
        ):
            add(b'{"n":1}\n')
            add(odd)
        assert told.value.hint == "--to jsonl takes any record"
    with table_of_lines(str(path), overwrite=True, **how):
        pass
    with pa.ipc.open_stream(path) as stream:
        assert list(stream) == []


def test_a_format_is_the_chosen_one_else_of_the_name_else_of_the_content():
    for path, suffix, kind in (
        *(("a.b/x", None, None), ("x.tar.gz", ".tar", None), ("x.gz", None, None)),
        *(("x.json", ".json", "jsonl"), ("x.feather.zst", ".feather", "arrow")),
        *(("x.jsonl.csv", ".csv", "csv"), ("x.gz.tsv", ".tsv", "tsv"), ("x.txt", ".txt", "text")),
        *(("x.arrows", ".arrows", "arrow"), ("x.fbin", ".fbin", "fbin"), (".jsonl", None, None)),
    ):
        assert (last_suffix(path), by_suffix(path)) == (suffix, kind)
    for head, kind in (
        *((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow")),
        *((b"\x93NUMPY", "npy"), (b"PAR", None), (b"ARROW", None), (b"xPAR1", None)),
    ):
        assert by_magic(head) == kind
    assert input_format("x.csv", "text", b"PAR1") == "text"
    assert input_format("x.csv", None, b"PAR1") == "csv"
    assert input_format("x", None, b"PAR1") == "parquet"
    assert input_format("x", None) == input_format("x", None, b"{") == "jsonl"
    assert input_format("x.xlsx", "jsonl") == "jsonl"
    with pytest.raises(DataError, match=r"x\.xlsx\.gz: \.xlsx files are not read"):
        input_format("x.xlsx.gz", None)
    with pytest.raises(DataError, match=r"x\.jsonl\.XZ: \.xz files are not read"):
        input_format("x.jsonl.XZ", None)
    assert by_suffix("LOG.CSV") == "csv" and by_suffix("x.Parquet") == "parquet"
    for name, suffix in {"x.jsonl.bz2": "bz2", "x.Zip": "zip", "x.tar.gz": "tar"}.items():
        with pytest.raises(ConfigError, match=rf"cannot write \.{suffix} files"):
            output_format(name, None)
    assert output_format("x.tgz", "jsonl") == "jsonl"


def test_what_can_be_read_and_written_follows_from_the_table_of_formats():
    lines = {"jsonl", "csv", "tsv", "text", "ecd", "ecd-select", "ecd-sts"}
    assert {name for name, entry in FORMATS.items() if entry.lines} == lines
    assert INPUT_FORMATS == ("jsonl", "csv", "tsv", "text", "parquet", "arrow")
    assert (*INPUT_FORMATS, "ecd", "ecd-select", "ecd-sts") == RECORD_FORMATS
    assert OUTPUT_FORMATS == ("jsonl", "parquet", "arrow")
    assert EMBEDDING_FORMATS == ("jsonl", "parquet", "arrow", "npy", "fbin")
    beside = {name for name, entry in FORMATS.items() if entry.beside == ".columns.jsonl"}
    assert beside == {name for name, entry in FORMATS.items() if entry.vectors} == {"npy", "fbin"}
    assert {name for name, entry in FORMATS.items() if entry.seeks} == {"npy", "fbin"}
    assert {name for name, entry in FORMATS.items() if entry.columns} == {"csv", "tsv"}
    assert {name for name, entry in FORMATS.items() if entry.metadata} == {"parquet", "arrow"}
    assert FORMATS["text"].marks == "*.txt" and FORMATS["ecd"].marks == ""
    assert FORMATS["npy"].marks == "*.npy, or content"
    for entry in FORMATS.values():
        for target in (entry.reader, entry.writer, entry.vectors, entry.metadata):
            assert not target or callable(load(target))
