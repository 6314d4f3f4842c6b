"""Rows cut into parts: one rule for embedding files, records and tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.corpora import splits
from dialtools.errors import DataError

VALUES = st.lists(st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["0", "train"]))


def typed(value: object) -> str:
    """Return a value as a person types it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


@given(values=VALUES)
def test_every_row_is_in_the_split_that_its_value_reads_as(values: list):
    by_split = splits.rows_by_split(values)
    assert sorted(row for rows in by_split.values() for row in rows) == list(range(len(values)))
    for name, rows in by_split.items():
        assert all(typed(values[row]) == name for row in rows)
        assert rows == sorted(rows)


def test_rows_whose_dialogue_has_no_name_are_each_of_their_own():
    names = ["a", "", "", " ", None, math.nan, math.nan, 7, "a", "7", 7.0]
    assert splits.numbered_by_name(names) == [0, 1, 2, 3, 4, 5, 6, 7, 0, 7, 7]
    blank = splits.held_out([""] * 100, 0.5, seed=0)
    assert 30 < sum(blank) < 70 and blank == splits.held_out([None] * 100, 0.5, seed=0)


SNIPS = (2042, 2073, 2100, 2100, 2056, 2054, 2059)
"""Utterances of each of its seven intents, in the order of their names."""


def test_of_each_label_a_share_is_tested_whatever_the_order_of_the_rows():
    labels = [str(label) for label, size in enumerate(SNIPS) for _ in range(size)]
    names = [str(row) for row in range(len(labels))]
    tested = splits.tested_of_labels(labels, names, 0.1, seed=0)
    by_label = [
        sum(t for t, own in zip(tested, labels, strict=True) if own == str(n)) for n in range(7)
    ]
    assert by_label == [204, 207, 210, 210, 205, 205, 205], "the share, rounded down"
    backwards = splits.tested_of_labels(labels[::-1], names[::-1], 0.1, seed=0)
    assert backwards[::-1] == tested != splits.tested_of_labels(labels, names, 0.1, seed=1)
    assert sum(splits.tested_of_labels(["a"] * 10, names[:10], 0.1, seed=0)) == 1
    with pytest.raises(DataError, match="no label has 10 rows, of which one is tested"):
        splits.tested_of_labels(["a"] * 9 + ["b"] * 9, names[:18], 0.1, seed=0)


def test_a_split_that_no_row_has_is_refused_with_those_that_there_are():
    by_split = splits.rows_by_split(["train", 0, None])
    with pytest.raises(DataError, match="no row has part = 'trian'; there are train, 0") as refused:
        splits.rows_of_split(by_split, "trian", column="part", where="x.jsonl")
    assert refused.value.hint == "did you mean train?"


@pytest.mark.parametrize(
    ("there", "named", "expected"),
    [
        (["train", "dev", "val"], None, "val"),
        (["train", "dev"], "none", None),
        (["train", "none"], "none", "none"),
        (["train", "dev"], "dve", "dve"),
        (["train", "test"], None, None),
    ],
)
def test_validation_rows_are_those_named_or_of_a_usual_name(there, named, expected):
    by_split = splits.rows_by_split(there)
    assert splits.validation_split(by_split, named, taken=("train", "test")) == expected


def test_a_usual_name_that_is_taken_for_testing_is_not_chosen_on():
    by_split = splits.rows_by_split(["train", "val", "dev"])
    assert splits.validation_split(by_split, None, taken=("train", "val")) == "dev"


@given(names=st.lists(st.integers(0, 9)), share=st.floats(0, 1))
def test_rows_of_one_dialogue_are_held_out_together_and_whatever_stands_beside(names, share: float):
    out = splits.held_out(names, share, seed=3)
    for name, held in zip(names, out, strict=True):
        assert splits.held_out([name], share, seed=3) == [held]


def test_groups_are_numbered_as_they_come_and_a_row_without_one_stands_alone():
    assert splits.group_numbers(["b", "a", None, "b", None, 1, "1"]) == [0, 1, 2, 0, 3, 4, 4]
    assert splits.group_numbers(["b", "a", None]) == []


def test_rows_without_a_name_are_held_out_each_by_itself():
    held = splits.held_out([None] * 1000, 0.3, seed=0)
    assert 250 < sum(held) < 350 and held == splits.held_out([None] * 1000, 0.3, seed=0)
    assert len({*splits.held_out(["a"] * 10, 0.3, seed=0)}) == 1
