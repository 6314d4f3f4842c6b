"""The rows that are clustered: unit vectors, their texts, and the columns that go along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialtools.cluster.options import RowOptions
from dialtools.corpora import fields
from dialtools.corpora.fields import BETWEEN_TURNS, is_known, shown_text
from dialtools.corpora.splits import numbered_by_name
from dialtools.errors import DataError
from dialtools.metrics.space import unit
from dialtools.roles import is_user
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import Embeddings

ROW = "row"


@dataclass
class Rows:
    """N rows.

    Attributes:
        vectors: (N, D) float32 of unit length.
        texts: N texts; nothing if there is no such column.
        columns: the fields of the file, N values each.
        metadata: of the file.
        left_out: dialogues without a turn of the user.
        lacking: field -> the first of several files that has it not; it is none of the columns.
    """

    vectors: np.ndarray
    texts: list[str]
    columns: dict[str, list[Any]]
    metadata: dict[str, str]
    name: str
    left_out: int = 0
    lacking: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def note(self) -> str | None:
        """What to say of rows without texts."""
        what = "no texts, so that clusters have no words: dial-embed --keep keeps them"
        return None if self.texts else f"{self.name}: {what}"

    @property
    def ids(self) -> list[Any]:
        """What tells each row: its `id`, or its number from 0 unless all have one."""
        ids = self.columns.get("id", [None])
        return ids if all(map(is_known, ids)) else list(range(len(self)))

    def kept(self, keep: Sequence[str], default: Sequence[str]) -> dict[str, list[Any]]:
        """Return the columns to carry along; the number of each row unless ids tell which it is.

        Args:
            keep: names, `all` or `none`; of the default ones those there are.

        Raises:
            DataError: naming those there are, if one is not.
        """
        names = Embeddings({}, self.columns, name=self.name).kept(keep, default)
        chosen = {name: self.columns[name] for name in names}
        ids = self.ids
        return chosen if chosen.get("id") is ids else {ROW: list(range(len(self))), **chosen}


def read_rows(paths: Sequence[str], options: RowOptions) -> Rows:
    """Read embedding files as one.

    Raises:
        DataError: if they hold no rows, or not the columns that options ask for.
    """
    source = read_embeddings(paths, limit=options.limit)
    name, matrix_ND = source.chosen(options.vectors)
    rows = Rows(
        vectors=unit(matrix_ND),
        texts=_texts(source, name, options.text),
        columns=source.columns,
        metadata=source.metadata,
        name=source.name,
        lacking=source.lacking,
    )
    return _of_dialogues(rows, source, options) if options.per == "dialogue" else rows


def _texts(source: Embeddings, vectors: str, column: str | None) -> list[str]:
    if column:
        return list(map(shown_text, source.column(column)))
    try:
        return list(map(shown_text, source.texts(vectors)))
    except DataError:  # none was kept: clusters are told by the rows' ids
        return []


def _place(value: Any, where: str) -> None:
    """A turn's number in its dialogue, if it tells one."""
    if value is not None:
        fields.place(value, where)


def _of_dialogues(rows: Rows, source: Embeddings, options: RowOptions) -> Rows:
    """Return a row for each dialogue: the mean of its first user turns."""
    turns_of: dict[int, list[int]] = {}
    users = [speaker if isinstance(speaker, str) else None for speaker in source.column("speaker")]
    for row, dialogue in enumerate(numbered_by_name(source.column("dialogue_id"))):
        turns = turns_of.setdefault(dialogue, [])
        if is_user(users[row]):
            turns.append(row)
    if "turn" in source.columns:
        place = source.column("turn", _place)
        for turns in turns_of.values():
            turns.sort(key=lambda row: (place[row] is None, place[row] or 0))
    chosen = [turns[: options.turns] for turns in turns_of.values() if turns]
    if not chosen:
        raise DataError(
            "no row is a turn of a user (speaker)",
            where=source.name,
            hint="dial-pairs --kind dialogue --speaker-map 'Kim=system,*=user' tells who is who",
        )
    first = [turns[0] for turns in chosen]
    texts = []
    if rows.texts:
        texts = [BETWEEN_TURNS.join(rows.texts[row] for row in turns) for turns in chosen]
    columns = {name: [values[row] for row in first] for name, values in rows.columns.items()}
    columns.pop("turn", None)
    return Rows(
        vectors=unit(np.stack([rows.vectors[turns].mean(0) for turns in chosen])),
        texts=texts,
        columns=columns | ({"text": texts} if texts else {}),
        metadata=rows.metadata,
        name=rows.name,
        left_out=len(turns_of) - len(chosen),
        lacking=rows.lacking,
    )
