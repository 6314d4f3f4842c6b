"""F1 of label sets, beside scikit-learn's with zero_division=0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from dialtools.metrics import f1
from dialtools.metrics.resample import bootstrap_sums

tables = st.tuples(st.integers(1, 12), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(
        *(arrays(np.int64, shape, elements=st.integers(0, 1)) for _ in range(2))
    )
)


@given(tables)
def test_every_average_is_that_of_scikit_learn(pair: tuple[np.ndarray, np.ndarray]):
    truth, guess = (np.atleast_2d(table) for table in pair)
    if truth.shape[1] == 1:  # scikit-learn takes one column for a binary task
        truth, guess = (np.hstack([table, 0 * table]) for table in (truth, guess))
    counts = f1.counts(truth, guess)
    for name, average in f1.AVERAGES.items():
        assert average(counts.sum(0)) == pytest.approx(
            f1_score(truth, guess, average=name, zero_division=0), abs=1e-6
        )
    assert f1.by_row(counts).mean() == pytest.approx(
        f1_score(truth, guess, average="samples", zero_division=0), abs=1e-6
    )


def test_a_label_that_is_neither_true_nor_guessed_counts_as_zero_in_the_macro_average():
    truth = np.array([[1, 0], [1, 0]])
    sums = f1.counts(truth, truth).sum(0)
    assert f1.macro(sums) == 0.5 and f1.micro(sums) == 1


def test_the_interval_of_an_f1_holds_it_and_narrows_with_more_rows():
    draw = np.random.default_rng(0)
    widths = []
    for n in (50, 5000):
        truth = draw.random((n, 4)) < 0.4
        counts = f1.counts(truth, truth ^ (draw.random((n, 4)) < 0.2))
        value, low, high = bootstrap_sums(counts, f1.macro, seed=1)
        assert low < value < high and value == pytest.approx(f1.macro(counts.sum(0)))
        widths.append(high - low)
    assert widths[1] < widths[0] / 5


def test_one_label_that_is_true_once_weighs_all():
    sums = f1.counts(np.array([[1, 0]]), np.array([[1, 1]])).sum(0)
    assert (f1.weighted(sums), f1.macro(sums), f1.micro(sums)) == pytest.approx((1, 0.5, 2 / 3))
    assert f1.weighted(f1.counts(np.zeros((1, 2)), np.zeros((1, 2))).sum(0)) == 0
