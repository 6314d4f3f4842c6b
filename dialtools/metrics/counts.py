"""Statistics of resampled items: each takes how often every item was drawn, and gives a number.

N items, B resamples, P parts. Weights are (B, N): ones are the sample itself, zeros leave items
out, counts are a bootstrap. All that is a function of sums over the items costs one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialtools.metrics import f1 as f1_of
from dialtools.ranges import starts_of


@dataclass
class Sums:
    """A function of sums over the items.

    Attributes:
        parts: (N, P) what each item adds; dense, or a SciPy sparse matrix.
        function: from (B, P) sums to (B,) numbers.
        values: (N,) if only one sum depends on the model (a mean, a share): what the items add to
            it, NaN where one does not count; else None.
        least: the lowest that it may be; the highest is 1.
    """

    parts: Any
    function: Callable[[np.ndarray], np.ndarray]
    values: np.ndarray | None = None
    least: float = 0.0

    def __call__(self, weights_BN: np.ndarray) -> np.ndarray:
        """Return (B,) the statistic of each resample."""
        weights_NB = weights_BN.T.astype(self.parts.dtype, copy=False)
        return self.function(np.asarray(self.parts.T @ weights_NB, np.float64).T)


def mean(values_N: np.ndarray) -> Sums:
    """Return the mean of the numbers that are not NaN."""
    counts = ~np.isnan(values_N)
    parts = np.column_stack([np.where(counts, values_N, 0.0), counts])
    return Sums(parts, lambda s: quotient(s[:, 0], s[:, 1]), values_N)


def ratio(part_N: np.ndarray, whole_N: np.ndarray) -> Sums:
    """Return the sum of the parts over the sum of the wholes: a mean over grouped items."""
    return Sums(np.column_stack([part_N, whole_N]), lambda s: quotient(s[:, 0], s[:, 1]), part_N)


def mean_of_shares(values_NK: np.ndarray) -> Sums:
    """Return the mean of K means, each over the items whose number is not NaN."""
    counts, k = ~np.isnan(values_NK), values_NK.shape[1]
    parts = np.hstack([np.where(counts, values_NK, 0.0), counts])
    return Sums(parts, lambda s: quotient(s[:, :k], s[:, k:]).mean(1))


def pearson(x_N: np.ndarray, y_N: np.ndarray) -> Sums:
    """Return the linear correlation of two series."""
    x, y = x_N - x_N.mean(), y_N - y_N.mean()
    parts = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
    return Sums(parts, _correlation, least=-1.0)


class Spearman:
    """The correlation of ranks; a resample is ranked anew, ties share the mean of their ranks."""

    values = None
    least = -1.0

    def __init__(self, x_N: np.ndarray, y_N: np.ndarray) -> None:
        self.series = [_Order(series) for series in (x_N, y_N)]

    def __call__(self, weights_BN: np.ndarray) -> np.ndarray:
        """Return (B,) the statistic of each resample."""
        weights_NB = np.ascontiguousarray(weights_BN.T)  # whole rows move below
        total = weights_BN.sum(1)
        (x, xx), (y, yy) = (series.ranks(weights_NB) for series in self.series)
        mean = (total + 1) / 2
        xy = np.einsum("nb,nb,nb->b", weights_NB, x, y)
        level = total * mean**2
        spread = np.sqrt(np.maximum(xx - level, 0) * np.maximum(yy - level, 0))
        return quotient(xy - level, spread)


class _Order:
    """What sorts a series of N items.

    Attributes:
        order: (N,) the items from the lowest on.
        begins: where in the order each group of equals begins.
        group: (N,) the group of each item.
    """

    def __init__(self, series_N: np.ndarray) -> None:
        self.order = np.argsort(series_N, kind="stable")
        _, self.group, sizes = np.unique(series_N, return_inverse=True, return_counts=True)
        self.begins = starts_of(sizes)

    def ranks(self, weights_NB: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (N, B) ranks among the drawn, and (B,) sums of squared ranks of the drawn.

        The rank is what lies below, and the middle of the equals.
        """
        drawn_NB = weights_NB[self.order]
        if len(self.begins) < len(drawn_NB):
            drawn_NB = np.add.reduceat(drawn_NB, self.begins, axis=0)
        middle = np.cumsum(drawn_NB, axis=0)
        middle -= (drawn_NB - 1) / 2
        return middle[self.group], np.einsum("gb,gb,gb->b", drawn_NB, middle, middle)


def label_f1(
    truth: Sequence[Sequence[int]], guess: Sequence[Sequence[int]], labels: int, average: str
) -> Sums:
    """Return micro, macro or weighted F1 of label sets.

    Args:
        truth, guess: the labels of each item, 0 to `labels` - 1.
        average: a name of `f1.AVERAGES`.
    """
    parts = _f1_parts(truth, guess, labels)
    of_sums = _averaged(average, np.asarray(parts.sum(0)).reshape(3, labels))
    return Sums(parts, lambda s: of_sums(s.reshape(len(s), 3, labels)))


def class_f1(truth_N: np.ndarray, guess_RN: np.ndarray, average: str) -> Sums:
    """Return F1 of one class an item, averaged over R runs.

    A run's classes are those that its items have or were guessed, as scikit-learn takes them.
    Of a run the wrong guesses alone are added up: a class is right as often as it is true, less
    its misses.
    """
    from scipy import sparse

    names, both = np.unique(np.concatenate([truth_N, *guess_RN]), return_inverse=True)
    true_N, *guesses = both.reshape(1 + len(guess_RN), -1)
    n, labels = len(true_N), len(names)
    adds = [(np.arange(n), true_N)]
    for guess_N in guesses:
        wrong = np.flatnonzero(guess_N != true_N)
        adds += [(wrong, guess_N[wrong]), (wrong, true_N[wrong])]
    rows = np.concatenate([rows for rows, _ in adds])
    columns = np.concatenate([kind * labels + label for kind, (_, label) in enumerate(adds)])
    ones = np.ones(len(rows), np.float32)  # which count to 2^24, faster than wider ones
    parts = sparse.csr_matrix((ones, (rows, columns)), (n, labels * len(adds)))

    def tables(sums: np.ndarray) -> list[np.ndarray]:
        true, *wrong = np.moveaxis(sums.reshape(len(sums), -1, labels), 1, 0)
        runs = zip(wrong[::2], wrong[1::2], strict=True)
        return [np.stack([true - missed, false, missed], 1) for false, missed in runs]

    whole = [table[0] for table in tables(np.asarray(parts.sum(0), np.float64))]
    known = [table_3A.any(0) for table_3A in whole]
    averages = [_averaged(average, table[:, own]) for table, own in zip(whole, known, strict=True)]

    def mean_f1(sums: np.ndarray) -> np.ndarray:
        runs = zip(averages, tables(sums), known, strict=True)
        return np.stack([of_sums(table[..., own]) for of_sums, table, own in runs]).mean(0)

    return Sums(parts, mean_f1)


def _averaged(average: str, whole_3A: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return an average of F1 over resamples of items that add up to these counts."""
    return f1_of.macro_of(whole_3A) if average == "macro" else f1_of.AVERAGES[average]


def _f1_parts(truth: Sequence[Sequence[int]], guess: Sequence[Sequence[int]], labels: int) -> Any:
    """Return (N, 3 labels) true positives, false positives and misses of each item, sparse."""
    from scipy import sparse

    rows: list[int] = []
    columns: list[int] = []
    for row, (true_labels, guessed_labels) in enumerate(zip(truth, guess, strict=True)):
        true, guessed = set(true_labels), set(guessed_labels)
        places = [
            *(true & guessed),
            *(labels + label for label in guessed - true),
            *(2 * labels + label for label in true - guessed),
        ]
        rows += [row] * len(places)
        columns += places
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(truth), 3 * labels))


def _correlation(sums_B6: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = sums_B6.T
    spread_x, spread_y = _spread(n, x, xx), _spread(n, y, yy)
    return quotient(n * xy - x * y, np.sqrt(spread_x * spread_y))


def _spread(n: np.ndarray, total: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return N^2 variances; what rounding leaves of equal numbers is 0."""
    spread = n * squares - total * total
    return np.where(spread > 1e-12 * n * squares, spread, 0)


def quotient(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole, NaN where there is no whole."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
