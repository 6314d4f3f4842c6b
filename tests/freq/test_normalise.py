"""What makes two texts one."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialtools.freq.columns import normalised
from dialtools.freq.normalise import AS_WMDC, STEPS, normalise

TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \t\u00a0.,!?9²٣aAßİé"), max_size=14
)
CHOICES = [tuple(c) for n in range(len(STEPS) + 1) for c in combinations(STEPS, n)]


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXT, max_size=12), st.sampled_from(CHOICES), st.integers(0, 3), st.integers(0, 3))
def test_a_column_is_normalised_as_its_texts_are(texts, steps, before, after):
    around = [*before * [" A "], *texts, *after * [" Z "]]
    column = pa.array(around, pa.string()).slice(before, len(texts))  # a view is not the whole
    assert normalised(column, steps).to_pylist() == [normalise(text, steps) for text in texts]


def test_blanks_at_the_ends_and_side_by_side_are_found_in_a_column():
    texts = [" a ", "a  b", " a", "a ", "ab", " ", "  ", "", "a b c", "é  é", "a\tb", "A B"]
    column = normalised(pa.array(texts), ("case", "space")).to_pylist()
    assert column == [" ".join(text.lower().split()) for text in texts]


@settings(deadline=None)
@given(TEXT)
def test_normalising_twice_is_normalising_once(text):
    once = normalise(text, AS_WMDC)
    assert normalise(once, AS_WMDC) == once


def test_a_letter_and_its_accent_are_one_text_in_one_character_or_two():
    texts = ["\u00e9 a", "E\u0301 a", "e a"]
    assert normalised(pa.array(texts), AS_WMDC).to_pylist() == ["\u00e9 a"] * 2 + ["e a"]
    assert len({normalise(text, ("case", "space")) for text in texts}) == 3


def test_a_capital_i_with_a_dot_has_the_small_letter_that_turkish_has():
    texts = ["İyi günler", "iyi günler", "I\u0307yi günler"]
    assert normalised(pa.array(texts), AS_WMDC).to_pylist() == ["iyi günler"] * 3


@pytest.mark.parametrize(
    ("steps", "becomes"),
    [
        (("case", "space"), "yes, at 10:30 !"),
        (("case", "punct", "space"), "yes at 1030"),
        (("digits",), "  Yes,\tat 0:0 ! "),
        ((), "  Yes,\tat 10:30 ! "),
    ],
)
def test_each_step_does_what_help_says(steps, becomes):
    assert normalise("  Yes,\tat 10:30 ! ", steps) == becomes
