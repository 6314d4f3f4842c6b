"""Which turn of which dialogue a pair's response is, so that it counts once in all its windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dialtools.corpora import fields
from dialtools.corpora.dialogues import identity_of
from dialtools.freq.fields import LARGEST, RESPONSE
from dialtools.streams.rows import rows

PLACE = ("window", "dialogue_id", "turn")


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

    def place(
        self, record: Mapping[str, Any], name: str | None = None
    ) -> tuple[str | None, int] | None:
        """Return dialogue and turn of a pair's response; None if the record is no pair.

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
            return identity, turn
        if type(window) is not int:
            fields.place(window, "window")

        # dial-pairs writes the windows of a response one after another: a window again is another
        if self.response != (turn, record[RESPONSE]) or window in self.windows:
            self.next()
            self.response = (turn, record[RESPONSE])
            self.windows = set()
        self.windows.add(window)
        return None, self.number

    def columns(self, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """Return (T,) dialogues and turns of a batch of pairs of which some have no id."""
        names = [name for name in (RESPONSE, *PLACE) if name in batch.schema.names]
        places = [self.place(row) or (None, self.next()) for row in rows(batch, names)]
        dialogues = pa.array([dialogue for dialogue, _ in places], pa.string())
        return dialogues, pa.array([turn for _, turn in places], pa.int64())
