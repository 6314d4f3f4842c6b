"""A statistic of counts is the statistic of rows repeated as often as they were drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from dialtools.metrics import counts

N = 40
DRAW = np.random.default_rng(0)
X, Y = DRAW.normal(size=N), DRAW.integers(0, 5, N).astype(float)
TIED = DRAW.integers(0, 6, N).astype(float)
GAPS = np.where(DRAW.random(N) < 0.3, np.nan, X)
TRUE, SAID = DRAW.integers(0, 2, (N, 4)), DRAW.integers(0, 2, (N, 4))
CLASS, GUESS = DRAW.integers(0, 4, N), DRAW.integers(0, 5, (3, N))
WHOLE = DRAW.integers(1, 4, N).astype(float)


def sets(table: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in table]


Statistic = counts.Sums | counts.Spearman
STATISTICS: dict[str, tuple[Callable[[np.ndarray], float], Callable[[], Statistic]]] = {
    "mean": (lambda i: np.nanmean(GAPS[i]), lambda: counts.mean(GAPS)),
    "mean of shares": (
        lambda i: (np.nanmean(GAPS[i]) + X[i].mean()) / 2,
        lambda: counts.mean_of_shares(np.column_stack([GAPS, X])),
    ),
    "ratio": (lambda i: Y[i].sum() / WHOLE[i].sum(), lambda: counts.ratio(Y, WHOLE)),
    "pearson": (lambda i: stats.pearsonr(X[i], Y[i]).statistic, lambda: counts.pearson(X, Y)),
    "spearman": (lambda i: stats.spearmanr(X[i], Y[i]).statistic, lambda: counts.Spearman(X, Y)),
    "spearman, ties": (
        lambda i: stats.spearmanr(TIED[i], Y[i]).statistic,
        lambda: counts.Spearman(TIED, Y),
    ),
    **{
        f"{kind} f1": (
            lambda i, kind=kind: f1_score(TRUE[i], SAID[i], average=kind, zero_division=0),
            lambda kind=kind: counts.label_f1(sets(TRUE), sets(SAID), 4, kind),
        )
        for kind in ("micro", "macro", "weighted")
    },
    **{
        f"{kind} f1 of classes": (
            lambda i, kind=kind: np.mean(
                [
                    f1_score(CLASS[i], g[i], average=kind, labels=range(5), zero_division=0)
                    for g in GUESS
                ]
            ),
            lambda kind=kind: counts.class_f1(CLASS, GUESS, kind),
        )
        for kind in ("macro", "weighted")
    },
}


@pytest.mark.parametrize("name", STATISTICS)
def test_weights_repeat_rows(name: str):
    slow, statistic = STATISTICS[name]
    fast = statistic()
    draw = np.random.default_rng(1)
    rows = [np.arange(N), *(draw.integers(0, N, N) for _ in range(5)), np.arange(N // 2)]
    weights = np.stack([np.bincount(own, minlength=N) for own in rows]).astype(float)
    assert fast(weights) == pytest.approx([slow(own) for own in rows], abs=1e-6)


def test_nothing_drawn_has_no_value():
    assert np.isnan(counts.mean(X)(np.zeros((1, N)))[0]) and np.isnan(
        counts.pearson(X, Y)(np.zeros((1, N)))[0]
    )


def test_correlations_far_from_zero_keep_their_digits():
    # sums of squares of 1e6 would leave few
    draw = np.random.default_rng(3)
    x, ones = draw.normal(size=200), np.ones((1, 200))
    y = x + draw.normal(size=200)
    exact = stats.pearsonr(x, y).statistic
    for far in (counts.pearson(x + 1e6, y), counts.pearson(x, y - 1e6)):
        assert far(ones)[0] == pytest.approx(exact, abs=1e-8)
