"""Pairs by the definition, turn by turn."""

from __future__ import annotations


def pairs(
    turns: list[str], windows: tuple[int, ...], min_words: int, *, short: bool = False
) -> list[tuple[list[str], str]]:
    """Every full window and its response, filtered after pairing (METHODS 2.2).

    With `short`, what there is of a window at the beginning, once.
    """
    turns = [text for text in turns if text]  # what has no text is no turn
    found = []
    for r in range(1, len(turns)):
        seen = set()
        for window in windows:
            start = r - window if window else 0
            if start < 0 and not short:
                continue
            start = max(0, start)
            if short and start in seen:
                continue
            seen.add(start)
            members = [*turns[start:r], turns[r]]
            long_enough = all(len(t.split()) >= min_words for t in members)
            if long_enough and members != [turns[r], turns[r]]:
                found.append((turns[start:r], turns[r]))
    return found
