"""Templates, what is left of an utterance when its values are gone, and their filling (TaDSE 5.1).

They take every combination of the most frequent values, or a sample of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from dialtools.augment.agreement import in_case, with_article
from dialtools.chance import stable_hash
from dialtools.corpora.utterances import Span

SLOT = "{SLOT}"
"""The one token that stands for a value of any type in the paper."""


class Template(NamedTuple):
    """The m + 1 texts around m values, and the types of the values."""

    around: tuple[str, ...]
    labels: tuple[str, ...]

    def typed(self) -> str:
        """Return it with `{type}` in place of each value."""
        return self.filled([f"{{{label}}}" for label in self.labels])[0]

    def single(self) -> str:
        """Return it with the paper's one token in place of each value."""
        return self.filled([SLOT] * len(self.labels))[0]

    def filled(self, values: Sequence[str]) -> tuple[str, list[Span]]:
        """Return the text with values in its slots, and where they stand in it."""
        parts = [self.around[0]]
        spans: list[Span] = []
        at = len(self.around[0])
        for value, label, after in zip(values, self.labels, self.around[1:], strict=True):
            spans.append(Span(at, at + len(value), label))
            parts += [value, after]
            at += len(value) + len(after)
        return "".join(parts), spans


def template(text: str, spans: Sequence[Span]) -> Template:
    """Cut the values out of a text; the spans are in order and apart."""
    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    return Template(
        around=tuple(text[end:start] for end, start in zip(ends, starts, strict=True)),
        labels=tuple(span.label for span in spans),
    )


def combinations(
    sizes: Sequence[int], most: int | None, *, seed: int, spare: int = 1
) -> Iterator[tuple[int, ...]]:
    """Yield which value each slot takes: all combinations, or `most` of them in random order.

    What is cut is never enumerated: numbers are drawn below the product of the sizes and written in
    its mixed radix.

    Args:
        spare: draw so many times as many, for who cannot use each of them.
    """
    total = prod(sizes)
    numbers: Iterable[int] = range(total)
    if most is not None and most < total:
        numbers = _distinct(total, min(total, most * spare), seed)
    for number in numbers:
        digits = []
        for size in reversed(sizes):
            number, digit = divmod(number, size)
            digits.append(digit)
        yield tuple(reversed(digits))


def _distinct(total: int, most: int, seed: int) -> Iterator[int]:
    draw = random.Random(seed)
    seen: set[int] = set()
    while len(seen) < most:
        number = draw.randrange(total)
        if number not in seen:
            seen.add(number)
            yield number


def fillings(
    template: Template,
    old: Sequence[str],
    values: dict[str, list[str]],
    *,
    most: int | None,
    articles: bool,
    seed: int,
) -> Iterator[tuple[str, list[Span]]]:
    """Yield the texts of a template that held the values `old`, and where values stand.

    Args:
        values: of each type, those to choose from; a type without any keeps its value.
        most: so many texts at most; None is all.
        articles: let a/an before a value agree with it.
    """
    choices = [
        values.get(label) or [value] for label, value in zip(template.labels, old, strict=True)
    ]
    seed = stable_hash(template.typed(), seed=seed)
    for chosen in combinations([len(each) for each in choices], most, seed=seed):
        new = [each[i] for each, i in zip(choices, chosen, strict=True)]
        yield put(template, old, new, articles=articles)


def put(
    template: Template, old: Sequence[str], new: Sequence[str], *, articles: bool
) -> tuple[str, list[Span]]:
    """Return the text with new values for old ones, and where they stand.

    They are in the case of their places, and articles agree.
    """
    whole = "".join(template.around) + "".join(old)
    lower = whole == whole.lower() != whole.upper()
    upper = whole == whole.upper() != whole.lower()
    around = list(template.around)
    values: list[str] = []
    before = ""
    for i, (was, value) in enumerate(zip(old, new, strict=True)):
        if articles and was != value:
            around[i] = with_article(around[i], was, value, upper=upper)
        before += around[i]
        values.append(in_case(value, before, was, lower=lower, upper=upper))
        before += values[-1]
    return Template(tuple(around), template.labels).filled(values)
