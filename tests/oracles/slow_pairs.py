"""Pairs by the definition, turn by turn."""

from __future__ import annotations


def pairs(
    turns: list[str], windows: tuple[int, ...], min_words: int
) -> list[tuple[list[str], str]]:
    """Every full window and its response, filtered after pairing (METHODS 2.2)."""
    found = []
    for r in range(1, len(turns)):
        for window in windows:
            start = r - window if window else 0
            if start < 0:
                continue
            members = [*turns[start:r], turns[r]]
            long_enough = all(len(t.split()) >= min_words for t in members)
            if long_enough and all(members) and members != [turns[r], turns[r]]:
                found.append((turns[start:r], turns[r]))
    return found
