"""F1 of label sets, beside scikit-learn's with zero_division=0."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from dialtools.metrics import f1
from dialtools.metrics.counts import class_f1, label_f1
from dialtools.metrics.resample import over_items

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
    assert f1.micro(counts).mean() == pytest.approx(
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
        guess = truth ^ (draw.random((n, 4)) < 0.2)
        sides = ([np.flatnonzero(row).tolist() for row in side] for side in (truth, guess))
        value, low, high = over_items(label_f1(*sides, 4, "macro"), n, seed=1)
        assert low < value < high
        assert value == pytest.approx(f1.macro(f1.counts(truth, guess).sum(0)))
        widths.append(high - low)
    assert widths[1] < widths[0] / 5


def test_rare_labels_that_a_resample_does_not_draw_do_not_pull_the_interval_down():
    truth = np.repeat(np.arange(50), 2)
    alike = over_items(class_f1(truth, truth[None], "macro"), 100, seed=0)
    assert alike == pytest.approx((1, 99 / (99 + 1.96**2), 1)), "no resample differs"
    draw = np.random.default_rng(1)
    guess = np.where(draw.random(100) < 0.1, draw.permutation(truth), truth)
    one_each = ([[label] for label in side.tolist()] for side in (truth, guess))
    of_classes = over_items(class_f1(truth, guess[None], "macro"), 100, seed=0)
    # with 50 labels more that no row has, half of it
    of_labels = over_items(label_f1(*one_each, 100, "macro"), 100, seed=0)
    value, low, high = of_classes
    assert low < value - 0.02 and value + 0.02 < high
    assert of_labels == pytest.approx(tuple(bound / 2 for bound in of_classes), abs=0.015)


def test_one_label_that_is_true_once_weighs_all():
    sums = f1.counts(np.array([[1, 0]]), np.array([[1, 1]])).sum(0)
    assert (f1.weighted(sums), f1.macro(sums), f1.micro(sums)) == pytest.approx((1, 0.5, 2 / 3))
    assert f1.weighted(f1.counts(np.zeros((1, 2)), np.zeros((1, 2))).sum(0)) == 0


def test_f1_of_many_runs_over_a_hundred_thousand_items_is_ready_in_seconds():
    draw = np.random.default_rng(0)
    truth_N, guess_RN = draw.integers(0, 77, 100_000), draw.integers(0, 77, (10, 100_000))
    begun = process_time()
    statistic = class_f1(truth_N, guess_RN, "macro")
    assert process_time() - begun < 6  # 1 s on an idle core; item by item it took 20
    once = [f1_score(truth_N, own_N, average="macro") for own_N in guess_RN]
    assert statistic(np.ones((1, 100_000)))[0] == pytest.approx(np.mean(once), abs=1e-6)
