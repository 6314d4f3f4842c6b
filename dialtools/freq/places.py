"""Which turn of which dialogue a pair's response is, so that it counts once in all its windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from dialtools.corpora import fields
from dialtools.corpora.dialogues import identity_of
from dialtools.freq.fields import LARGEST, RESPONSE
from dialtools.streams.rows import rows

PLACE = ("window", "dialogue_id", "turn")
Columns = tuple[pa.Array | None, pa.Array | None, pa.Array | None]


class Place(NamedTuple):
    """Where a response stands.

    Attributes:
        dialogue: the name of its dialogue, or None.
        turn: its turn there; without a name, a number that the windows of one response share.
        window: of the pair, where the dialogue has a name: two pairs of one place and window are of
            two dialogues of that name, as of two exports that both count from 1.
    """

    dialogue: str | None
    turn: int
    window: int | None = None


class Places:
    """Tells the turn by dialogue id, or, without one, by the pairs that stand one after another."""

    def __init__(self) -> None:
        self.number = 0
        self.response: tuple[int, str] | None = None
        self.windows: set[Any] = set()

    def next(self) -> int:
        """Return a number that no turn has yet."""
        self.number += 1
        self.response = None
        return self.number

    def place(self, record: Mapping[str, Any], name: str | None = None) -> Place | None:
        """Return where a pair's response stands; None if the record is no pair.

        Args:
            name: the field that is counted, if it was named.

        Raises:
            BadRecord: if its place is none.
        """
        if name not in (None, RESPONSE) or RESPONSE not in record:
            return None
        identity = identity_of(record.get("dialogue_id"), "dialogue_id")
        turn = record.get("turn")
        window = record.get("window")
        if identity is None and window is None:
            return None
        if type(turn) is float and turn.is_integer():  # pandas, of a column with gaps
            turn = int(turn)
        if type(turn) is not int or abs(turn) >= LARGEST:
            if turn is not None:
                fields.place(turn, "turn")
            return None
        if identity is not None:
            known = type(window) is int and abs(window) < LARGEST
            return Place(identity, turn, window if known else None)
        if type(window) is not int:
            fields.place(window, "window")

        # dial-pairs writes the windows of a response one after another: a window again is another
        if self.response != (turn, record[RESPONSE]) or window in self.windows:
            self.next()
            self.response = (turn, record[RESPONSE])
            self.windows = set()
        self.windows.add(window)
        return Place(None, self.number)

    def columns(self, batch: pa.RecordBatch) -> Columns:
        """Return (T,) dialogues, turns and windows of a batch of pairs of which some lack one.

        None of each, if no row tells where it stands.
        """
        names = [name for name in (RESPONSE, *PLACE) if name in batch.schema.names]
        of_pairs = False
        places: list[Place] = []
        for row in rows(batch, names):
            place = self.place(row)
            of_pairs = of_pairs or place is not None
            places.append(place or Place(None, self.next()))
        return columns_of(places) if of_pairs else (None, None, None)


def columns_of(places: Sequence[Place]) -> Columns:
    """Return (T,) dialogues, turns and windows of places."""
    return (
        pa.array([place.dialogue for place in places], pa.string()),
        pa.array([place.turn for place in places], pa.int64()),
        pa.array([place.window for place in places], pa.int64()),
    )
