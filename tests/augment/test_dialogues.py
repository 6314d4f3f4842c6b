"""Dialogues: each mention of a value, marked or not, and what takes its place in all turns."""

from __future__ import annotations

import pytest

from dialtools.augment.consistent import Ambiguous, named, variants
from dialtools.augment.items import Turn
from dialtools.corpora.utterances import Span


def turn(text: str, **values: str) -> Turn:
    """A turn in which the first occurrence of each value is marked."""
    places = ((text.index(value), value, label) for label, value in values.items())
    return Turn(text, sorted(Span(at, at + len(v), label) for at, v, label in places), {"n": text})


def made(turns: list[Turn], values: dict[str, list[str]], **options: int | None) -> list[list[str]]:
    """The texts of the variants of a dialogue."""
    found = variants(turns, values, **{"most": None, "articles": True, "seed": 0} | options)
    return [[t.text for t in variant] for variant in found]


def test_mentions_are_whole_words_in_any_case_and_spacing_the_longest_first():
    turns = [
        turn("from york to new york", start="york", end="new york"),
        turn("York, New  York or newyork, yorks, 2york"),
    ]
    found = named(turns)
    assert found.entities == [("start", "york"), ("end", "new york")]
    assert found.marks == [
        [(Span(5, 9, "start"), 0), (Span(13, 21, "end"), 1)],
        [(Span(0, 4, "start"), 0), (Span(6, 15, "end"), 1)],
    ]
    assert named([turn("hi"), turn("ho")]) == ([], [[], []])


def test_a_mark_goes_on_with_a_word():
    turns = [turn("राम आया", person="राम"), turn("रामी, राम और मारम")]
    assert named(turns).marks[1] == [(Span(6, 9, "person"), 0)]
    assert named([turn("हि", who="ह")]).marks == [[(Span(0, 1, "who"), 0)]], "as it is marked"


@pytest.mark.parametrize(
    ("turns", "others"),
    [
        ([turn("我要去北京", city="北京"), turn("去北京的票")], ["我要去西安", "去西安的票"]),
        ([turn("京都まで", city="京都"), turn("はい、京都です")], ["西安まで", "はい、西安です"]),
        ([turn("อยู่ที่พัทยา", city="พัทยา"), turn("ไปพัทยาค่ะ")], ["อยู่ที่西安", "ไป西安ค่ะ"]),
        (
            [turn("서울 날씨", city="서울"), turn("서울은 비, 새서울")],
            ["西安 날씨", "西安은 비, 새서울"],
        ),
        ([turn("买iPad", what="iPad"), turn("是iPad吗 iPads")], ["买西安", "是西安吗 iPads"]),
    ],
)
def test_without_blanks_a_word_may_begin_and_end_anywhere_and_hangul_has_particles_behind(
    turns: list[Turn], others: list[str]
):
    assert made(turns, {"city": ["西安"], "what": ["西安"]}) == [others]


def test_a_mention_is_one_whatever_its_form_in_unicode_and_the_dot_of_its_i():
    turns = [turn("Köln, İzmir", a="Köln", b="İzmir"), turn("Ko\u0308ln izmir IZMIR ızmir")]
    assert made(turns, {"a": ["Bonn"], "b": ["Iğdır"]}) == [
        ["Bonn, Iğdır", "Bonn Iğdır Iğdır Iğdır"]
    ]


@pytest.mark.parametrize(
    "turns",
    [
        [turn("要 大", size="大"), turn("大家好")],
        [turn("rome", city="rome"), turn("call Rome", person="Rome")],
        [turn("for 6", people="6"), turn("at 6 pm")],
        [turn("new york", city="new york"), turn("in new york city", area="york city")],
    ],
)
def test_what_may_be_a_value_or_not_is_ambiguous(turns: list[Turn]):
    with pytest.raises(Ambiguous):
        named(turns)


def test_a_number_that_is_marked_wherever_it_stands_is_a_value():
    turns = [turn("for 6", people="6"), turn("6 of us", people="6")]
    assert made(turns, {"people": ["6", "2"]}) == [["for 2", "2 of us"]]


def test_a_value_is_replaced_everywhere_and_two_never_by_one():
    turns = [turn("from rome to oslo", a="rome", b="oslo"), turn("Rome, an hour from Oslo")]
    cities = ["rome", "oslo", "lima", "bonn"]
    values = {"a": cities, "b": cities}
    # not the other value of the dialogue either: "rome to oslo" as "oslo to rome" would mix them
    expected = [(a, b) for a in ("rome", "lima", "bonn") for b in ("oslo", "lima", "bonn")]
    assert made(turns, values) == [
        [f"from {a} to {b}", f"{a.capitalize()}, an hour from {b}"]
        for a, b in expected
        if a != b and (a, b) != ("rome", "oslo")
    ]


def test_a_type_without_other_values_keeps_its_own_and_slots_stand_where_they_say():
    turns = [turn("a taxi to rome", what="taxi", city="rome")]
    (variant,) = variants(turns, {"what": ["uber"], "city": []}, most=None, articles=True, seed=0)
    assert variant == [
        Turn("an uber to rome", [Span(3, 7, "what"), Span(11, 15, "city")], {"n": turns[0].text})
    ]
    (plain,) = variants(turns, {"what": ["uber"]}, most=None, articles=False, seed=0)
    assert plain[0].text == "a uber to rome"


def test_as_many_as_asked_for_drawn_by_seed_though_some_are_of_no_use():
    turns = [turn("from rome to oslo", a="rome", b="oslo")]
    cities = [f"city{i}" for i in range(6)]
    values = {"a": cities, "b": cities}
    drawn = [made(turns, values, most=10, seed=seed) for seed in (0, 0, 1)]
    assert all(len({tuple(texts) for texts in each}) == 10 for each in drawn)
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(made(turns, values, most=100)) == 30


def test_mentions_are_in_their_order_whether_marked_or_not():
    turns = [turn("oslo", b="oslo"), turn("oslo or rome", a="rome")]
    assert [span.start for span, _ in named(turns).marks[1]] == [0, 8]
    assert made(turns, {"a": ["lima"], "b": ["bonn"]}) == [["bonn", "bonn or lima"]]


def test_an_article_agrees_with_the_whole_of_the_old_value():
    assert made([turn("an 8 please", n="8")], {"n": ["7"]}) == [["a 7 please"]]
