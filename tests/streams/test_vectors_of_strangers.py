"""Vectors from whoever wrote them: what is taken for a matrix, and what is refused and why."""

from __future__ import annotations

import io
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.streams import matrices
from dialtools.streams.making import making, options_of
from dialtools.streams.matrices import read_fbin, read_matrix, read_numbers
from dialtools.streams.sinks import writer
from dialtools.streams.vector_files import embedding_parts, holds_vectors, read_embeddings
from dialtools.streams.vectors import (
    MAKER,
    Embeddings,
    batch_matrix,
    embedding_batch,
    embedding_lines,
)

TWO = [[1.5, 2.0], [3.0, 4.0]]


def table(path: Path, **columns: Any) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def lines(path: Path, *rows: Any) -> str:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return str(path)


def saved(matrix: np.ndarray, **options: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, matrix, **options)
    return sink.getvalue()


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float32()),
        pa.list_(pa.float64(), 2),
        pa.large_list(pa.float16()),
        pa.list_(pa.int8()),
        pa.large_list(pa.uint64()),
    ],
    ids=str,
)
def test_lists_of_numbers_of_any_kind_are_vectors(tmp_path: Path, kind: pa.DataType):
    rows = TWO if pa.types.is_floating(kind.value_type) else [[1, 2], [3, 4]]
    path = table(tmp_path / "x.parquet", id=["a", "b"], embedding=pa.array(rows, kind))
    found = read_embeddings([path])
    assert found.matrix.tolist() == rows and found.matrix.dtype == np.float32
    assert found.columns == {"id": ["a", "b"]} and found.name == path
    pq.write_table(pa.table({"embedding": pa.array(rows, kind)}), path, row_group_size=1)
    assert read_embeddings([path]).matrix.tolist() == rows  # a chunk a row


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array(["a"]), "column embedding: expected lists of numbers, got string"),
        (pa.array([["a"]]), "expected lists of numbers, got list<element: string>"),
        (pa.array([1.5]), "expected lists of numbers, got double"),
        (pa.array([[[1.5]]]), "expected lists of numbers, got list<"),
        (pa.array([[1.5], None]), "column embedding: row 2 is empty"),
        (pa.array([[1.5], [1.5, 2]]), "vectors differ in length"),
        (pa.array([[], []], pa.list_(pa.float32())), r"vectors of one length or more.*\(2, 0\)"),
        (pa.array([[1.5], [2], [np.inf]]), "row 3 is not finite"),
        (pa.array([[1.5], [np.nan], [np.inf]]), "row 2 is not finite"),
        (pa.array([[1e39, 0]]), r"row 1 is not finite in float32 \(3.4e38 at most\)"),
    ],
)
def test_columns_that_are_no_matrix_are_told(tmp_path: Path, column: pa.Array, said: str):
    path = table(tmp_path / "x.parquet", embedding=column)
    with pytest.raises(DataError, match=said) as told:
        read_embeddings([path])
    assert told.value.where == path


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"embedding": [1, "2"]}], "x.jsonl:1: embedding: expected numbers"),
        ([{"embedding": [1]}, {"embedding": [[1]]}], "x.jsonl:2: embedding: expected numbers"),
        ([{"embedding": [True]}], "x.jsonl:1: embedding: expected numbers"),
        ([{"embedding": [1, [2]]}], "x.jsonl:1: embedding: expected numbers"),
        ([{"embedding": [1]}, {"embedding": [1, 2]}], "x.jsonl:2: embedding: of length"),
        ([{"embedding": [1]}, {"id": 1}, {}], "x.jsonl: 2 of 3 rows have no embedding"),
        ([{"embedding": [1]}, {"embedding": [1e39]}], "x.jsonl:2: .*: not finite"),
        ([{"embedding": []}], "expected numbers|one length or more"),
        ([{"id": 1}], r"holds no embeddings \(a field named embedding or \*_embedding\)"),
        ([], r"holds no embeddings"),
    ],
)
def test_lines_that_are_no_matrix_are_told(tmp_path: Path, rows: list[dict], said: str):
    with pytest.raises(DataError, match=said):
        read_embeddings([lines(tmp_path / "x.jsonl", *rows)])


def test_what_holds_no_vectors_is_told_with_what_makes_them(tmp_path: Path):
    stream = tmp_path / "x.arrows"
    with pa.ipc.new_stream(stream, pa.schema([])):
        pass
    (tmp_path / "x.csv").write_text("a,b\n")
    for path, said in (
        (table(tmp_path / "x.parquet", a=[1], b=[2]), "named embedding or *_embedding, but a, b"),
        (str(stream), "x.arrows: holds no embeddings"),
        (str(tmp_path / "x.csv"), "x.csv: csv holds no embeddings"),
    ):
        with pytest.raises(DataError) as told:
            read_embeddings([path])
        assert said in str(told.value) and told.value.hint == MAKER
    (tmp_path / "x.txt").write_text("a\n")
    with pytest.raises(DataError, match="text holds no embeddings"):
        holds_vectors(str(tmp_path / "x.txt"))


def test_streams_one_after_another_have_one_kind_of_columns(tmp_path: Path):
    sink = b""
    for name in ("a", "b"):
        batch = embedding_batch({name: [1]}, {"embedding": np.ones((1, 2))})
        with writer(str(tmp_path / "x.arrows"), format="arrow", overwrite=True) as write:
            write(batch)
        sink += (tmp_path / "x.arrows").read_bytes()
    (tmp_path / "x.arrows").write_bytes(sink)
    with pytest.raises(DataError, match="its batches differ in their columns"):
        read_embeddings([str(tmp_path / "x.arrows")])
    assert len(list(embedding_parts([str(tmp_path / "x.arrows")]))) == 2


def test_rows_come_a_chunk_at_a_time_or_the_first_alone(tmp_path: Path):
    rows = [{"id": n, "embedding": [n, 1]} for n in range(4)]
    path = lines(tmp_path / "x.jsonl", *rows)
    (tmp_path / "blank.jsonl").write_text("\n \n")
    packed = tmp_path / "x.arrows"
    with writer(str(packed), format="arrow") as write:
        for n in range(2):
            write(embedding_batch({"id": [n]}, {"embedding": np.array([[n, 1]])}))
    parts = list(embedding_parts([path, str(tmp_path / "blank.jsonl"), str(packed)]))
    assert [part.columns["id"] for part in parts] == [[0, 1, 2, 3], [0], [1]]
    assert [part.name for part in parts] == [path, str(packed), str(packed)]
    for limit, ids in ((0, None), (1, [0]), (4, [0, 1, 2, 3]), (9, [0, 1, 2, 3])):
        if ids is None:
            with pytest.raises(DataError, match="holds no rows"):
                read_embeddings([path], limit=limit)
        else:
            assert read_embeddings([path], limit=limit).columns == {"id": ids}


def test_a_folder_of_parts_is_one_file_of_vectors(tmp_path: Path):
    (tmp_path / "in").mkdir()
    for name, number in (("b", 2), ("a", 1)):
        vectors = pa.array([[number, 0.5]], pa.list_(pa.float32(), 2))
        table(tmp_path / "in" / f"{name}.parquet", id=[number], embedding=vectors)
    found = read_embeddings([str(tmp_path / "in")])
    assert (found.columns, found.name) == ({"id": [1, 2]}, str(tmp_path / "in"))
    assert found.matrix.tolist() == [[1, 0.5], [2, 0.5]]


def test_a_name_that_only_holds_the_word_is_no_column_of_vectors(tmp_path: Path):
    path = lines(tmp_path / "x.jsonl", {"embedding_of": "a", "text_embedding": [1, 2]})
    found = read_embeddings([path])
    assert list(found.vectors) == ["text_embedding"] and found.columns == {"embedding_of": ["a"]}
    (tmp_path / "y.jsonl").write_text('{"id":1}\n{"embedding":[1]}\n')
    assert not holds_vectors(str(tmp_path / "y.jsonl")), "its first record tells"


def test_a_batch_holds_vectors_flat_in_the_width_that_is_wanted():
    matrix = np.asfortranarray(np.array([[1.5, 2], [3, 4], [5, 6]]))
    wide = embedding_batch({"n": [1, 2, 3]}, {"a_embedding": matrix, "embedding": matrix[:, :1]})
    half = embedding_batch({}, {"embedding": matrix}, float16=True)
    assert wide.schema.names == ["n", "a_embedding", "embedding"]
    assert wide["a_embedding"].type == pa.list_(pa.float32(), 2)
    assert half["embedding"].type == pa.list_(pa.float16(), 2)
    for batch, name in ((wide, "a_embedding"), (half, "embedding")):
        assert batch_matrix(batch, name).tolist() == matrix.tolist()
        assert batch_matrix(batch, name).dtype == np.float32
    assert batch_matrix(wide.slice(1), "a_embedding").tolist() == matrix[1:].tolist()
    told = embedding_lines(wide).splitlines()
    assert orjson.loads(told[2]) == {"n": 3, "a_embedding": [5, 6], "embedding": [5]}
    gaps = embedding_batch({"n": [None]}, {"embedding": np.array(TWO[:1])})
    assert embedding_lines(gaps) == b'{"embedding":[1.5,2.0]}\n'
    digits = embedding_batch({"d": [Decimal("1.50")]}, {"embedding": np.array(TWO[:1])})
    assert embedding_lines(digits) == b'{"d":"1.50","embedding":[1.5,2.0]}\n'


def test_what_a_file_tells_of_its_making_is_taken_as_it_is_meant():
    assert options_of({"options": {"a": 1}}) == {"a": 1} and options_of({}) == {}
    assert options_of({"options": [1]}) == {} and making({"dialtools": "5"}) == {}
    one = Embeddings({}, metadata={"dialtools": '{"options":{"field":["a",5]}}'})
    assert one.fields == ["a", "5"] and Embeddings({}).fields == []


# matrices without columns


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "|i1", ">u2", "<i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_of_any_number_is_read_as_numpy_reads_it(dtype: str, order: Any):
    matrix = np.arange(6).reshape(3, 2).astype(dtype, order=order)
    np.testing.assert_array_equal(read_matrix(io.BytesIO(saved(matrix)), "x"), matrix)
    empty = np.zeros((0, 2), dtype)
    assert read_matrix(io.BytesIO(saved(empty)), "x").shape == (0, 2)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_a_header_of_every_version_is_read(version: tuple[int, int]):
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.array(TWO), version=version)
    assert read_matrix(io.BytesIO(sink.getvalue()), "x").tolist() == TWO


def with_header(text: str, data: bytes = b"", length: int | None = None) -> bytes:
    size = (len(text) if length is None else length).to_bytes(2, "little")
    return b"\x93NUMPY\x01\x00" + size + text.encode() + data


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it does not begin like one"),
        (b"\x93NUMPY", "it does not begin like one"),
        (b"\x93NUMPX\x01\x00", "it does not begin like one"),
        (b"\x93NUMPY\x04\x00", "it does not begin like one"),
        (b"\x93NUMPY\x00\x00", "it does not begin like one"),
        (with_header("", length=10_001), "a header of 10,001 bytes"),
        (with_header("", length=10_000), "its header is damaged"),
        (with_header(HEADER.replace("<f4", "<q9")), "its header is damaged"),
        (with_header("{'descr': '<f4', 'shape': (1, 1)}"), "its header is damaged"),
        (with_header("(" * 500), "its header is damaged"),
        (with_header("{'a': 1}"), "its header is damaged"),
        (with_header("[]"), "its header is damaged"),
        (with_header(HEADER.replace("(1, 1)", "[1, 1]")), r"got shape \[1, 1\] of float32"),
        (with_header(HEADER.replace("(1, 1)", "(1, -1)")), r"got shape \(1, -1\) of float32"),
        (with_header(HEADER.replace("(1, 1)", "(1, True)")), r"got shape \(1, True\)"),
        (with_header(HEADER.replace("(1, 1)", "(1, 1, 1)")), r"got shape \(1, 1, 1\)"),
        (with_header(HEADER.replace("<f4", "<c8")), r"got shape \(1, 1\) of complex64"),
        (with_header(HEADER.replace("<f4", "|b1")), r"got shape \(1, 1\) of bool"),
        (with_header(HEADER, b"123"), "its header tells of 4 bytes, 3 are there"),
        (with_header(HEADER, b"12345"), "its header tells of 4 bytes, more follow"),
    ],
)
def test_what_is_no_matrix_of_numpys_is_told(data: bytes, said: str):
    with pytest.raises(DataError, match=said) as told:
        read_matrix(io.BytesIO(data), "x")
    assert told.value.where == "x"
    good = with_header(HEADER, b"\0\0\x80\x3f")
    assert read_matrix(io.BytesIO(good), "x").tolist() == [[1]]
    columns_first = with_header(HEADER.replace("False", "True"), b"\0\0\x80\x3f")
    assert read_matrix(io.BytesIO(columns_first), "x").tolist() == [[1]]


def test_numbers_are_read_a_block_at_a_time_and_no_further_than_one_byte_beyond(monkeypatch):
    monkeypatch.setattr(matrices, "BLOCK_BYTES", 3)

    class Watched(io.BytesIO):
        asked: list[int]

        def read(self, size: int | None = -1) -> bytes:
            self.asked.append(size or 0)
            return super().read(size)

    stream = Watched(b"1234567")
    stream.asked = []
    assert read_numbers(stream, 7, "x") == b"1234567" and stream.asked == [3, 3, 2, 1]
    endless = Watched(b"1" * 100)
    endless.asked = []
    with pytest.raises(DataError, match="tells of 7 bytes, more follow"):
        read_numbers(endless, 7, "x")
    assert endless.tell() == 8
    assert read_numbers(io.BytesIO(), 0, "x") == b""


def test_the_header_of_a_matrix_is_as_long_as_numpys_and_its_data_is_aligned(tmp_path: Path):
    with writer(str(tmp_path / "x.npy"), format="npy") as write:
        write(embedding_batch({"id": [1, None]}, {"embedding": np.array(TWO)}))
        write(embedding_batch({"id": [Decimal("1.50")]}, {"embedding": np.array(TWO[:1])}))
    data = (tmp_path / "x.npy").read_bytes()
    assert len(data) == 128 + 3 * 2 * 4 and data[127:128] == b"\n" and data[:8] == b"\x93NUMPY\1\0"
    beside = (tmp_path / "x.npy.columns.jsonl").read_bytes()
    assert beside == b'{"id":1}\n{"id":null}\n{"id":"1.50"}\n'
    assert np.load(tmp_path / "x.npy").tolist() == [*TWO, TWO[0]]


def test_rows_beside_a_matrix_are_as_many_as_its_own(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.array(TWO, np.float32))
    for rows in (1, 3):
        lines(tmp_path / "x.npy.columns.jsonl", *[{"id": 1}] * rows)
        with pytest.raises(DataError, match=rf"{rows} rows? beside a matrix of 2") as told:
            read_embeddings([str(tmp_path / "x.npy")])
        assert told.value.where == str(tmp_path / "x.npy.columns.jsonl")


def test_fbin_is_rows_dimensions_and_numbers_of_four_bytes(tmp_path: Path):
    path = tmp_path / "x.fbin"
    with writer(str(path), format="fbin") as write:
        write(embedding_batch({"id": [1, 2]}, {"embedding": np.array(TWO)}, float16=True))
        with pytest.raises(ConfigError, match="fbin holds one matrix"):
            write(embedding_batch({"id": [1]}, {}))
    data = path.read_bytes()
    assert data == np.array([2, 2], "<i4").tobytes() + np.array(TWO, "<f4").tobytes()
    assert read_fbin(io.BytesIO(data), "x").tolist() == TWO
    assert read_embeddings([str(path)]).columns == {"id": [1, 2]}
    for wrong, said in (
        (b"", "it does not begin with rows"),
        (data[:7], "it does not begin with rows"),
        (np.array([-1, 2], "<i4").tobytes(), "it does not begin with rows"),
        (np.array([2, -1], "<i4").tobytes(), "it does not begin with rows"),
        (data[:-1], "tells of 16 bytes, 15 are there"),
        (data + b"x", "tells of 16 bytes, more follow"),
    ):
        with pytest.raises(DataError, match=said):
            read_fbin(io.BytesIO(wrong), "x")
    assert read_fbin(io.BytesIO(bytes(8)), "x").shape == (0, 0)


def test_fbin_counts_no_further_than_its_four_bytes():
    most = 2**31 - 1
    assert matrices._fbin_header(most, 1, np.dtype("f4")) == np.array([most, 1], "<i4").tobytes()
    with pytest.raises(OutputError, match="2,147,483,648 rows, and fbin counts to 2,147,483,647"):
        matrices._fbin_header(most + 1, 1, np.dtype("f4"))


def test_metadata_is_that_of_the_writer_without_what_arrow_adds(tmp_path: Path):
    batch = embedding_batch({}, {"embedding": np.ones((1, 1))})
    told = {b"ARROW:schema": b"x", b"a": b"\xff", b"\xff": b"c"}
    with pa.ipc.new_stream(tmp_path / "x", batch.schema.with_metadata(told)) as stream:
        stream.write_batch(batch.replace_schema_metadata(told))
    found = read_embeddings([str(tmp_path / "x")])
    assert found.metadata == {"a": "\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}": "c"}


def test_numbers_beyond_32_bits_are_told_once_as_an_error_not_as_a_warning(tmp_path: Path):
    doubles = pa.array([[1e39]], pa.list_(pa.float64()))
    np.save(tmp_path / "x.npy", np.array([[1e39]]))
    for path in (
        lines(tmp_path / "x.jsonl", {"embedding": [1e39]}),
        table(tmp_path / "x.parquet", embedding=doubles),
        str(tmp_path / "x.npy"),
    ):
        with warnings.catch_warnings(), pytest.raises(DataError, match=r"1:? .*not finite"):
            warnings.simplefilter("error")
            read_embeddings([path])
