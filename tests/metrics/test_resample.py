"""Intervals: Student's t over runs, bootstrap over queries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dialtools.eval.score import of_runs, shares
from dialtools.metrics import counts
from dialtools.metrics.resample import over_groups, over_items, over_runs, percentiles

TRUTH = float(np.mean(1 / (1 + np.exp(-1 - np.random.default_rng(7).normal(size=10**6)))))


def test_the_interval_of_three_runs_worked_by_hand():
    # mean 3, standard deviation 1, t(2) = 4.303
    mean, low, high, std = over_runs(np.array([2.0, 3.0, 4.0]))
    assert (mean, std) == (3, 1)
    assert (low, high) == pytest.approx((3 - 4.303 / math.sqrt(3), 3 + 4.303 / math.sqrt(3)))


def test_an_interval_over_runs_and_items_holds_what_others_would_score():
    # 10 draws of examples, 200 texts of which most are right or wrong in every draw
    draw, trials = np.random.default_rng(0), 300

    def logit(runs: int, items: int) -> np.ndarray:
        return 1 + draw.normal(0, 0.3, (runs, 1)) + draw.normal(0, 4, (1, items))

    both = np.random.default_rng(1).normal(1, math.hypot(0.3, 4), 1_000_000)
    truth = 100 * np.mean(1 / (1 + np.exp(-both)))
    held = held_by_runs_alone = 0
    for seed in range(trials):
        right_RN = draw.random((10, 200)) < 1 / (1 + np.exp(-logit(10, 200)))
        values = (100.0 * right_RN.mean(1)).tolist()
        facts = {"task": "t", "dataset": "d", "setting": "s", "metric": "accuracy", "n": 200}
        score = of_runs(values, each=shares(right_RN.mean(0)), seed=seed, **facts)
        _, low, high, _ = over_runs(np.array(values))
        held += score.low <= truth <= score.high
        held_by_runs_alone += low <= truth <= high
    assert held / trials > 0.93
    assert held_by_runs_alone / trials < 0.7


def test_items_of_few_groups_are_as_uncertain_over_runs_as_in_one_run():
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 20)
    each_N = (draw.random(120) < np.repeat(draw.random(6), 20)).astype(float)
    mean, low, high = over_groups(each_N, groups)
    facts = {"task": "t", "dataset": "d", "setting": "s", "metric": "accuracy", "n": 120, "seed": 0}
    score = of_runs([100 * mean] * 3, each=shares(each_N), groups=groups.tolist(), **facts)
    assert score.high - score.low == pytest.approx(100 * (high - low), rel=0.15)


def test_one_run_has_a_mean_and_no_interval():
    mean, *rest = over_runs(np.array([61.5]))
    assert mean == 61.5 and all(math.isnan(value) for value in rest)


def test_bootstrap_holds_the_mean_repeats_by_seed_and_narrows_with_more_queries():
    hits = np.random.default_rng(0).random(400) < 0.3
    share = counts.mean(hits.astype(float))
    mean, low, high = over_items(share, 400, seed=1)
    assert low < mean < high and mean == hits.mean()
    assert over_items(share, 400, seed=1) == (mean, low, high)
    # the normal approximation, 1.96 standard errors
    assert (high - low) / 2 == pytest.approx(1.96 * hits.std() / 20, rel=0.15)


def test_bootstrap_of_equal_values_is_a_point():
    assert over_items(counts.mean(np.full(9, 5.0)), 9, seed=0) == (5, 5, 5)


def test_the_interval_over_groups_of_any_sizes_is_that_of_their_means_close_to_the_bootstrap():
    draw = np.random.default_rng(4)
    groups, own = np.repeat(np.arange(9), 5), draw.random(45)
    means = own.reshape(9, 5).mean(1)
    assert over_groups(own, groups) == pytest.approx(over_runs(means)[:3])
    assert over_groups(own, np.zeros(45, int)) == pytest.approx(
        (own.mean(), math.nan, math.nan), nan_ok=True
    )
    groups = np.repeat(np.arange(200), draw.integers(1, 9, 200))
    own = draw.random(200)[groups] + draw.random(len(groups))
    resampled = over_items(counts.mean(own), len(own), seed=0, groups_N=groups)
    assert over_groups(own, groups) == pytest.approx(resampled, abs=0.005)
    order = draw.permutation(len(own))
    assert over_groups(own[order], groups[order]) == pytest.approx(over_groups(own, groups))


def test_rows_that_only_repeat_their_group_narrow_no_interval():
    draw = np.random.default_rng(3)
    values, times = draw.random(40), np.repeat(np.arange(40), 5)
    once = over_items(counts.mean(values), 40, seed=0)
    for own in (times, times[draw.permutation(200)]):
        mean = counts.mean(values[own])
        assert over_items(mean, 200, seed=0, groups_N=own) == pytest.approx(once)
        _, low, high = over_items(mean, 200, seed=0)
        assert high - low < 0.6 * (once[2] - once[1])


@pytest.mark.parametrize("n", range(2, 40))
def test_the_quantiles_are_those_of_student(n: int):
    values = np.random.default_rng(n).random(n)
    mean, low, high, std = over_runs(values)
    assert std == pytest.approx(values.std(ddof=1))
    reach = stats.t.ppf(0.975, n - 1) if n <= 31 else 1.96
    assert (high - mean) * math.sqrt(n) / std == pytest.approx(reach, abs=6e-4)
    assert mean - low == pytest.approx(high - mean)


def test_the_bootstrap_is_that_of_its_definition():
    values, draw = np.random.default_rng(0).random((30, 2)), np.random.default_rng(5)
    ratio = lambda sums: sums[..., 0] / sums[..., 1]  # noqa: E731
    rows = [draw.integers(0, 30, 30) for _ in range(200)]
    spread = math.sqrt(30 / 29) * stats.t.ppf(0.975, 29) / 1.96

    def interval(value: float, resampled: list[float]) -> tuple[float, ...]:
        again = value + spread * (np.array(resampled) - value)
        return value, *np.percentile(again, [2.5, 97.5])

    found = over_items(counts.ratio(*values.T), 30, seed=5, resamples=200)
    ratios = [ratio(values[own].sum(0)) for own in rows]
    assert found == pytest.approx(interval(ratio(values.sum(0)), ratios), abs=1e-4)
    means = [values[own, 0].mean() for own in rows]
    alone = over_items(counts.mean(values[:, 0]), 30, seed=5, resamples=200)
    assert alone == pytest.approx(interval(values[:, 0].mean(), means), abs=1e-4)
    assert {type(number) for number in (*found, *alone)} == {float}, "JSON takes no others"


def test_resamples_without_a_value_are_left_out_of_the_interval():
    assert percentiles(np.array([1.0, np.nan, 3.0])) == pytest.approx((1.05, 2.95))
    assert np.isnan(percentiles(np.full(3, np.nan))).all()
    assert {type(number) for number in percentiles(np.arange(5.0))} == {float}


def test_intervals_of_few_dialogues_hold_the_truth_as_often_as_they_say():
    """F1 of eight dialogues: a bootstrap as it is holds it in 86 % of draws."""
    draw, held = np.random.default_rng(6), []
    groups = np.repeat(np.arange(8), 5)
    for _ in range(200):
        ease = draw.normal(size=8)[groups]
        right = counts.mean((draw.random(40) < 1 / (1 + np.exp(-1 - ease))).astype(float))
        _, low, high = over_items(right, 40, seed=0, groups_N=groups, resamples=300)
        held.append(low <= TRUTH <= high)
    assert 0.9 <= np.mean(held) <= 0.99
