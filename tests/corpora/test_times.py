"""When something was said, however it is written."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.corpora.times import BadTime, by_moment, rank, seconds
from dialtools.streams.carried import Carried

NEW_YEARS_EVE = datetime(2024, 12, 31, 14, 5, tzinfo=UTC).timestamp()
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2060, 1, 1)).map(
    lambda t: t.replace(microsecond=0)
)


@pytest.mark.parametrize(
    "value",
    [
        "2024-12-31 14:05",
        "2024-12-31T14:05:00Z",
        "2024-12-31 15:05:00+01",
        "2024-12-31 15:05:00 +0100",
        "2024-12-31 14:05:00.000 UTC",
        "2024/12/31 14:05",
        "20241231T140500",
        "1735653900",
        "1735653900000",
        1735653900.0,
        1735653900000000,
        Carried(pa.scalar(datetime(2024, 12, 31, 14, 5))),
        Carried(pa.scalar(1_735_653_900, pa.timestamp("s", "Europe/Oslo"))),
    ],
)
def test_one_moment_in_many_words(value):
    assert seconds(value) == NEW_YEARS_EVE


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("31/12/2024 14:05", "day-first"),
        ("31.12.24 14:05:00", "day-first"),
        ("31.12.24 14:05:00.0", "day-first"),
        ("12/31/2024 2:05 PM", "month-first"),
        ("12-31-2024, 2:05 p.m.", "month-first"),
        ("2024-12-31 14:05", "day-first"),
        ("1405 31 Dec 2024", "%H%M %d %b %Y"),
    ],
)
def test_what_spreadsheets_write_needs_a_word_from_the_user(text, style):
    assert seconds(text, style) == NEW_YEARS_EVE


@pytest.mark.parametrize(
    ("value", "style", "says"),
    [
        ("03/04/2024", None, "day or month first"),
        ("31/12/2024", "month-first", "month must be in 1..12, read month-first"),
        ("soon", None, "expected a time, got 'soon'"),
        ("", None, "expected a time, got ''"),
        (None, None, "got null"),
        (True, None, "got a boolean"),
        ("nan", None, "got 'nan'"),
        ("9" * 400, None, "expected a time"),
        ("31.12.24", "%Y", "expected a time like '%Y', got '31.12.24'"),
        ("13:00 PM 1/2/2024", "day-first", "expected a time"),
        ("1.2.3", None, "expected a time"),
    ],
)
def test_what_is_no_time_says_so(value, style, says):
    with pytest.raises(BadTime, match=says):
        seconds(value, style)


@given(MOMENTS)
def test_a_date_reads_the_same_in_every_style(moment):
    written = {
        None: moment.isoformat(),
        "day-first": f"{moment:%d/%m/%Y %H:%M:%S}",
        "month-first": f"{moment:%m/%d/%Y %I:%M:%S %p}",
        "%d %H.%M.%S %Y %m": f"{moment:%d %H.%M.%S %Y %m}",
    }
    assert {seconds(text, style) for style, text in written.items()} == {
        moment.replace(tzinfo=UTC).timestamp()
    }
    assert seconds("2024-12-31") < NEW_YEARS_EVE


def test_lengths_and_times_of_day_are_in_order_to_the_last_digit():
    for values in (
        ("PT-1.5S", "PT3S", "PT20.000S", "PT100S"),
        ("0:05", "9:59", "59:59", "1:00:00,5", "1:00:00,75", "10:00:00"),
        ("09:05:00", "9:06:00", "10:00:00"),
    ):
        assert sorted({*values}, key=rank) == [*values]
    assert seconds("PT20.5S") == 20.5
    early, late = "31/12/2024 14:05:01.1", "31/12/2024 14:05:01.25"
    assert seconds(early, "day-first") < seconds(late, "day-first")


@pytest.mark.parametrize(
    "told",
    [
        ["1700000000", "2023-11-14T22:13:21Z", 1700000002000, 1700000003, ""],
        ["1700000000", 1700000001000, 1700000002],
        ["2023-11-14 22:13:20", "1700000001"],
    ],
)
def test_times_of_one_dialogue_told_in_several_ways_are_in_the_order_of_their_moments(told):
    ranks = by_moment([rank(value) for value in told])
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(told)


@pytest.mark.parametrize("told", [[3, 20], [99_999_999_999, 100_000_000_001], [2**60, 2**60 + 1]])
def test_numbers_that_are_no_times_are_in_their_own_order(told):
    assert by_moment([rank(value) for value in told]) == [rank(value) for value in told]


def test_order_is_by_value_then_time_then_text():
    values = [
        *("b", "2024-01-02", "10", "a", "2024-01-01 23:00", None, "9"),
        *("1234567890123456789", "1234567890123456788"),
        *("12345678901234567891", 12345678901234567890),
    ]
    assert sorted(values, key=rank) == [
        *("9", "10", "1234567890123456788", "1234567890123456789"),
        *(12345678901234567890, "12345678901234567891"),
        *("2024-01-01 23:00", "2024-01-02", None, "a", "b"),
    ]
    with pytest.raises(BadTime, match="day or month first"):
        rank("03/04/2024")
    with pytest.raises(BadTime, match="expected a time like"):
        rank("soon", "%Y")
