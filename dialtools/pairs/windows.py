"""Windows over the turns of many dialogues at once, as integers; no text is copied.

T turns of a chunk lie one after another in one flat list; a pair is (start, end, response): its
context is turns[start:end], its response turns[response]. P pairs, ordered by response, then by
window as given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialtools.corpora.dialogues import DOMAIN, Dialogue

SIMILAR = "similar"
FACTS = {SIMILAR: "uint8", DOMAIN: "string"}
"""What pairs may carry of their dialogue, and of which type it is in Arrow."""


@dataclass
class FlatTurns:
    """The turns of a chunk's dialogues, flat.

    Attributes:
        facts: what the pairs of a dialogue carry besides: name of the field, a value a dialogue.
    """

    texts: list[str] = field(default_factory=list)
    speakers: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    facts: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, dialogue: Dialogue, line: int) -> None:
        """Append a dialogue, and the line where it begins."""
        self.texts += dialogue.texts
        self.speakers += dialogue.speakers
        self.ids.append(dialogue.id)
        self.lines.append(line)
        self.sizes.append(len(dialogue.texts))

    @property
    def starts(self) -> np.ndarray:
        """(dialogues,) flat index of each dialogue's first turn."""
        sizes = np.asarray(self.sizes, np.int64)
        return np.cumsum(sizes) - sizes

    @property
    def named(self) -> list[bool]:
        """(dialogues,) whether each names a speaker: it says so of itself, not of its chunk."""
        spans = zip(self.starts.tolist(), self.sizes, strict=True)
        return [any(self.speakers[start : start + size]) for start, size in spans]

    @property
    def dialogue(self) -> np.ndarray:
        """(T,) the dialogue that each turn belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@dataclass
class Pairs:
    """P pairs over the turns of a chunk."""

    start: np.ndarray
    end: np.ndarray
    response: np.ndarray
    dialogue: np.ndarray

    def __len__(self) -> int:
        return len(self.response)

    @property
    def window(self) -> np.ndarray:
        """(P,) how many turns each context has."""
        return self.end - self.start

    def where(self, keep: np.ndarray) -> Pairs:
        """Return the pairs that a (P,) mask or index keeps."""
        return Pairs(self.start[keep], self.end[keep], self.response[keep], self.dialogue[keep])


def windowed(turns: FlatTurns, windows: tuple[int, ...], *, short: bool = False) -> Pairs:
    """Return every full window and its response (DSE 3.1, WMDC 4.2.2).

    Window 0 is the whole history. A dialogue of t turns gives max(0, t - w) pairs of window w,
    and t - 1 of window 0. What several windows give is one pair.

    Args:
        short: at the beginning of a dialogue a window has the turns there are.
    """
    dialogue = turns.dialogue
    first = turns.starts[dialogue] if len(dialogue) else np.zeros(0, np.int64)
    flat = np.arange(len(dialogue))
    parts = []
    for window in windows:
        response = flat[flat - first >= (1 if short else window or 1)]
        start = np.maximum(response - window, first[response]) if window else first[response]
        parts.append((start, response))
    start, response = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(response, kind="stable")
    if short or {0} < {*windows}:
        place = response[order] * (len(flat) + 1) + start[order]
        order = order[np.sort(np.unique(place, return_index=True)[1])]
    start, response = start[order], response[order]
    return Pairs(start, response, response, dialogue[response])


def selves(turns: FlatTurns) -> Pairs:
    """Return each turn with itself (DSE-dropout, SimCSE)."""
    flat = np.arange(len(turns.texts))
    return Pairs(flat, flat + 1, flat, turns.dialogue)


def running(values: Any) -> np.ndarray:
    """Return (T+1,) sums so that the total over turns [s, e) is running[e] - running[s]."""
    return np.concatenate([[0], np.cumsum(np.asarray(values, np.int64))])
