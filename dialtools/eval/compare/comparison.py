"""What a comparison is: columns and rows of scores, and the differences between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dialtools.eval.compare.columns import Column
from dialtools.eval.suite import Row

LEVEL = 0.05
"""p-values below this are starred."""

Pair = tuple[Row, str]
"""A score, and the column whose score is compared with the baseline's."""


@dataclass
class Difference:
    """Of a model to the baseline in one score, in points.

    Attributes:
        low, high: 95 % interval.
        p, adjusted: p-value, before and after the correction for all tests.
        test: `permutation`, `bootstrap`, or empty if it cannot be tested.
        gap: how much worse the model is, in points; below zero if it is better.
    """

    points: float
    gap: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    adjusted: float = math.nan
    test: str = ""

    @property
    def significant(self) -> bool:
        return self.adjusted < LEVEL


class Value(NamedTuple):
    """A score of a model: mean and standard deviation over its seeds, and how many there are."""

    mean: float
    std: float
    seeds: int


@dataclass
class Comparison:
    """Columns by name, the baseline first; the rows that any of them has; what differs.

    Attributes:
        differences: {(row, column): difference}, where both have the score and nothing says that
            items differ.
        untested: {(column, why): rows} that could not be paired.
    """

    columns: dict[str, Column]
    rows: list[Row]
    correct: str
    differences: dict[tuple[Row, str], Difference] = field(default_factory=dict)
    untested: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    published: int = 0

    @property
    def baseline(self) -> str:
        return next(iter(self.columns))

    @property
    def alone(self) -> bool:
        """Whether there is one model, and nothing to compare it with."""
        return len(self.columns) == 1

    @property
    def tests(self) -> int:
        return sum(bool(d.test) for d in self.differences.values())

    def value(self, row: Row, name: str) -> Value | None:
        """Return a score of a column, over its seeds; None without the score."""
        values = [seed.record["value"] for seed in self.columns[name].get(row, ())]
        if not values:
            return None
        std = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return Value(float(np.mean(values)), std, len(values))

    def interval(self, row: Row, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a score as it was measured once; else NaN."""
        seeds = self.columns[name].get(row, ())
        record = seeds[0].record if len(seeds) == 1 else {}
        return record.get("low", math.nan), record.get("high", math.nan)

    @property
    def missing(self) -> list[tuple[Row, str]]:
        """The scores of the baseline that a model lacks, or has of other items."""
        others = list(self.columns)[1:]
        scores = [row for row in self.rows if row in self.columns[self.baseline]]
        return [(row, m) for row in scores for m in others if (row, m) not in self.differences]

    def set_aside(self, row: Row, name: str, why: str) -> None:
        """Note that a score of a column cannot be paired with the baseline's."""
        self.untested.setdefault((name, why), []).append(row)
