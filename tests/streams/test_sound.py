"""What makes columns sound, how large they are written out, and where a batch is cut."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import DataError
from dialtools.streams import sound as room
from dialtools.streams import tables
from dialtools.streams.sound import Unsound, checked, checked_schema, pieces, sound

TEXTS = (pa.string(), pa.large_string())


def array(kind: pa.DataType, width: str, *numbers: tuple[int, ...], rest: Any = ()) -> pa.Array:
    """Return an array of such offsets or sizes, whatever they say: Arrow is told only noughts."""
    rows = len(numbers[0]) - (len(numbers) == 1)
    parts = [np.zeros(len(part), width) for part in numbers]
    found = pa.Array.from_buffers(
        kind,
        rows,
        [None, *map(pa.py_buffer, [*parts, *(rest if isinstance(rest, list) else [])])],
        children=None if isinstance(rest, list) else [rest],
    )
    for part, values in zip(parts, numbers, strict=True):
        part[:] = values
    return found


def texts(kind: pa.DataType, offsets: tuple[int, ...], data: bytes) -> pa.Array:
    return array(kind, {pa.string(): "i4", pa.large_string(): "i8"}[kind], offsets, rest=[data])


def lists(offsets: tuple[int, ...], values: pa.Array) -> pa.Array:
    return array(pa.list_(values.type), "i4", offsets, rest=values)


def views(starts: tuple[int, ...], sizes: tuple[int, ...], values: pa.Array) -> pa.Array:
    return array(pa.list_view(values.type), "i4", starts, sizes, rest=values)


def batch(*columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [f"c{i}" for i in range(len(columns))])


THREE = pa.array([7, 8, 9], pa.int16())
E_ACUTE = "é".encode()
HALVES = texts(pa.string(), (0, 1, 2), E_ACUTE)
BAD_BYTES = texts(pa.string(), (0, 2), b"a\xff")
GOOD = {
    "numbers": THREE,
    "text": pa.array(["é", "", "bc"]),
    "no text": texts(pa.string(), (0,), b""),
    "gap before and behind": texts(pa.string(), (1, 2, 3), b"\xffab\xff"),
    "ends in nothing": texts(pa.string(), (0, 2, 2), E_ACUTE),
    "all of the list": lists((0, 1, 1, 3), THREE),
    "list of texts": pa.array([["é"], [], None]),
    "views to the end": views((3, 0, 1), (0, 3, 2), THREE),
    "no views": views((), (), THREE),
    "vectors": pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2)),
    "behind what is cut off": BAD_BYTES.slice(1),
    "before what is cut off": texts(pa.string(), (0, 1, 2), b"a\xff").slice(0, 1),
    "list before what is cut off": lists((0, 1, 9), THREE).slice(0, 1),
    "one text of several": texts(pa.string(), (0, 1, 3), b"\xffab").slice(1),
}
BAD = {
    "beyond the text": texts(pa.string(), (0, 3), b"ab"),
    "before the text": texts(pa.string(), (-1, 2), b"ab"),
    "falling": texts(pa.string(), (0, 2, 1, 2), b"ab"),
    "no UTF-8": BAD_BYTES,
    "cut in a character": HALVES,
    "beyond the list": lists((0, 4), THREE),
    "list of bad texts": lists((0, 1), BAD_BYTES),
    "view begins beyond": views((4,), (0,), THREE),
    "view begins before": views((-1,), (1,), THREE),
    "view of less than nothing": views((1,), (-1,), THREE),
    "view ends beyond": views((2,), (2,), THREE),
    "views of bad texts": views((0,), (1,), BAD_BYTES),
    "vectors of bad texts": pa.FixedSizeListArray.from_arrays(HALVES, 2),
}


SEEN_AT_ONCE = ("beyond the text", "before the text", "beyond the list")
"""Of which Arrow makes no batch."""


@pytest.mark.parametrize("name", GOOD)
def test_sound_columns_are_known_quickly(name: str):
    found = batch(THREE.slice(0, 0).cast(pa.int8()), GOOD[name].slice(0, 0))
    assert sound(found) is found
    assert room._is_sound(GOOD[name])
    alone = batch(GOOD[name])
    assert sound(alone) is alone


@pytest.mark.parametrize("kind", TEXTS)
def test_offsets_of_texts_are_of_their_width(kind: pa.DataType):
    assert room._is_sound(texts(kind, (0, 1, 3), b"abc"))
    assert not room._is_sound(texts(kind, (0, 1, 4), b"abc"))
    assert not room._is_sound(texts(kind, (0, 1, 3), b"a" + E_ACUTE[:1] + b"b"))


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_column_is_told_by_its_name(name: str):
    assert not room._is_sound(BAD[name])
    if name not in SEEN_AT_ONCE:
        fine = pa.array(range(len(BAD[name])))
        with pytest.raises(Unsound, match="damaged column 'c1': "):
            sound(batch(fine, BAD[name], fine))


def test_a_column_whose_buffer_is_too_short_is_damaged():
    rows = 12345
    found = batch(pa.array(range(rows), pa.int16()))
    one, more = (n.to_bytes(8, "little") for n in (rows, rows + 1))
    message = pa.py_buffer(found.serialize().to_pybytes().replace(one, more))
    with pytest.raises(Unsound, match="damaged: "):
        sound(pa.ipc.read_record_batch(message, found.schema))


def test_views_into_so_many_values_that_their_ends_overflow_are_left_to_arrow():
    for size, quick in ((2**30 - 1, True), (2**30, False)):
        assert room._are_views(views((0,), (1,), pa.nulls(size))) is quick


def test_rows_that_no_column_holds_a_bit_of_are_made_up(monkeypatch: pytest.MonkeyPatch):
    bits = pa.Array.from_buffers(pa.bool_(), 16, [None, pa.py_buffer(b"\xff\xff")])

    def runs(rows: int) -> pa.RecordBatch:  # 2 bytes of ends, 1 of values
        return batch(pa.RunEndEncodedArray.from_arrays(pa.array([rows], "i2"), pa.array([1], "i1")))

    monkeypatch.setattr(room, "FEW_ROWS", 0)
    for fine in (batch(bits), runs(24)):
        assert sound(fine) is fine
    with pytest.raises(Unsound, match="damaged: 25 rows in 3 bytes"):
        sound(runs(25))
    monkeypatch.setattr(room, "FEW_ROWS", 30)
    for rows in (25, 30):
        assert sound(runs(rows)).num_rows == rows
    with pytest.raises(Unsound, match="damaged: 31 rows"):
        sound(runs(31))


NUMBER = pa.int8()


def named(*names: str) -> list[pa.Field]:
    return [pa.field(name, NUMBER) for name in names]


@pytest.mark.parametrize(
    ("fields", "doubled"),
    [
        (named("a", "b", "b"), "b"),
        ([*named("a"), pa.field("s", pa.struct(named("x", "x")))], "s.x"),
        ([pa.field("l", pa.list_(pa.struct(named("y", "y"))))], "l.item.y"),
        ([pa.field("s", pa.struct([pa.field("t", pa.struct(named("z", "z")))]))], "s.t.z"),
    ],
)
def test_a_name_that_is_there_twice_is_told_with_its_path(fields: list[pa.Field], doubled: str):
    with pytest.raises(Unsound) as error:
        checked_schema(pa.schema(fields))
    assert str(error.value) == f"column {doubled!r} is there twice"


def test_names_are_compared_within_one_table_and_not_within_a_union():
    same = pa.struct(named("a", "b"))
    schema = pa.schema(
        [
            *named("a"),
            pa.field("b", same),
            pa.field("u", pa.sparse_union(named("x", "x"))),
            pa.field("m", pa.map_(NUMBER, NUMBER)),
        ]
    )
    assert checked_schema(schema) is schema
    with pytest.raises(Unsound, match="a column's name is not UTF-8"):
        checked_schema(pa.schema(named("a", b"\xff")))  # pyright: ignore[reportArgumentType]


def test_a_reader_that_is_checked_tells_the_file_and_looks_at_every_batch_and_schema():
    good = batch(THREE, THREE)
    doubled = pa.RecordBatch.from_arrays([THREE, THREE], ["a", "a"])

    def reading(*batches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return checked(lambda stream, path: iter(batches))(io.BufferedReader(io.BytesIO()), "-")

    assert list(reading(good, good)) == [good, good]
    for bad, says in ((doubled, "'a' is there twice"), (batch(BAD_BYTES), "damaged")):
        found = reading(good, bad)
        assert next(found) is good
        with pytest.raises(DataError, match=rf"^\S*stdin\S*: .*{says}"):
            list(found)


WORDS = pa.array(["a", "bcd"])
FOUR = WORDS.take(pa.array([0, 1, 0, 0]))
SIZES = {
    "numbers": (THREE, 3 * 8, False),
    "texts": (FOUR, 6, False),
    "some texts": (FOUR.slice(1, 2), 4, False),
    "large texts": (FOUR.cast(pa.large_string()), 6, False),
    "no texts": (FOUR.slice(0, 0), 0, False),
    "dictionary": (FOUR.dictionary_encode(), 4 * (8 + 3), True),
    "dictionary of numbers": (THREE.dictionary_encode(), 3 * 8, True),
    "empty dictionary": (pa.nulls(4, pa.string()).dictionary_encode(), 0, True),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([5], "i4"), WORDS[1:]), 5 * 11, True),
    "views": (views((0, 0), (2, 1), WORDS), 3 * 11, True),
    "lists": (lists((0, 2, 3), FOUR), 2 * 8 + 5, False),
    "lists cut": (lists((0, 2, 3), FOUR).slice(1), 8 + 1, False),
    "lists of dictionary": (
        lists((0, 1, 4), FOUR.dictionary_encode()),
        2 * 8 + 4 * (8 + 3),
        True,
    ),
    "large lists": (pa.array([["a"], ["bc", ""]], pa.large_list(pa.string())), 2 * 8 + 3, True),
    "vectors": (pa.array([[1, 2]], pa.list_(pa.int32(), 2)), 2 * 4, False),
    "struct": (pa.StructArray.from_arrays([FOUR, FOUR], ["x", "y"]), 12, True),
    "dictionary of lists": (
        pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], "i1"), lists((0, 2), WORDS)),
        3 * (8 + 4),
        True,
    ),
    "bytes": (pa.array([b"abc"]), pa.array([b"abc"]).nbytes, True),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_column_written_out_is_as_large_as_its_values(name: str):
    array, size, repeats = SIZES[name]
    assert room._written(array) == size
    assert room._repeats(array.type) is repeats


def test_large_views_count_what_each_row_names():
    kind = pa.large_list_view(pa.string())
    assert room._written(array(kind, "i8", (0, 0), (2, 1), rest=WORDS)) == 3 * 11
    assert room._repeats(kind)


@pytest.mark.parametrize(
    ("most", "rows"),
    [(9 * 8 + 24, [9]), (8 * 8, [4, 5]), (5 * 8, [4, 5]), (5 * 8 - 1, [4, 2, 3]), (8, [1] * 9)],
)
def test_a_batch_is_cut_in_halves_until_each_is_small_enough(
    most: int, rows: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(room, "SLICE_BYTES", most)
    numbers = pa.DictionaryArray.from_arrays(pa.array(range(9), "i1"), pa.array(range(9), "i1"))
    found = batch(numbers)
    assert found.get_total_buffer_size() == 18
    cut = list(pieces(found))
    assert [piece.num_rows for piece in cut] == rows
    assert [row for piece in cut for row in piece.to_pylist()] == found.to_pylist()


def test_a_row_is_never_cut_and_refused_beyond_what_a_record_may_be(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(room, "SLICE_BYTES", 5)
    row = batch(pa.array(["x" * 100]))
    size = row.get_total_buffer_size()
    monkeypatch.setattr(room, "ROW_BYTES", size)
    assert list(pieces(row)) == [row]
    assert list(pieces(row.slice(0, 0))) == [row.slice(0, 0)], "without rows, whatever it weighs"
    monkeypatch.setattr(room, "ROW_BYTES", size - 1)
    with pytest.raises(Unsound, match="a row of 0 MiB, more than 0"):
        list(pieces(row))


@pytest.mark.parametrize("stored", ["once", "in every row"])
def test_a_parquet_file_that_says_how_long_its_rows_are_is_read_by_a_few_at_a_time(
    stored: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    rows, long = 300, "a" * 8192  # longer than what is told of among a column's statistics
    path = tmp_path / "t.parquet"
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([long]))
    if stored == "in every row":
        column = column.dictionary_decode()
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < len(long)
    monkeypatch.setattr(tables, "SLICE_BYTES", 1 << 18)
    with path.open("rb") as stream:
        batches = list(tables.parquet_batches(stream, str(path)))
    assert {text for batch in batches for text in batch["text"].to_pylist()} == {long}
    assert sum(batch.num_rows for batch in batches) == rows
    # of what is stored once the size is an estimate
    assert max(batch.num_rows for batch in batches) <= 3 * (1 << 18) // len(long)
