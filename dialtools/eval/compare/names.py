"""One name for each data set: that of the first column, where another file's has the same items.

Which the items are their digests tell (`identity`), so that `a/test.parquet` and `minilm.parquet`
are one data set if they hold the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
        items = seeds[0].record.get("items", {})
        found.setdefault((row.task, row.dataset), {})[row._replace(dataset="")] = items
    return found
