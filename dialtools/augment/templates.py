"""Templates: what is left of an utterance when its values are gone (TaDSE 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
