"""Where records stand, and what files tell: numbers of lines, headers, schemas, digests."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.errors import ConfigError, DataError
from dialtools.streams.chunks import _blank_line, _Cutter, read_chunks, read_records, records
from dialtools.streams.formats import FORMATS, by_magic, by_suffix
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import describe, digest
from dialtools.streams.record_tables import record_batches, table_of_lines
from dialtools.streams.sinks import output_format, write_records, write_whole, writer
from dialtools.streams.table_writers import _sink
from dialtools.streams.tally import NAMES, Tally, counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import Embeddings, embedding_batch


def blocks(data: bytes, size: int) -> Callable[[], bytes]:
    parts = iter([data[i : i + size] for i in range(0, len(data), size)])
    return lambda: next(parts, b"")


DIALOGUES = st.lists(st.lists(st.sampled_from(["a", "bb", "ccc"]), min_size=1, max_size=4))


@given(DIALOGUES, st.sampled_from(["\n", "\r\n"]), st.integers(1, 30))
def test_plain_text_is_cut_at_blank_lines_alone_and_its_lines_keep_their_numbers(
    dialogues: list[list[str]], end: str, size: int
):
    data = "".join("".join(line + end for line in lines) + end for lines in dialogues).encode()
    chunks = list(_Cutter("x", "text", _blank_line, Policy()).chunks(blocks(data, size)))
    assert b"".join(chunk.data for chunk in chunks) == data
    blank = (end + end).encode()
    for chunk in chunks[:-1]:
        assert chunk.data.endswith(blank)
    first = 1
    for chunk in chunks:
        assert chunk.first == first
        first += chunk.data.count(b"\n")
    if size < 4 and len(dialogues) > 1:
        assert len(chunks) > 1, "each as soon as it is whole"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_texts_between_blank_lines_are_told_by_their_lines(end: bytes, tmp_path: Path):
    lines = [b"hi", b"you", b"", b"", b"  ", b"bye", b"\xff", b"", b"end"]
    (tmp_path / "x.txt").write_bytes(end.join(lines))
    found = [
        (number, record["text"])
        for chunk in read_chunks([str(tmp_path / "x.txt")], format="text", chunk_bytes=5)
        for number, record in records(chunk, Policy("skip"))
    ]
    assert found == [(1, "hi"), (2, "you"), (6, "bye"), (9, "end")]


def test_rows_of_a_table_are_numbered_through_its_batches(tmp_path: Path):
    path = tmp_path / "x.arrow"
    table = pa.table({"a": range(7), "b": [None, 1] * 3 + [None]})
    with pa.ipc.new_stream(path, table.schema) as stream:
        for batch in table.to_batches(max_chunksize=3):
            stream.write_batch(batch)
            stream.write_batch(batch.slice(0, 0))
    places = list(read_records([str(path)], policy=Policy()))
    assert [where.line for where, _ in places] == [1, 2, 3, 4, 5, 6, 7]
    assert places[0][1] == {"a": 0} and places[1][1] == {"a": 1, "b": 1}


def test_a_hint_is_given_where_a_whole_document_is_taken_for_lines(tmp_path: Path):
    for text, hint in (
        ('{\n"a": [{}]}', "a record a line"),
        ('{"a": 1,\n"b": 2}', "a record a line"),
        ("a text,another\n", "--from text takes each line"),
        ('{"a": oops}\n', ""),
    ):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(DataError) as error:
            list(read_records([str(tmp_path / "x.json")], policy=Policy()))
        assert (error.value.hint or "").startswith(hint) and bool(error.value.hint) == bool(hint)
    (tmp_path / "x.json").write_text('{"a": 1}\n[\n')
    with pytest.raises(DataError) as error:
        list(read_records([str(tmp_path / "x.json")], policy=Policy()))
    assert not error.value.hint, "not in the middle of a file"


def test_a_compressed_file_is_the_same_bytes_at_any_time_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written = []
    for now, name in ((1e9, "a.jsonl.gz"), (2e9, "b.jsonl.gz")):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        write_records([{"a": 1}], str(tmp_path / name))
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1] and gzip.decompress(written[0]) == b'{"a":1}\n'
    assert written[0][3] == 0 and written[0][4:8] == bytes(4), "neither name nor time"


def test_a_table_has_the_fields_of_all_records_of_its_first_batch():
    rows = [{"a": None}, {"a": 1, "b": "x"}, {"c": [1.5]}]
    (batch,) = record_batches(rows, at_once=True)
    assert batch.schema.names == ["a", "b", "c"]
    assert batch.to_pylist() == [{"a": None, "b": None, "c": None} | row for row in rows]


def test_records_of_later_batches_that_do_not_fit_are_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dialtools.streams.record_tables.BATCH_ROWS", 2)
    for at_once in (True, False):
        batches = list(record_batches([{"a": 1}, {"a": 2}, {"a": None}], at_once=at_once))
        assert [batch.num_rows for batch in batches] == [2, 1]
        assert batches[1].schema == batches[0].schema
        with pytest.raises(DataError, match="records do not fit one table"):
            list(record_batches([{"a": 1}, {"a": 2}, {"a": "x"}], at_once=at_once))


def test_a_time_that_parquet_has_no_room_for_is_told(tmp_path: Path):
    far = pa.array([-(1 << 60)], pa.timestamp("s"))
    with (
        pytest.raises(DataError, match="records do not fit one table: Integer overflow"),
        writer(str(tmp_path / "t.parquet"), format="parquet") as write,
    ):
        write(pa.RecordBatch.from_pydict({"a": far}))
    assert not any(tmp_path.iterdir())


def test_the_metadata_of_an_output_takes_the_place_of_its_inputs(tmp_path: Path):
    batch = pa.RecordBatch.from_pydict({"a": [1]}).replace_schema_metadata(
        {"dialtools": "old", "other": "kept"}
    )
    for kind in ("parquet", "arrow"):
        path = tmp_path / f"x.{kind}"
        with writer(str(path), format=kind, metadata={"dialtools": "new"}) as write:
            write(batch)
            write(batch)
        (table,) = {chunk.data.schema for chunk in read_chunks([str(path)])}
        assert table.metadata[b"dialtools"] == b"new" and table.metadata[b"other"] == b"kept"
        assert sum(chunk.data.num_rows for chunk in read_chunks([str(path)])) == 2


def test_a_raw_tab_between_the_parts_of_a_record_is_a_blank(tmp_path: Path):
    (tmp_path / "x.jsonl").write_bytes(b'{"a":\t1}\n\t{"a": 2}\n')
    found = read_records([str(tmp_path / "x.jsonl")], policy=Policy())
    assert [record["a"] for _, record in found] == [1, 2]


def test_a_table_from_a_pipe_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Parquet is read from its end, so that stdin waits on the disk."""
    rows = [{"a": i, "text": "x" * 50} for i in range(5000)]
    write_records(rows, str(tmp_path / "x.parquet"))
    data = (tmp_path / "x.parquet").read_bytes()
    read, write = os.pipe()
    writing = threading.Thread(target=lambda: (os.write(write, data), os.close(write)))
    writing.start()
    monkeypatch.setattr("sys.stdin", os.fdopen(read))
    assert [record for _, record in read_records(["-"], policy=Policy())] == rows
    writing.join()
    sys.stdin.close()


def test_what_is_written_last_or_needs_a_name_is_not_streamed(monkeypatch: pytest.MonkeyPatch):
    for kind in ("npy",):
        with pytest.raises(ConfigError, match="cannot be streamed to stdout"):
            output_format("-", kind, formats=("npy", "jsonl"))
    assert output_format("x.npy", None, formats=("npy", "jsonl")) == "npy"
    with pytest.raises(ConfigError, match="cannot write csv"):
        output_format("x.csv", None)
    assert output_format("x.csv", "jsonl") == output_format("x", None) == "jsonl"
    assert output_format("-", "parquet", dry=True) == "parquet"


def test_records_of_later_lines_widen_the_table_of_all(tmp_path: Path):
    path = str(tmp_path / "x.parquet")
    with table_of_lines(path, format="parquet", overwrite=False, metadata={}) as add:
        add(b'{"a":1}\n{"a":2,"b":null}\n')
        add(b'{"a":0.5,"c":["x"]}\n')
    assert pq.read_table(path).to_pylist() == [
        {"a": 1, "b": None, "c": None},
        {"a": 2, "b": None, "c": None},
        {"a": 0.5, "b": None, "c": ["x"]},
    ]
    with (
        pytest.raises(DataError, match="records do not fit one table"),
        table_of_lines(path, format="parquet", overwrite=True, metadata={}) as add,
    ):
        add(b'{"a":1}\n')
        add(b'{"a":"x"}\n')


def test_what_a_failed_writer_of_parquet_still_writes_comes_to_nothing():
    file = io.BytesIO()
    with pytest.raises(ZeroDivisionError), _sink(file) as sink:
        sink.write(b"ab")
        sink.flush()
        raise ZeroDivisionError
    assert sink.write(b"cde") == 3 and sink.tell() == 5 and sink.writable()
    assert file.getvalue() == b"ab"
    file.close()
    sink.flush()


def test_a_sink_hands_on_what_is_flushed_until_it_is_closed(tmp_path: Path):
    with (tmp_path / "x").open("wb") as file:
        with _sink(file) as sink:
            sink.write(memoryview(b"ab"))
            assert (tmp_path / "x").read_bytes() == b""
            sink.flush()
            assert (tmp_path / "x").read_bytes() == b"ab"
            sink.write(b"c")
            sink.close()
            file.write(b"d")
        sink.flush()
        assert (tmp_path / "x").read_bytes() == b"abc" and not file.closed


def test_a_raw_file_that_takes_a_part_is_given_the_rest():
    taken: list[bytes] = []

    class Narrow(io.RawIOBase):
        def write(self, data: Any) -> int:
            taken.append(bytes(data[:2]))
            return len(taken[-1])

    write_whole(Narrow(), b"abcde")  # pyright: ignore[reportArgumentType]
    assert taken == [b"ab", b"cd", b"e"]


def test_lines_on_stdout_are_seen_as_they_are_written(monkeypatch: pytest.MonkeyPatch):
    seen: list[bytes] = []
    waiting: list[bytes] = []
    stdout: Any = SimpleNamespace(
        buffer=SimpleNamespace(
            write=lambda blob: waiting.append(blob) or len(blob),
            flush=lambda: (seen.append(b"".join(waiting)), waiting.clear()),
            isatty=lambda: False,
        )
    )
    monkeypatch.setattr(sys, "stdout", stdout)
    with writer("-", format="jsonl") as write:
        for blob in (b"1", b"2", b"3"):
            write(blob)
    assert seen == [b"1", b"2", b"3", b""]


def test_parquet_holds_columns_that_it_has_no_type_for(tmp_path: Path):
    kinds = pa.array([0, 1, 0], pa.int8())
    values = pa.array([["a", "b"], [], ["c"]], pa.list_view(pa.string()))
    columns = {
        "views": values,
        "views, one of none": pa.ListViewArray.from_arrays(
            *(pa.array(n, pa.int32()) for n in ([0, 0, 1], [1, 2, 1])),
            values=pa.array(["a", "b"]),
            mask=pa.array([False, True, False]),
        ),
        "views of later rows": pa.concat_arrays([values, values])[3:],
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8])),
        "union": pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, 3]), pa.array(["x", "y", "z"])]),
        "interval": pa.array([(1, 0, 0), None, (0, 2, 0)], pa.month_day_nano_interval()),
        "words": pa.array(["a", "a", "b"]).dictionary_encode(),
        "plain": pa.array([0.5, None, 2]),
    }
    path = tmp_path / "x.parquet"
    with writer(str(path), format="parquet") as write:
        write(pa.RecordBatch.from_pydict(columns))
    table = pq.read_table(path)
    lists = [["a", "b"], [], ["c"]]
    assert table.to_pydict() == {
        "views": lists,
        "views, one of none": [["a"], None, ["b"]],
        "views of later rows": lists,
        "runs": [7, 7, 8],
        "union": ["1", "y", "3"],
        "interval": ["P1M0DT0.000000000S", None, "P0M2DT0.000000000S"],
        "words": ["a", "a", "b"],
        "plain": [0.5, None, 2],
    }
    assert table.schema.field("words").type == pa.string()


@pytest.mark.parametrize("floats", [True, False])
def test_vectors_are_stored_by_bytes_of_like_weight_and_words_by_a_dictionary(
    floats: bool, tmp_path: Path
):
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    for half in (False, True):
        path = tmp_path / f"{half}.parquet"
        with writer(str(path), format="parquet", floats=floats) as write:
            write(embedding_batch({"id": list("aab")}, {"embedding": matrix}, float16=half))
        group = pq.ParquetFile(path).metadata.row_group(0)
        how = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
        assert {column.compression for column in how.values()} == {"ZSTD"}
        vectors = how["embedding.list.element"].encodings
        assert ("BYTE_STREAM_SPLIT" in vectors) is (floats and not half)
        assert ("RLE_DICTIONARY" in vectors) is not floats
        assert "RLE_DICTIONARY" in how["id"].encodings
        assert pq.read_table(path)["embedding"].to_pylist() == matrix.tolist()


def test_a_matrix_without_rows_is_one_that_numpy_reads(tmp_path: Path):
    with writer(str(tmp_path / "e.npy"), format="npy"):
        pass
    assert np.load(tmp_path / "e.npy").shape == (0, 0)


# embeddings


def test_a_bare_matrix_has_every_column_that_a_row_beside_it_has(tmp_path: Path):
    np.save(tmp_path / "e.npy", np.eye(3, 2, dtype=np.float32) + 0.5)
    rows = [{"id": "a"}, {"label": 1}, {"id": "c", "text": "hi"}]
    beside = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    (tmp_path / "e.npy.columns.jsonl").write_bytes(beside)
    back = read_embeddings([str(tmp_path / "e.npy")])
    assert back.columns == {
        "id": ["a", None, "c"],
        "label": [None, 1, None],
        "text": [None, None, "hi"],
    }
    assert back.matrix.tolist() == [[1.5, 0.5], [0.5, 1.5], [0.5, 0.5]]


@pytest.mark.parametrize("float16", [False, True])
def test_a_matrix_written_in_parts_is_what_numpy_reads(float16: bool, tmp_path: Path):
    matrix = np.arange(15, dtype=np.float32).reshape(5, 3)
    path = tmp_path / "e.npy"
    with writer(str(path), format="npy") as write:
        for rows in (slice(0, 2), slice(2, 5)):
            ids = list("abcde")[rows]
            write(embedding_batch({"id": ids}, {"embedding": matrix[rows]}, float16=float16))
        with pytest.raises(ConfigError, match="npy holds one matrix"):
            write(embedding_batch({}, {"embedding": matrix, "b_embedding": matrix}))
    saved = np.load(path)
    assert saved.dtype == (np.float16 if float16 else np.float32)
    np.testing.assert_array_equal(saved, matrix)
    assert read_embeddings([str(path)]).columns == {"id": list("abcde")}


def test_files_of_embeddings_are_one_with_the_columns_that_all_have(tmp_path: Path):
    for name, columns, start in (("a", {"id": [1, 2], "x": [3, 4]}, 0), ("b", {"id": [5]}, 9)):
        rows = len(columns["id"])
        matrix = np.arange(start, start + 2 * rows).reshape(rows, 2)
        with writer(str(tmp_path / f"{name}.parquet"), format="parquet", floats=True) as write:
            write(embedding_batch(columns, {"embedding": matrix}))
    paths = [str(tmp_path / f"{name}.parquet") for name in "ab"]
    both = read_embeddings(paths)
    assert both.columns == {"id": [1, 2, 5]}
    assert both.matrix.tolist() == [[0, 1], [2, 3], [9, 10]] and len(both) == 3
    assert both.name == ", ".join(paths)
    some = both.select(np.array([2, 0]))
    assert some.matrix.tolist() == [[9, 10], [0, 1]] and some.columns == {"id": [5, 1]}
    with writer(str(tmp_path / "c.parquet"), format="parquet", floats=True) as write:
        write(embedding_batch({"id": [1]}, {"embedding": np.ones((1, 3))}))
    with pytest.raises(DataError, match="its vectors are not those of"):
        read_embeddings([paths[0], str(tmp_path / "c.parquet")])


def test_a_vector_or_column_that_is_not_there_is_told_with_those_there_are():
    matrices = {"embedding": np.ones((1, 2)), "b_embedding": np.zeros((1, 2))}
    found = Embeddings(matrices, {"label": [1]}, name="e.parquet")
    assert found.matrix is found.vector("embedding") and found.column("label") == [1]
    assert found.chosen("b") == ("b_embedding", found.vector("b_embedding"))
    with pytest.raises(DataError, match="no vectors 'x'; there are embedding, b_embedding"):
        found.vector("x")
    with pytest.raises(DataError, match="no vectors 'embedding'") as error:
        Embeddings({"b_embedding": np.ones(1), "c_embedding": np.ones(1)}).chosen(None)
    assert error.value.hint == "--vectors names one"
    with pytest.raises(DataError, match="no column 'labels'; there are label") as error:
        found.column("labels")
    assert "label" in str(error.value.hint)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("[[1, 2], [3]]", "e.jsonl:2: embedding: of length 1, not 2 as before"),
        ("[[1, 2], null]", "rows have no embedding|expected"),
        ('[[1, 2], ["a", 3]]', "e.jsonl:2: embedding: expected numbers"),
        ("[[1, 2], [3, 1e39]]", "e.jsonl:2: embedding: not finite"),
        ("[[1, 2], [true, 1]]", "e.jsonl:2: embedding: expected numbers, got true"),
        ("[3, 4]", "e.jsonl:1: embedding: expected numbers"),
    ],
)
def test_vectors_that_are_no_matrix_are_told_with_their_row(value: str, says: str, tmp_path: Path):
    rows = orjson.loads(value)
    lines = [{"embedding": row} if row is not None else {"id": 1} for row in rows]
    (tmp_path / "e.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    with pytest.raises(DataError, match=says):
        read_embeddings([str(tmp_path / "e.jsonl")])


# provenance and counts


def test_a_folder_is_known_by_the_names_and_contents_of_its_files(tmp_path: Path):
    def told(name: str, files: dict[str, str]) -> dict:
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
        facts = describe(str(tmp_path / name))
        assert facts.pop("name") == str(tmp_path / name)
        return facts

    one = told("a", {"x": "1", "in/y": "22"})
    assert (one["files"], one["bytes"]) == (2, 3)
    assert told("b", {"in/y": "22", "x": "1"}) == one, "whatever the order and the folder's name"
    for name, files in {
        "c": {"x": "1", "in/z": "22"},
        "d": {"x": "1", "y": "22"},
        "e": {"x": "22", "in/y": "1"},
        "f": {"x": "1", "in/y": "22", "z": ""},
    }.items():
        assert told(name, files)["sha256"] != one["sha256"]


def test_a_file_is_known_by_all_of_its_content(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"a" * (3 << 20) + b"b")
    (tmp_path / "y").write_bytes(b"a" * (3 << 20) + b"c")
    assert digest(tmp_path / "x") != digest(tmp_path / "y")
    assert describe(str(tmp_path / "x")) == {
        "name": str(tmp_path / "x"),
        "bytes": (3 << 20) + 1,
        "sha256": digest(tmp_path / "x"),
    }
    assert describe("-") == {"name": "-"}


def test_formats_are_told_by_their_names_and_by_how_they_begin():
    for name, kind in (
        ("x.jsonl", "jsonl"),
        ("x.ndjson.gz", "jsonl"),
        ("x.parquet", "parquet"),
        ("x.arrow", "arrow"),
        ("x.csv.zst", "csv"),
        ("x.npy", "npy"),
        ("x", None),
        ("x.md", None),
    ):
        assert by_suffix(name) == kind
    assert (by_magic(b"PAR1"), by_magic(b'{"a":1'), by_magic(b"")) == ("parquet", None, None)
    marks = {name: FORMATS[name].marks for name in ("jsonl", "parquet")}
    assert marks == {"jsonl": "*.jsonl, *.ndjson, *.json", "parquet": "*.parquet, or content"}


def test_counts_are_told_with_their_reasons_the_most_frequent_first():
    tally = Tally()
    tally.keep()
    tally.keep(1200)
    tally.drop("short")
    tally.drop("repeated", 2000)
    tally.drop("never", 0)
    assert tally.line("pair", " from 3 dialogues") == (
        "1,201 pairs from 3 dialogues; dropped 2,001: 2,000 repeated, 1 short"
    )
    assert tally.counts() == {"kept": 1201, "dropped: repeated": 2000, "dropped: short": 1}
    other = Tally()
    other.sources, tally.sources = 2, 3
    other.keep()
    other.drop("short", 4)
    other.miss("kim", 2)
    tally.miss("kim")
    tally.merge(other)
    assert (tally.sources, tally.kept, tally.dropped["short"], tally.unmapped["kim"]) == (
        *(5, 1202, 5, 3),
    )
    assert Tally().line("pair") == "0 pairs" and counted(1, "pair") == "1 pair"


def test_of_names_a_thousand_are_told_apart():
    tally = Tally()
    for i in range(NAMES + 5):
        tally.miss(str(i))
    tally.miss("7")
    assert len(tally.unmapped) == NAMES + 1
    assert tally.unmapped["others"] == 5 and tally.unmapped["7"] == 2
