"""Rows cut into parts: by the split they name, by what they belong to, by a share held out.

Column values in, row numbers out: embedding files, records and tables are cut by the same rules.
A value of any type counts as its text, so that `0` on the command line is 0 in Parquet and JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from dialtools.chance import share as share_of
from dialtools.corpora.dialogues import called
from dialtools.corpora.fields import as_text
from dialtools.errors import DataError, nearest
from dialtools.shown import listed, quoted
from dialtools.streams.tally import counted

VALIDATION = ("validation", "validate", "valid", "val", "dev")
"""How a split of validation rows is usually called; where a file has several, the first."""

NONE = "none"
"""As the name of the validation split: no rows are, unless there is a split of that name; as that
of the column of splits: all rows are one, unless there is such a column."""

Splits = Mapping[str, Sequence[int]]
"""The rows of each split, in order."""


def rows_by_split(values: Iterable[Any]) -> dict[str, list[int]]:
    """Return the rows of each value in order of first occurrence; those without one are of ""."""
    rows: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault("" if value is None else as_text(value), []).append(row)
    return rows


def rows_of_split(
    splits: Splits, name: str, *, column: str, where: object, flag: str | None = None
) -> Sequence[int]:
    """Return the rows of one split.

    Args:
        column, where: the name of the split column, and of the file, for the message.
        flag: the option that names another split.

    Raises:
        DataError: if there are none, naming the splits that there are.
    """
    if name not in splits:
        known = [split for split in splits if split] or ["none"]
        raise DataError(
            f"no row has {column} = {quoted(name)}; there are {listed(known)}",
            where=where,
            hint=nearest(name, known) or (flag and f"{flag} names another"),
        )
    return splits[name]


def validation_split(splits: Splits, named: str | None, *, taken: Iterable[str]) -> str | None:
    """Return the name of the split of validation rows: as named, or a usual one that is not taken.

    None says that no rows are; a name that no row has is returned for `rows_of_split` to refuse.
    """
    if named is not None:
        return None if named == NONE and named not in splits else named
    free = splits.keys() - set(taken)
    return next((name for name in VALIDATION if name in free), None)


def held_out(names: Iterable[Any], share: float, *, seed: int) -> list[bool]:
    """Return whether a row is held out: by a stable hash of its name, the dialogue's or its own.

    Rows of one name stay together, and which they are does not depend on the rows beside. A row
    without a name stands for itself, by its place.
    """
    own = (called(name) or f"row {n}" for n, name in enumerate(names))
    return [share_of(name, seed=seed) < share for name in own]


def tested_of_labels(
    labels: Sequence[str], names: Sequence[str], share: float, *, seed: int
) -> list[bool]:
    """Return whether a row is tested: of each label's rows that share, rounded down.

    Which they are a stable hash of their names draws, their texts say, so that their order does
    not matter. DSE tests a tenth of each class of SNIPS, and 15 % of HWU64's (app. B.2).

    Raises:
        DataError: if no label has enough rows for one.
    """
    tested = [False] * len(labels)
    for rows in rows_by_split(labels).values():
        drawn = sorted(rows, key=lambda row: share_of(names[row], seed=seed))
        for row in drawn[ceil((1 - share) * len(rows) - 1e-9) :]:
            tested[row] = True
    if not any(tested):
        needed = counted(ceil(1 / share), "row")
        raise DataError(f"--test-share {share:g}: no label has {needed}, of which one is tested")
    return tested


def numbered(values: Iterable[Any]) -> list[int]:
    """Return a number for each distinct value, in order of first occurrence.

    A row without a value is like no other.
    """
    numbers: dict[str | int, int] = {}
    return [
        numbers.setdefault(row if value is None else as_text(value), len(numbers))
        for row, value in enumerate(values)
    ]


def numbered_by_name(names: Iterable[Any]) -> list[int]:
    """Return a number for each distinct name, as `numbered` does: blanks, say, are none."""
    return numbered(map(called, names))


def group_numbers(names: Sequence[Any]) -> list[int]:
    """Return the number of each row's group, by its name; nothing if all differ."""
    groups = numbered_by_name(names)
    return groups if len(set(groups)) < len(groups) else []
