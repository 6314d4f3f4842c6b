"""Spans, templates and fillings: offsets, combinations, agreement."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.augment.agreement import takes_an
from dialtools.augment.fill import combinations, fillings, put, template
from dialtools.corpora.utterances import Span, apart, bracketed

texts = st.text("abcZ é漢. {}\\[", min_size=1, max_size=30)


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[Span]]:
    """A text, and spans of it that may overlap."""
    text = draw(texts)
    place = st.integers(0, len(text) - 1)
    ends = draw(st.lists(st.tuples(place, place, st.sampled_from("xy")), max_size=6))
    return text, [Span(min(a, b), max(a, b) + 1, label) for a, b, label in ends]


@given(marked())
def test_spans_apart_are_in_order_and_do_not_overlap(case: tuple[str, list[Span]]):
    kept = apart(case[1])
    assert all(a.end <= b.start for a, b in pairwise(kept))
    dropped = [s for s in case[1] if s not in kept]
    assert all(
        any(
            k.start < s.end and s.start < k.end and k.end - k.start >= s.end - s.start for k in kept
        )
        for s in dropped
    )


def test_the_longest_of_overlapping_spans_stays_then_the_first():
    assert apart(
        [Span(0, 3, "city"), Span(0, 8, "state"), Span(6, 14, "x"), Span(14, 15, "y")]
    ) == [Span(0, 8, "state"), Span(14, 15, "y")]


@given(marked(), st.data())
def test_every_filled_text_holds_its_values_where_it_says(
    case: tuple[str, list[Span]], data: st.DataObject
):
    text, spans = case[0], apart(case[1])
    cut = template(text, spans)
    old = [text[s.start : s.end] for s in spans]
    assert cut.filled(old) == (text, spans)
    new = [data.draw(texts) for _ in spans]
    made, at = put(cut, old, new, articles=True)
    assert [s.label for s in at] == [s.label for s in spans]
    assert [made[s.start : s.end].casefold() for s in at] == [value.casefold() for value in new]


def test_all_combinations_come_from_left_to_right():
    assert list(combinations([2, 1, 3], None, seed=0)) == list(
        product(range(2), range(1), range(3))
    )
    assert list(combinations([2, 1, 3], 6, seed=0)) == list(product(range(2), range(1), range(3)))
    assert list(combinations([], None, seed=0)) == [()]


@given(st.lists(st.integers(1, 5), max_size=5), st.integers(1, 40), st.integers(0, 3))
def test_a_sample_of_combinations_is_distinct_and_seeded(sizes: list[int], most: int, seed: int):
    every = set(product(*map(range, sizes)))
    drawn = list(combinations(sizes, most, seed=seed))
    assert len(drawn) == len(set(drawn)) == min(most, len(every))
    assert set(drawn) <= every and drawn == list(combinations(sizes, most, seed=seed))


def test_what_is_cut_is_never_enumerated():
    drawn = list(combinations([50] * 40, 7, seed=1))
    assert len(set(drawn)) == 7 and all(len(row) == 40 for row in drawn)
    assert drawn != list(combinations([50] * 40, 7, seed=2))


@pytest.mark.parametrize(
    ("text", "old", "new", "made"),
    [
        ("Book an hour now", "hour", "week", "Book a week now"),
        ("Book a week now", "week", "hour", "Book an hour now"),
        ("A taxi came", "taxi", "uber", "An uber came"),
        (
            "a uber came",
            "uber",
            "taxi",
            "a taxi came",
        ),  # it did not agree: it is not English, or not ours to mend
        ("an taxi came", "taxi", "bus", "an bus came"),
        ("Take AN uber now", "uber", "taxi", "Take A taxi now"),
        ("vitamin a week", "week", "hour", "vitamin an hour"),
        ("soda week", "week", "hour", "soda hour"),
        ("Boston is far", "Boston", "new york", "New york is far"),
        ("so. Boston is far", "Boston", "new york", "so. New york is far"),
        ("Boston is far", "Boston", "iPark", "IPark is far"),
        ("Is Boston far", "Boston", "new york", "Is new york far"),
        ("is boston far", "boston", "New York", "is new york far"),
        ("IS BOSTON FAR", "BOSTON", "New York", "IS NEW YORK FAR"),
        ("去北京吗", "北京", "上海", "去上海吗"),
    ],
)
def test_case_and_articles_agree_with_the_place(text: str, old: str, new: str, made: str):
    at = text.index(old)
    cut = template(text, [Span(at, at + len(old), "x")])
    found, spans = put(cut, [old], [new], articles=True)
    assert found == made and found[spans[0].start : spans[0].end].lower() == new.lower()
    assert put(cut, [old], [new], articles=False)[0].lower() == text.replace(old, new).lower()


def test_the_turkish_capital_i_becomes_a_plain_small_letter():
    cut = template("selam izmir", [Span(6, 11, "x")])
    assert put(cut, ["izmir"], ["İstanbul"], articles=True)[0] == "selam istanbul"


BEFORE_AN = (
    *(
        "hour",
        "heir",
        "honour",
        "honest man",
        "Orlando",
        "8 pm",
        "80",
        "8,000",
        "11",
        "18th",
        "11:30",
        "MRI",
    ),
    *("X-RAY", "umbrella", "uninsured", "unimportant"),
    *("unidentified car", "UMBRELLA", '"Avatar"', "hors d'oeuvre", "HDMI cable"),
)
BEFORE_A = (
    *("week", "university", "European city", "user", "one-way", "US city", "UFO", "10", "110"),
    *("1,100", "9 am", "house", "UK trip", "unit", ""),
    *("one bedroom flat", "unanimous vote", "Ukrainian film", "NASA tour", "HOTEL", '"Heat"'),
)


@pytest.mark.parametrize("value", BEFORE_AN)
def test_an(value: str):
    assert takes_an(value)


@pytest.mark.parametrize("value", BEFORE_A)
def test_a(value: str):
    assert not takes_an(value)


def test_a_type_without_values_keeps_its_own():
    cut, old = (
        template("to rome at noon", [Span(3, 7, "city"), Span(11, 15, "time")]),
        ["rome", "noon"],
    )
    made = fillings(cut, old, {"city": ["rome", "oslo"]}, most=None, articles=True, seed=0)
    assert [text for text, _ in made] == [
        "to rome at noon",
        "to oslo at noon",
    ]


def test_a_sample_of_fillings_depends_on_the_seed_and_the_template():
    cities = [f"city{i}" for i in range(50)]

    def filled(text: str, seed: int) -> list[str]:
        at = text.index("rome")
        cut = template(text, [Span(at, at + 4, "city")])
        found = fillings(cut, ["rome"], {"city": cities}, most=5, articles=True, seed=seed)
        return [made[span.start : span.end] for made, (span,) in found]

    drawn = [filled("to rome", 0), filled("to rome", 1), filled("in rome", 0)]
    assert len({*map(tuple, drawn)}) == 3 and drawn[0] == filled("to rome", 0)


def test_the_notation_of_massive():
    assert bracketed("wake me at [time : nine am] on [ date : friday ]!") == (
        "wake me at nine am on friday!",
        [Span(11, 18, "time"), Span(22, 28, "date")],
    )
    assert bracketed("no slots [here]") == ("no slots [here]", [])
