"""Intervals: Student's t over runs, bootstrap over queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dialtools.metrics.resample import bootstrap, bootstrap_sums, over_groups, over_runs


def test_the_interval_of_three_runs_worked_by_hand():
    # mean 3, standard deviation 1, t(2) = 4.303
    mean, low, high, std = over_runs(np.array([2.0, 3.0, 4.0]))
    assert (mean, std) == (3, 1)
    assert (low, high) == pytest.approx((3 - 4.303 / math.sqrt(3), 3 + 4.303 / math.sqrt(3)))


def test_one_run_has_a_mean_and_no_interval():
    mean, *rest = over_runs(np.array([61.5]))
    assert mean == 61.5 and all(math.isnan(value) for value in rest)


def test_bootstrap_holds_the_mean_repeats_by_seed_and_narrows_with_more_queries():
    hits = np.random.default_rng(0).random(400) < 0.3
    mean, low, high = bootstrap(hits.astype(float), seed=1)
    assert low < mean < high and mean == hits.mean()
    assert bootstrap(hits.astype(float), seed=1) == (mean, low, high)
    # the normal approximation, 1.96 standard errors
    assert (high - low) / 2 == pytest.approx(1.96 * hits.std() / 20, rel=0.15)


def test_bootstrap_of_equal_values_is_a_point():
    assert bootstrap(np.full(9, 5.0), seed=0) == (5, 5, 5)


def test_the_interval_over_groups_of_any_sizes_is_that_of_their_means_close_to_the_bootstrap():
    draw = np.random.default_rng(4)
    groups, own = np.repeat(np.arange(9), 5), draw.random(45)
    means = own.reshape(9, 5).mean(1)
    assert over_groups(own, groups) == pytest.approx(over_runs(means)[:3])
    assert math.isnan(over_groups(own, np.zeros(45, int))[1])
    groups = np.repeat(np.arange(200), draw.integers(1, 9, 200))
    own = draw.random(200)[groups] + draw.random(len(groups))
    both = np.column_stack([own, np.ones(len(own))])
    resampled = bootstrap_sums(
        both, lambda sums: sums[..., 0] / sums[..., 1], seed=0, groups_N=groups
    )
    assert over_groups(own, groups) == pytest.approx(resampled, abs=0.005)
    order = draw.permutation(len(own))
    assert over_groups(own[order], groups[order]) == pytest.approx(over_groups(own, groups))


def test_rows_that_only_repeat_their_group_narrow_no_interval():
    draw = np.random.default_rng(3)
    values, times = draw.random((40, 1)), np.repeat(np.arange(40), 5)
    mean = lambda sums: sums[..., 0] / 40  # noqa: E731
    once = bootstrap_sums(values, mean, seed=0)
    assert bootstrap_sums(values[times] / 5, mean, seed=0, groups_N=times) == pytest.approx(once)
    _, low, high = bootstrap_sums(values[times] / 5, mean, seed=0)
    assert high - low < 0.6 * (once[2] - once[1])
    order = draw.permutation(200)
    assert bootstrap_sums(
        values[times[order]] / 5, mean, seed=0, groups_N=times[order]
    ) == pytest.approx(once)
