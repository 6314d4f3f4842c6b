"""The entity book: the values that each type takes, and how often (TaDSE 5.1).

Values that differ in case, blanks or Unicode's form alone are one, shown in their commonest form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

from dialtools.errors import DataError
from dialtools.streams.atomic import atomic_file
from dialtools.streams.json_file import read_json
from dialtools.values import composed
from dialtools.words import count_words, lowered

SCHEMA = "dialtools.book/1"
REPORTED = 5
"""Values, and other types, that the report names of each type."""


def key(value: str) -> str:
    """Return what is equal for values that are one; where i has no dot is a matter of case."""
    return lowered(composed(" ".join(value.split())).casefold()).replace("ı", "i")


class Book:
    """Values by type; of each, its forms and their counts, in the order of their first use."""

    def __init__(self) -> None:
        self.types: dict[str, dict[str, dict[str, int]]] = {}

    def add(self, label: str, value: str, count: int = 1) -> None:
        """Count a value; one without a letter or digit is none."""
        if any(map(str.isalnum, value)):
            forms = self.types.setdefault(label, {}).setdefault(key(value), {})
            value = " ".join(value.split())
            forms[value] = forms.get(value, 0) + count

    def merge(self, other: Book, called: Callable[[str], str] = str) -> None:
        """Add the counts of another book; `called` returns what a type of it is called here."""
        for label, values in other.types.items():
            for forms in values.values():
                for form, count in forms.items():
                    self.add(called(label), form, count)

    def values(self, label: str) -> list[tuple[str, int]]:
        """Return the values of a type and their counts, the most frequent first.

        Of equal counts, those come first that were used first.
        """
        values = [
            (max(forms, key=forms.__getitem__), sum(forms.values()))
            for forms in self.types.get(label, {}).values()
        ]
        return sorted(values, key=lambda pair: -pair[1])

    def filtered(
        self, *, types: Iterable[str] = (), min_count: int = 1, max_words: int | None = None
    ) -> Book:
        """Return the book of some types only, without rare and long values."""
        kept, wanted = Book(), set(types)
        for label in self.types:
            if wanted and label not in wanted:
                continue
            longest = inf if max_words is None else max_words
            for value, count in self.values(label):
                if count >= min_count and count_words(value) <= longest:
                    kept.add(label, value, count)
        return kept

    def report(self) -> Iterator[dict[str, Any]]:
        """Yield what each type holds, the largest first: values, mentions, and hints at noise.

        `once` is the share of values seen a single time, `shared` how many values other types have
        too.
        """
        for label in sorted(self.types, key=lambda label: (-len(self.types[label]), label)):
            values = self.values(label)
            yield {
                "type": label,
                "values": len(values),
                "mentions": sum(n for _, n in values),
                "top": [v for v, _ in values[:REPORTED]],
                "once": sum(n == 1 for _, n in values) / len(values),
                "shared": self._shared(label),
            }

    def _shared(self, label: str) -> dict[str, int]:
        """Return the types with which one has most values in common, and how many."""
        shared = [
            (other, len(self.types[label].keys() & values.keys()))
            for other, values in self.types.items()
            if other != label
        ]
        most = sorted(shared, key=lambda pair: (-pair[1], pair[0]))[:REPORTED]
        return {other: n for other, n in most if n}

    @property
    def size(self) -> int:
        """The number of values, of all types."""
        return sum(map(len, self.types.values()))

    def save(self, path: str, *, overwrite: bool) -> None:
        """Write the book as JSON that can be edited by hand."""
        types = {label: dict(self.values(label)) for label in sorted(self.types)}
        content = json.dumps({"schema": SCHEMA, "types": types}, ensure_ascii=False, indent=1)
        with atomic_file(path, overwrite=overwrite) as temporary:
            temporary.write_text(f"{content}\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str) -> Book:
        """Read a book: {"types": {type: {value: count}}}, or only the inner part.

        In a list of values each counts once.

        Raises:
            DataError: naming the type and the value that is none.
        """
        book = cls()
        content = read_json(path)
        types = content.get("types", content) if isinstance(content, dict) else None
        if not isinstance(types, dict):
            raise DataError('not a book: expected {"types": {type: {value: count}}}', where=path)
        for label, values in types.items():
            for value, count in _counts(values, label, where=path):
                book.add(label, value, count)
        return book


def _counts(values: Any, label: str, *, where: str) -> Iterator[tuple[str, int]]:
    """Yield the values of a type and their counts, as a file has them."""
    if isinstance(values, list):
        pairs = [(value, 1) for value in values]
    elif isinstance(values, dict):
        pairs = list(values.items())
    else:
        pairs = None
    if pairs is None or not label.strip() or set(label) & set("{}"):
        expected = "a name without braces, and its values with their counts"
        raise DataError(f"{label!r}: expected {expected}", where=where)
    for value, count in pairs:
        if not isinstance(value, str) or type(count) is not int or count < 1:
            message = f"{label}: {value!r}: expected a text and a count above 0"
            raise DataError(message, where=where)
        yield value, count
