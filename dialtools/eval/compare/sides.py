"""Score files of one model over several tasks: one column together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from dialtools.eval.compare.names import Column, Seed
from dialtools.eval.identity import differing
from dialtools.eval.suite import Row


def sides(columns: Mapping[str, Column], named: Collection[str]) -> dict[str, str]:
    """Return for each column the one that it is part of, called as its model's folder, or itself.

    Columns of one model are one if nothing in them could be compared. Where two share a score they
    may be the model of two days, or seeds of it, and all of that model stay apart.

    Args:
        named: columns that stay as they are, because the user has named them.
    """
    by_model: dict[str, list[str]] = {}
    for name, column in columns.items():
        if name not in named and (model := _model(column)):
            by_model.setdefault(model, []).append(name)
    part_of = {name: name for name in columns}
    for model, names in by_model.items():
        if len(names) > 1 and not _overlap([columns[name] for name in names]):
            folder = Path(model).name or model
            title = folder if folder not in part_of.values() else names[0]
            part_of |= dict.fromkeys(names, title)
    return part_of


def _model(column: Column) -> str | None:
    """Return the model of all scores of a column; None if it is not told, or there are several."""
    models = {seed.record.get("model") for seeds in column.values() for seed in seeds}
    return str(models.pop()) if len(models) == 1 and None not in models else None


def _overlap(columns: Sequence[Column]) -> bool:
    """Tell whether two of some columns have a score that may be of the same items."""
    return any(
        one == other or not differing(_items(first[one]), _items(second[other]))
        for first, second in combinations(columns, 2)
        for one in first
        for other in second
        if _nameless(one) == _nameless(other)
    )


def _items(seeds: Sequence[Seed]) -> dict[str, str]:
    return seeds[0].record.get("items", {})


def _nameless(row: Row) -> Row:
    """Return what a score is of but for its data set, which two files may call by two names."""
    return row._replace(dataset="")
