"""Windows over the turns of many dialogues at once, as integers; no text is copied.

T turns of a chunk lie one after another in one flat list; a pair is (start, end, response): its
context is turns[start:end], its response turns[response]. P pairs, ordered by response, then by
window as given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialtools.corpora.flat import FlatTurns


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
    first = turns.starts[dialogue]
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
    flat = np.arange(len(turns))
    return Pairs(flat, flat + 1, flat, turns.dialogue)
