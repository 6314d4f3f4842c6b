"""Columns of shards: whatever the rows had is in the table that holds all of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.embed.carry import Columns
from dialtools.errors import DataError
from dialtools.streams.policy import Where
from dialtools.streams.record_tables import record_batches
from dialtools.streams.schemas import NO_COLUMN, column_of, fitted, united, wider

NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
KINDS = {
    "n": NUMBERS,
    "hash": st.integers(2**63, 2**64 - 1),
    "note": TEXTS,
    "flag": st.booleans(),
    "scores": st.lists(NUMBERS | st.none(), max_size=2),
    "acts": st.lists(TEXTS | st.none(), max_size=2),
}
ROWS = st.lists(
    st.fixed_dictionaries(
        {"text": TEXTS}, optional={name: kind | st.none() for name, kind in KINDS.items()}
    ),
    min_size=1,
    max_size=12,
)


def shards(rows: list[dict[str, Any]], size: int) -> list[list[dict[str, Any]]]:
    return [rows[at : at + size] for at in range(0, len(rows), size)]


@given(ROWS, st.integers(1, 5))
def test_a_table_of_all_shards_has_every_value_of_every_row(rows: list[dict[str, Any]], size: int):
    columns, batches = Columns(("all",)), []
    for part in shards(rows, size):
        columns.see(part)
        places = [Where("x", number) for number in range(1, len(part) + 1)]
        batches.append(pa.RecordBatch.from_pydict(columns.of(part, places)))
    made = [
        row for batch in batches for row in fitted(batch, columns.under(batch.schema)).to_pylist()
    ]
    assert made == [{name: row.get(name) for name in columns.names} for row in rows]
    assert set(columns.names) == {name for row in rows for name in row}


@given(ROWS)
def test_so_has_a_table_of_records(rows: list[dict[str, Any]]):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dialtools.streams.record_tables.BATCH_ROWS", 3)
        batches = list(record_batches(rows, at_once=False))
    made = [row for batch in batches for row in batch.to_pylist()]
    assert made == [{name: row.get(name) for name in batches[0].schema.names} for row in rows]


@given(ROWS, st.integers(1, 5))
def test_a_stream_has_every_value_too_or_is_refused(rows: list[dict[str, Any]], size: int):
    columns = Columns(("all",), settled=True)
    made: list[dict[str, Any]] = []
    parts = shards(rows, size)
    for part in parts:
        columns.see(part)
        places = [Where("x", number) for number in range(1, len(part) + 1)]
        try:
            batch = pa.RecordBatch.from_pydict(columns.of(part, places))
        except DataError as error:
            assert "is not of one type" in str(error)
            return
        made += batch.to_pylist()
    assert made == [{name: row.get(name) for name in columns.names} for row in rows]
    late = {name for part in parts for row in part for name in row} - set(columns.names)
    assert set(columns.left_out) == late


@given(ROWS, st.integers(1, 5), st.data())
def test_a_run_that_goes_on_gives_the_schema_of_one_that_was_not_stopped(
    rows: list[dict[str, Any]], size: int, data: st.DataObject
):
    parts = shards(rows, size)
    finished = data.draw(st.integers(0, len(parts)))
    whole, resumed = Columns(("all",)), Columns(("all",))
    for number, part in enumerate(parts):
        whole.see(part)
        resumed.see(part)
        places = [Where("x", 1)] * len(part)
        made = pa.RecordBatch.from_pydict(whole.of(part, places))
        if number < finished:
            resumed.take_over(part, made.schema)
        else:
            resumed.of(part, places)
    assert resumed.under(made.schema) == whole.under(made.schema)


def test_a_type_holds_two_where_nothing_is_lost():
    text, whole, hashes, real = pa.string(), pa.int64(), pa.uint64(), pa.float64()
    for known, fresh, both in (
        (pa.null(), text, text),
        (text, pa.null(), text),
        (whole, real, real),
        (hashes, whole, hashes),
        (pa.list_(whole), pa.list_(real), pa.list_(real)),
    ):
        assert wider(known, fresh) == both
    for known, fresh in (
        (whole, hashes),
        (text, whole),
        (pa.bool_(), whole),
        (pa.list_(text), text),
    ):
        with pytest.raises(pa.ArrowException):
            wider(known, fresh)
    first, second = pa.schema([("a", whole)]), pa.schema([("b", text), ("a", real)])
    assert united([first, second]) == pa.schema([("a", real), ("b", text)])


def test_a_column_of_a_type_is_whole_or_refused():
    assert column_of([1.0, None], pa.int64()).to_pylist() == [1, None]
    assert column_of([1, None], pa.float64()).to_pylist() == [1.0, None]
    for values, kind in (
        ([4.5], pa.int64()),
        ([4.5], pa.string()),
        ([2**53 + 1], pa.float64()),
        ([-1], pa.uint64()),
        (["1"], pa.int64()),
        ([True], pa.int64()),
    ):
        with pytest.raises(NO_COLUMN):
            column_of(values, kind)


def test_what_is_never_carried_along_is_not_even_when_it_comes_late():
    columns = Columns(("all",), without=frozenset({"history"}))
    for row in ({"text": "a", "history": ["b"]}, {"text": "a", "history": ["b"], "new": 1}):
        columns.see([row])
        assert "history" not in columns.of([row], [Where("x", 1)])
    assert columns.names == ["text", "new"]
