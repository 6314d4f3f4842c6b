"""What JSON has no kind for is told as text with all its digits; the rest as Python has it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from dialtools.corpora.fields import as_text
from dialtools.streams.carried import Carried, scalars
from dialtools.streams.rows import rows, text_of_scalar, values
from dialtools.streams.sinks import json_line

NANO = 10**9


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0, pa.timestamp("s"), "1970-01-01T00:00:00"),
        (0, pa.timestamp("ms"), "1970-01-01T00:00:00"),
        (1_500, pa.timestamp("ms"), "1970-01-01T00:00:01.5"),
        (1_000_120, pa.timestamp("us"), "1970-01-01T00:00:01.00012"),
        (NANO + 1, pa.timestamp("ns"), "1970-01-01T00:00:01.000000001"),
        (0, pa.timestamp("s", "Asia/Tokyo"), "1970-01-01T00:00:00+00:00"),
        (10_500, pa.timestamp("ms", "UTC"), "1970-01-01T00:00:10.5+00:00"),
        (20, pa.date32(), "1970-01-21"),
        (20 * 86_400_000, pa.date64(), "1970-01-21"),
        (10, pa.time32("s"), "00:00:10"),
        (10_100, pa.time32("ms"), "00:00:10.1"),
        (61_000_000, pa.time64("us"), "00:01:01"),
        (61 * NANO + 20, pa.time64("ns"), "00:01:01.00000002"),
        (90, pa.duration("s"), "PT90S"),
        (-1_500, pa.duration("ms"), "PT-1.500S"),
        (1, pa.duration("us"), "PT0.000001S"),
        (NANO + 1, pa.duration("ns"), "PT1.000000001S"),
        ((1, 2, 3), pa.month_day_nano_interval(), "P1M2DT0.000000003S"),
        (Decimal("-1.50"), pa.decimal128(5, 2), "-1.50"),
    ],
)
def test_the_text_of_a_value_has_all_its_digits(value: Any, kind: pa.DataType, text: str):
    scalar = pa.scalar(value, kind)
    assert text_of_scalar(scalar) == text == str(Carried(scalar)) == repr(Carried(scalar))


def test_what_is_carried_is_the_same_as_what_has_its_text():
    one, same, other = (Carried(pa.scalar(value)) for value in (b"a", b"a", b"b"))
    assert one == same and hash(one) == hash(same) and len({one, same, other}) == 2
    assert one != other and one != str(one) and one.kind == "binary"
    assert json_line({"a": one}) == b'{"a":"YQ=="}\n'


def test_a_moment_has_one_name_whatever_unit_or_zone_a_column_has():
    when = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    for zone, name in ((None, "2020-01-02T03:04:05"), ("Europe/Oslo", "2020-01-02T03:04:05+00:00")):
        for unit in ("s", "ms", "us", "ns"):
            array = pa.array([when.replace(tzinfo=zone and UTC), None], pa.timestamp(unit, zone))
            assert values(array) == [Carried(array[0]), None]
            assert as_text(values(array)[0]) == name
            assert orjson.loads(json_line({"at": values(array)})) == {"at": [name, None]}
            nested = scalars([{"at": values(array)}])
            assert pa.array(nested).type == pa.struct([("at", pa.list_(array.type))])
    for array, names in (
        (pa.array([date(2020, 1, 2)]), ["2020-01-02"]),
        (pa.array([time(1, 2)], pa.time32("s")), ["01:02:00"]),
        (pa.array([400_000 * 365], pa.date32()), ["401704-06-04"]),
        (pa.array([0], pa.timestamp("s", "Nowhere/None")), ["1970-01-01T00:00:00+00:00"]),
        (pa.array([timedelta(seconds=1)], pa.duration("s")), ["PT1S"]),
    ):
        assert [str(value) for value in values(array)] == names


def test_columns_of_columns_are_told_by_their_values():
    words = pa.array(["a", None, "b"])
    maps = pa.map_(pa.string(), pa.dictionary(pa.int8(), pa.string()))
    uuid = pa.array([b"0123456789abcdef"], pa.uuid())
    kinds = pa.array([0, 1, 0], pa.int8())
    numbers, dates = pa.array([1, 2, None]), pa.array([5, 6, 7], pa.timestamp("ns"))
    union = pa.UnionArray.from_sparse(kinds, [numbers, dates])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["x", "y"]))
    stored = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a":1}', None]))
    views = pa.array([["a"], None, []], pa.list_view(pa.string()))
    for array, found in (
        (pa.array([[("k", "v"), ("k", None)], None], maps), [[["k", "v"], ["k", None]], None]),
        (union, [1, Carried(dates[1]), None]),
        (union[1:], [Carried(dates[1]), None]),
        (runs, ["x", "y", "y"]),
        (stored, ['{"a":1}', None]),
        (views, [["a"], None, []]),
        (pa.array([{}, None], pa.struct([])), [{}, None]),
        (words.dictionary_encode(), ["a", None, "b"]),
        (pa.array([None, None]), [None, None]),
        (pa.array([["a"], None], pa.list_(pa.string(), 1)), [["a"], None]),
    ):
        assert values(array) == found
    assert values(uuid)[0].kind == str(uuid.type) and isinstance(values(uuid)[0], Carried)


def test_rows_that_share_a_text_share_one_object():
    texts = values(pa.array(["a long text"] * 3).dictionary_encode())
    assert texts[0] is texts[1] is texts[2]


def test_a_row_has_the_wanted_columns_in_the_order_of_the_batch():
    batch = pa.RecordBatch.from_pydict({"b": [1, None], "a": [None, "x"], "c": [b"", None]})
    assert [list(row) for row in rows(batch)] == [["b", "c"], ["a"]]
    assert list(rows(batch, {"a", "b", "z"})) == [{"b": 1}, {"a": "x"}]
    assert list(rows(batch, {"a"}, gaps=True)) == [{"a": None}, {"a": "x"}]
    assert list(rows(batch, gaps=True))[1] == {"b": None, "a": "x", "c": None}
    told = b"".join(map(json_line, rows(batch)))
    assert [orjson.loads(line) for line in told.splitlines()] == [{"b": 1, "c": ""}, {"a": "x"}]
