"""Columns as rows: values of every kind as Arrow tells them, and on their way to a process."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dialtools.streams.carried import Carried
from dialtools.streams.rows import rows, values

WORDS = pa.dictionary(pa.int32(), pa.string())
LISTS = [["z"], ["a", "b"], None, [], ["c", None], ["d", "e", "f"], ["z"]]
PAIRS = [["z", "z"], ["a", "b"], None, ["b", None], ["z", "z"]]
STRUCTS = [{"a": "z", "b": []}, {"a": "x", "b": [1]}, None, {"a": None, "b": None}, {"b": [2, 3]}]


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        *((LISTS, make(pa.string())) for make in (pa.list_, pa.list_view, pa.large_list_view)),
        *((LISTS, make(WORDS)) for make in (pa.list_, pa.large_list)),
        ([LISTS, None, [], LISTS[:2]], pa.list_(pa.list_view(pa.string()))),
        (PAIRS, pa.list_(WORDS, 2)),
        (STRUCTS, pa.struct([("a", WORDS), ("b", pa.list_view(pa.int64()))])),
        (["a", None, "b", "a"], WORDS),
    ],
    ids=str,
)
def test_values_of_nested_columns_are_those_that_arrow_tells(told: list[Any], kind: pa.DataType):
    whole = pa.array(told, kind)
    for first in range(len(told)):
        for last in range(first, len(told) + 1):
            part = whole.slice(first, last - first)
            assert values(part) == part.to_pylist()


def test_a_field_that_is_null_is_not_there_and_only_what_is_wanted_is():
    batch = pa.RecordBatch.from_pydict({"a": [1, None], "b": ["x", "y"]})
    assert list(rows(batch)) == [{"a": 1, "b": "x"}, {"b": "y"}]
    assert list(rows(batch, gaps=True)) == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
    assert list(rows(batch, ["b"])) == [{"b": "x"}, {"b": "y"}] and list(rows(batch, [])) == [
        {},
        {},
    ]


@pytest.mark.parametrize(
    "scalar",
    [
        pa.scalar(Decimal("1.50")),
        pa.scalar(b"\xff"),
        pa.scalar(1_700_000_000_000_000_001, pa.timestamp("ns")),
    ],
)
def test_what_is_carried_crosses_to_a_process_with_all_its_digits(scalar: pa.Scalar):
    carried = Carried(scalar)
    again = pickle.loads(pickle.dumps(carried))
    assert again == carried and again.scalar.equals(scalar) and again.kind == str(scalar.type)


def test_bytes_of_every_kind_are_told_in_base64():
    for kind in (pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view()):
        assert str(Carried(pa.scalar(b"\xff\0", kind))) == "/wA="
