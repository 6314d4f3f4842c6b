"""What counts as a word, in scripts with and without blanks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.words import count_words, index_terms


@pytest.mark.parametrize(
    ("text", "auto", "blanks", "characters"),
    [
        ("hello , you", 3, 3, 9),
        ("还没发货，可以取消吗?", 9, 1, 11),
        ("我的 iPhone12 坏了。", 5, 3, 13),
        ("ありがとう 2つ", 7, 2, 7),
        ("สวัสดีครับ", 7, 1, 10),
        ("مرحبا بالعالم", 2, 2, 12),
        ("नमस्ते दुनिया", 2, 2, 12),
        ("👍 ok", 2, 2, 3),
        ("", 0, 0, 0),
        (" \t", 0, 0, 0),
    ],
)
def test_words_of_a_text(text: str, auto: int, blanks: int, characters: int):
    assert [count_words(text, by) for by in ("auto", "blanks", "characters")] == [
        auto,
        blanks,
        characters,
    ]


@given(st.text())
def test_where_no_script_without_blanks_occurs_words_are_those_of_the_papers(text: str):
    plain = "".join(c for c in text if ord(c) < 0xE00)
    assert count_words(plain) == len(plain.split())
    assert count_words(text, "blanks") == len(text.split())


def test_terms_of_an_index_are_lower_case_and_without_punctuation():
    assert index_terms("İyi") == ["iyi"], "the Turkish capital has a plain small letter"
    assert index_terms("Where's my CARD?!") == ["where", "s", "my", "card"]
    assert index_terms("iPhone坏了。नमस्ते!") == ["iphone", "坏", "了", "नमस्ते"]
