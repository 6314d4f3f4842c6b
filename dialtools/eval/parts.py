"""Training, validation and test rows of a probe, from three files or from the splits of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dialtools.chance import share
from dialtools.errors import DataError, nearest
from dialtools.eval.options.probes import ProbeOptions
from dialtools.streams.vectors import Embeddings, read_embeddings

VALIDATION = ("validation", "validate", "valid", "val", "dev")


class Parts(NamedTuple):
    """What is learnt from, chosen on, and tested on."""

    train: Embeddings
    validation: Embeddings
    test: Embeddings


def read(options: ProbeOptions) -> Parts:
    """Return the three parts.

    Raises:
        DataError: if one is missing or empty, or they differ in their dimensions.
    """
    parts = _of_files(options) if options.train and options.test else _of_splits(options)
    for name, part in zip(Parts._fields, parts, strict=True):
        if not len(part):
            raise DataError(f"holds no {name} rows", where=part.name)
        if part.matrix.shape[1] != parts.train.matrix.shape[1]:
            raise DataError(
                f"vectors have {part.matrix.shape[1]} dimensions, training vectors {parts.train.matrix.shape[1]}",
                where=part.name,
            )
    return parts


def groups(part: Embeddings, name: str | None) -> list[int]:
    """Return for each row the number of its group, in order of first occurrence, a row without a name by itself; nothing if all are.

    Args:
        name: the column that tells, else `dialogue_id` if there is one.

    Raises:
        DataError: if there is no such column.
    """
    if name is None and "dialogue_id" not in part.columns:
        return []
    return numbered(part.column(name or "dialogue_id"))


def numbered(values: Sequence[Any]) -> list[int]:
    """Return the number of each value in order of first occurrence, None being one by itself; nothing if all differ."""
    numbers: dict[str | int, int] = {}
    found = [
        numbers.setdefault(row if value is None else str(value), len(numbers))
        for row, value in enumerate(values)
    ]
    return found if len(numbers) < len(found) else []


def _of_files(options: ProbeOptions) -> Parts:
    train, test = (read_embeddings([str(path)]) for path in (options.train, options.test))
    if options.validation:
        return Parts(train, read_embeddings([options.validation]), test)
    return Parts(*_held_out(train, options), test)


def _of_splits(options: ProbeOptions) -> Parts:
    source = read_embeddings(options.inputs)
    values = [None if value is None else str(value) for value in source.column(options.split)]
    known = [name for name in dict.fromkeys(values) if name is not None]

    def rows(name: str) -> Embeddings:
        if name not in known:
            raise DataError(
                f"no row has {options.split} = {name!r}; there are {', '.join(known)}",
                where=source.name,
                hint=nearest(name, known),
            )
        return source.select(
            np.asarray([i for i, value in enumerate(values) if value == name], np.int64)
        )

    taken = (options.train_split, options.test_split)
    named = options.validation_split or next(
        (v for v in VALIDATION if v in known and v not in taken), None
    )
    train, test = map(rows, taken)
    return Parts(train, rows(named), test) if named else Parts(*_held_out(train, options), test)


def _held_out(train: Embeddings, options: ProbeOptions) -> tuple[Embeddings, Embeddings]:
    """Split training rows by a stable hash of their dialogue (or row), so that no dialogue is on both sides."""
    if not options.hold_out:
        raise DataError(
            "no validation rows to choose hyper-parameters on",
            where=train.name,
            hint="--validation FILE, --validation-split NAME, or --hold-out 0.1",
        )
    names = next(
        (train.columns[c] for c in ("dialogue_id", "id") if c in train.columns), range(len(train))
    )
    out = np.asarray(
        [share(str(name), seed=options.seed) < options.hold_out for name in names], bool
    )
    return train.select(np.flatnonzero(~out)), train.select(np.flatnonzero(out))
