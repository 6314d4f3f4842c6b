"""What becomes a row of an embedding file: a record, a turn of a dialogue, or a candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from dialtools.corpora.by_turn import Row, turns
from dialtools.streams.policy import Where
from dialtools.streams.tally import Tally


def expander(per: str, tally: Tally, *, most: int | None) -> Callable[[Where, Row], Iterable[Row]]:
    """Return the function that makes rows of a record; it may remember what it has seen.

    Args:
        tally: gets the turns that are no rows.
        most: turns of a history, the newest; None is all.
    """
    by_turn = partial(turns, tally=tally, most=most)
    ways = {"record": lambda _where, row: (row,), "turn": by_turn, "candidate": Candidates()}
    return ways[per]


class Candidates:
    """Yields each distinct text that records list in `candidates`, or name as true; holds them."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, _where: Where, record: Mapping[str, Any]) -> Iterator[Row]:
        listed = record.get("candidates")
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            raise ValueError("candidates: expected a list of texts")
        true = record.get("positive", record.get("response"))
        texts = [*listed, true] if isinstance(true, str) else listed
        for text in texts:
            if text not in self.seen:
                self.seen.add(text)
                yield {"text": text}
