"""Correlations beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from dialtools.metrics.counts import Spearman, pearson
from dialtools.metrics.resample import over_items, over_resamples


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=40))
def test_ties_share_their_rank(pairs: list[tuple[int, int]]):
    x, y = np.asarray(pairs, float).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    whole = np.ones((1, len(x)))
    assert Spearman(x, y)(whole) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    assert pearson(x, y)(whole) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_the_interval_narrows_with_the_rows_and_holds_what_fisher_gives():
    draw = np.random.default_rng(0)
    x = draw.normal(size=2000)
    y = x + draw.normal(size=2000)
    value, low, high = over_items(pearson(x, y), 2000, seed=0)
    fisher = np.tanh(np.arctanh(value) + np.array([-1.96, 1.96]) / np.sqrt(1997))
    assert (low, high) == pytest.approx(tuple(fisher), abs=0.006)
    few = over_items(pearson(x[:100], y[:100]), 100, seed=0)
    assert few[2] - few[1] > 3 * (high - low)


def test_a_constant_series_has_no_correlation():
    for correlation in (Spearman, pearson):
        assert np.isnan(correlation(np.ones(4), np.arange(4.0))(np.ones((1, 4))))


def test_a_resample_of_one_row_alone_has_no_correlation():
    x, y = np.random.default_rng(0).normal(size=(2, 100, 3))
    for series in zip(x, y, strict=True):
        for correlation in (Spearman, pearson):
            assert np.isnan(correlation(*series)(3 * np.eye(3))).all()


def test_the_interval_is_of_resampled_pairs():
    draw, x = np.random.default_rng(2), np.arange(12.0)
    y = np.sin(x) + x / 5
    rows = [draw.integers(0, 12, 12) for _ in range(50)]
    again = np.array([stats.spearmanr(x[own], y[own]).statistic for own in rows])
    value = stats.spearmanr(x, y).statistic
    expected = pytest.approx((value, *over_resamples(again, value, 12, least=-1)))
    assert over_items(Spearman(x, y), 12, seed=2, resamples=50) == expected
