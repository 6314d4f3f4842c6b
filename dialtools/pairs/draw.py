"""Some of the turns of a group, drawn by a seed."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from dialtools.chance import share


def drawn(
    turns: Iterable[dict[str, Any]], most: int, seed: int
) -> tuple[list[dict[str, Any]], int]:
    """Return `most` turns of distinct texts at most, in the order of a hash, and how many came."""
    held: dict[str, dict[str, Any]] = {}
    heap: list[tuple[float, str]] = []  # the last of them first
    count = 0
    for count, turn in enumerate(turns, start=1):  # noqa: B007 - the last one counts
        text = turn["text"].casefold()
        if text in held:
            continue
        held[text] = turn
        place = (-share(text, seed=seed), text)
        if len(heap) < most:
            heapq.heappush(heap, place)
        else:
            del held[heapq.heappushpop(heap, place)[1]]
    return [held[text] for _, text in sorted(heap, reverse=True)], count
