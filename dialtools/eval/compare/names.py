"""What is one, whatever files call it: data sets of the same items, score files of one model.

Which the items are their digests tell (`identity`), so that `a/test.parquet` and `minilm.parquet`
are one data set if they hold the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.eval.identity import differing
from dialtools.eval.suite import Row


class Seed(NamedTuple):
    """One measurement: a score record, what it is of, and where it stands."""

    where: Any
    row: Row
    record: dict[str, Any]


Column = dict[Row, list[Seed]]
Dataset = tuple[str, str]
"""A task, and the name of its data set."""


def with_names_of_the_first(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns, their data sets called as the first column calls them."""
    (first, known), *others = columns.items()
    return {first: known, **{name: _renamed(own, known) for name, own in others}}


def seeds_together(files: Iterable[Column]) -> Column:
    """Return the scores of the files of a column: of one data set, those of each are seeds.

    A data set is called as the first file calls it that has its items. The scores of one model
    under two names are of two data sets.
    """
    column: Column = {}
    for own in files:
        models = _models(own)
        others = {
            row: seeds for row, seeds in column.items() if models.isdisjoint(_models({row: seeds}))
        }
        for row, seeds in _renamed(own, others).items():
            column.setdefault(row, []).extend(seeds)
    return column


def _renamed(own: Column, known: Column) -> Column:
    names = {dataset: _name(dataset, own, known) for dataset in _by_dataset(own)}
    taken = Counter((task, name) for (task, _), name in names.items())

    def name(row: Row) -> str:
        wanted = names[row.task, row.dataset]
        return wanted if taken[row.task, wanted] == 1 else row.dataset

    return {row._replace(dataset=name(row)): seeds for row, seeds in own.items()}


def _name(dataset: Dataset, own: Column, known: Column) -> str:
    """Return the only name that a data set with these items has; its own if there is none."""
    mine = _by_dataset(own)[dataset]
    alike = [name for (_, name), items in _by_dataset(known).items() if _same(mine, items)]
    return alike[0] if len(alike) == 1 else dataset[1]


def _same(mine: Mapping[Row, Any], known: Mapping[Row, Any]) -> bool:
    """Tell whether all scores that both have, of one task, are known to be of the same items."""
    shared = mine.keys() & known.keys()
    return bool(shared) and all(differing(mine[row], known[row]) == [] for row in shared)


def _by_dataset(column: Column) -> dict[Dataset, dict[Row, Any]]:
    """Return for each data set the digests of the items of each of its scores, rows unnamed."""
    found: dict[Dataset, dict[Row, Any]] = {}
    for row, seeds in column.items():
        found.setdefault((row.task, row.dataset), {})[row._replace(dataset="")] = _items(seeds)
    return found


def _items(seeds: Sequence[Seed]) -> dict[str, str]:
    return seeds[0].record.get("items", {})


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
    models = _models(column)
    return str(models.pop()) if len(models) == 1 and None not in models else None


def _models(column: Column) -> set[Any]:
    """Return the models of the scores of a column, None for one that is not told."""
    return {seed.record.get("model") for seeds in column.values() for seed in seeds}


def _overlap(columns: Sequence[Column]) -> bool:
    """Tell whether two of some columns have a score that may be of the same items."""
    return any(
        one == other or not differing(_items(first[one]), _items(second[other]))
        for first, second in combinations(columns, 2)
        for one in first
        for other in second
        if one._replace(dataset="") == other._replace(dataset="")
    )
