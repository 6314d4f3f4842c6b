"""The entity book: which values are one, which come first, what is reported of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialtools.augment.book import Book, key
from dialtools.errors import DataError


def book(**types: str) -> Book:
    """A book of the values of each type, separated by commas."""
    made = Book()
    for label, values in types.items():
        for value in values.split(","):
            made.add(label, value)
    return made


def test_values_that_differ_in_case_or_blanks_are_one_in_its_commonest_form():
    found = book(city="rome, Rome ,oslo,ROME,Rome,New  York,new york,?,straße,STRASSE")
    assert found.values("city") == [("Rome", 4), ("New York", 2), ("straße", 2), ("oslo", 1)]
    assert found.size == 4 and found.values("person") == []
    assert key(" New\tYORK ") == "new york"
    assert book(city="İzmir,izmir,IZMIR,Iğdır,ığdır,Köln,Ko\u0308ln").size == 3


def test_books_are_merged_form_by_form():
    one, other = book(city="rome,Rome,oslo"), book(city="Rome,lima", day="may")
    one.merge(other)
    assert one.values("city") == [("Rome", 3), ("oslo", 1), ("lima", 1)]
    assert one.values("day") == [("may", 1)]
    one.add("city", "lima", 5)
    assert one.values("city")[0] == ("lima", 6)


def test_rare_and_long_values_and_other_types_are_left_out():
    whole = book(city="rome,rome,new york,new york,new york,oslo", day="may,may", no="x")
    assert whole.filtered(min_count=2).types.keys() == {"city", "day"}
    assert whole.filtered(min_count=2).values("city") == [("new york", 3), ("rome", 2)]
    assert whole.filtered(max_words=1).values("city") == [("rome", 2), ("oslo", 1)]
    assert whole.filtered(max_words=2, types=["city"]).size == 3
    of_signs = book(city="北京,首都国际机场,ニューヨーク").filtered(max_words=4)
    assert of_signs.values("city") == [("北京", 1)], "each character is a word, as in dial-pairs"
    assert whole.filtered(types=["day", "week"]).types.keys() == {"day"}


def test_the_report_has_the_largest_type_first_and_the_types_it_shares_most_with():
    cities = "a,b,c,d,e,f,f,f"
    whole = book(z="a,b", y="a", x="c,d", city=cities, w="q", v="a", u="b", t="c", s="d")
    first, *rest = whole.report()
    assert first == {
        "type": "city",
        "values": 6,
        "mentions": 8,
        "top": ["f", "a", "b", "c", "d"],
        "once": 5 / 6,
        "shared": {"x": 2, "z": 2, "s": 1, "t": 1, "u": 1},
    }
    assert [row["type"] for row in rest] == ["x", "z", "s", "t", "u", "v", "w", "y"]
    assert [row["shared"] for row in rest if row["type"] == "w"] == [{}]


def test_what_is_saved_is_read_back_and_an_existing_book_is_kept(tmp_path: Path):
    path = str(tmp_path / "b.json")
    whole = book(day="may", city="oslo,Łódź,Łódź")
    whole.save(path, overwrite=False)
    assert Path(path).read_text(encoding="utf-8") == (
        '{\n "schema": "dialtools.book/1",\n "types": {\n  "city": {\n   "Łódź": 2,\n'
        '   "oslo": 1\n  },\n  "day": {\n   "may": 1\n  }\n }\n}\n'
    )
    assert Book.load(path).types == whole.filtered().types
    with pytest.raises(Exception, match="exists already"):
        whole.save(path, overwrite=False)
    whole.save(path, overwrite=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", "not a book: expected"),
        ("{", "b.json: not JSON: "),
        ("[" * 100_000, "b.json: not JSON: "),
        ('{"types": []}', "not a book: expected"),
        ('{"city": "rome"}', "'city': expected a name without braces"),
        ('{" ": ["rome"]}', "' ': expected a name without braces"),
        ('{"{a}": ["rome"]}', "expected a name without braces"),
        ('{"city": [3]}', "city: 3: expected a text and a count above 0"),
        ('{"city": {"rome": 0}}', "city: 'rome': expected a text and a count above 0"),
        ('{"city": {"rome": true}}', "city: 'rome': expected a text and a count above 0"),
    ],
)
def test_what_is_no_book_is_said(tmp_path: Path, content: str, says: str):
    (tmp_path / "b.json").write_text(content)
    with pytest.raises(DataError, match=says):
        Book.load(str(tmp_path / "b.json"))


def test_a_count_of_one_is_enough(tmp_path: Path):
    (tmp_path / "b.json").write_text('{"city": {"rome": 1}}')
    assert Book.load(str(tmp_path / "b.json")).values("city") == [("rome", 1)]
