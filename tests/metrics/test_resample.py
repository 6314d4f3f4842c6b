"""Intervals: Student's t over runs, Wilson's over items."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dialtools.eval.score import of_runs, shares
from dialtools.metrics import counts
from dialtools.metrics.detection import Detection, dense_ranks
from dialtools.metrics.paired import Statistic
from dialtools.metrics.resample import _t95, over_items, over_runs, over_shares, percentiles

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
    mean, low, high = over_items(counts.mean(each_N), 120, seed=0, groups_N=groups)
    facts = {"task": "t", "dataset": "d", "setting": "s", "metric": "accuracy", "n": 120, "seed": 0}
    score = of_runs([100 * mean] * 3, each=shares(each_N), groups=groups.tolist(), **facts)
    assert score.high - score.low == pytest.approx(100 * (high - low), rel=0.15)


def test_one_run_has_a_mean_and_no_interval():
    mean, *rest = over_runs(np.array([61.5]))
    assert mean == 61.5 and all(math.isnan(value) for value in rest)


def test_the_interval_of_right_and_wrong_is_wilsons():
    for right in (0, 7, 50, 100):
        hits = np.arange(100) < right
        wilson = stats.binomtest(right, 100).proportion_ci(method="wilson")
        _, low, high = over_items(counts.mean(hits.astype(float)), 100, seed=0)
        assert (low, high) == pytest.approx(tuple(wilson), abs=3e-3)
    alike = over_items(counts.mean(np.full(9, 0.5)), 9, seed=0)
    assert alike[1] < 0.45 < 0.55 < alike[2], "nine that are alike do not tell that all are"
    assert over_items(counts.mean(np.ones(1)), 1, seed=0)[1:] == pytest.approx(
        (math.nan, math.nan), nan_ok=True
    )


@pytest.mark.parametrize(("groups", "size"), [(2, 10), (10, 1), (20, 1), (10, 20), (40, 5)])
@pytest.mark.parametrize("truth", [0.5, 0.9, 0.99])
def test_intervals_of_shares_hold_the_truth(groups: int, size: int, truth: float):
    """Near 1, too, and of two blocks: a bootstrap holds 0.99 of 20 items in a fifth of draws."""
    draw, held, of_all = np.random.default_rng(1), 0, np.full(groups, size)
    for _ in range(400):
        low, high = over_shares(draw.binomial(of_all, truth).astype(float), of_all)
        held += low - 1e-9 <= truth <= high + 1e-9
    assert held > 400 * (0.88 if groups * size == 10 else 0.93)


def test_intervals_of_shares_of_groups_that_differ_hold_the_truth():
    draw, held = np.random.default_rng(2), 0
    for _ in range(400):
        sizes = draw.integers(1, 20, 30)
        low, high = over_shares(draw.binomial(sizes, draw.beta(3, 1, 30)), sizes)
        held += low < 0.75 < high
    assert 0.92 * 400 < held < 0.98 * 400


def test_bootstraps_of_few_dialogues_hold_the_truth_as_often_as_they_say():
    """As of F1 of eight dialogues: a bootstrap as it is holds it in 86 % of draws."""
    draw, held = np.random.default_rng(6), []
    groups = np.repeat(np.arange(8), 5)
    for _ in range(200):
        ease = draw.normal(size=8)[groups]
        right = counts.mean((draw.random(40) < 1 / (1 + np.exp(-1 - ease))).astype(float))
        resampled = replace(right, values=None)
        _, low, high = over_items(resampled, 40, seed=0, groups_N=groups, resamples=300)
        held.append(low <= TRUTH <= high)
    assert 0.9 <= np.mean(held) <= 0.99


def _areas(draw: np.random.Generator) -> tuple[Detection, int]:
    """40 texts to be found among 200, 3.5 standard deviations away."""
    scores = draw.normal(size=200) + 3.5 * (np.arange(200) < 40)
    return Detection("auroc", [dense_ranks(scores)], np.arange(200) < 40), 200


def _f1(draw: np.random.Generator) -> tuple[counts.Sums, int]:
    """200 rows of two equal classes, one in two hundred wrong."""
    truth = draw.integers(0, 2, 200)
    return counts.class_f1(truth, (truth ^ (draw.random(200) < 0.005))[None], "macro"), 200


def _ranks(draw: np.random.Generator) -> tuple[counts.Spearman, int]:
    """100 pairs of series that correlate to 0.99."""
    x, noise = draw.normal(size=(2, 100))
    return counts.Spearman(0.99 * x + math.sqrt(1 - 0.99**2) * noise, x), 100


NEAR_ONE = [
    (_areas, float(stats.norm.cdf(3.5 / math.sqrt(2)))),
    (_f1, 0.995),
    (_ranks, 6 / math.pi * math.asin(0.99 / 2)),
]


@pytest.mark.parametrize(("world", "truth"), NEAR_ONE)
def test_intervals_of_what_is_nearly_one_hold_it(
    world: Callable[[np.random.Generator], tuple[Statistic, int]], truth: float
):
    """The percentiles of a bootstrap hold it in 83, 62 and 85 % of draws."""
    draw, held = np.random.default_rng(4), 0
    for _ in range(300):
        _, low, high = over_items(*world(draw), seed=0, resamples=200)
        held += low <= truth <= high
    assert held > 0.9 * 300


def test_the_interval_of_a_macro_f1_of_few_rows_a_class_is_of_files_as_small():
    """Fifty classes, two rows each, nine in ten right: of many rows 90.1, of such files 86.6."""
    draw, found = np.random.default_rng(100), []
    for _ in range(150):
        truth = draw.integers(0, 50, 100)
        guess = np.where(draw.random(100) < 0.9, truth, draw.integers(0, 50, 100))
        f1 = counts.class_f1(truth, guess[None], "macro")
        found.append(over_items(f1, 100, seed=0, resamples=200))
    values, lows, highs = np.transpose(found)
    mean = values.mean()
    assert mean == pytest.approx(0.866, abs=0.01)
    assert np.mean((lows <= mean) & (mean <= highs)) > 0.9
    assert np.mean((lows <= 0.901) & (highs >= 0.901)) < 0.9


@pytest.mark.parametrize("found", [(100, 100), (100, 9)])
def test_what_is_found_without_a_mistake_is_as_sure_as_its_rarer_kind(found: tuple[int, int]):
    rare = np.arange(sum(found)) >= found[0]
    perfect = Detection("auroc", [dense_ranks(rare.astype(float))], rare)
    value, low, high = over_items(perfect, sum(found), seed=0)
    squared = _t95(found[1]) ** 2 * found[1] / (found[1] - 1)
    assert value == 1 and high == pytest.approx(1)
    assert low == pytest.approx(found[1] / (found[1] + squared))


def test_rows_that_only_repeat_their_group_narrow_no_interval():
    draw = np.random.default_rng(3)
    values, times = draw.random(40), np.repeat(np.arange(40), 5)
    once = over_items(counts.mean(values), 40, seed=0)
    for own in (times, times[draw.permutation(200)]):
        mean = counts.mean(values[own])
        assert over_items(mean, 200, seed=0, groups_N=own) == pytest.approx(once, abs=3e-3)
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
    values[:, 0] *= values[:, 1]  # a share
    share = ratio(values.sum(0))
    found = over_items(counts.Sums(values, ratio), 30, seed=5, resamples=200)
    ratios = np.array([ratio(values[own].sum(0)) for own in rows])
    # Wilson's two ends are as far as Student's quantile of their own standard errors
    alike = ratios.var() * 30 / 29 / (share * (1 - share))
    for end in found[1:]:
        error = math.sqrt(alike * end * (1 - end))
        assert abs(end - share) / error == pytest.approx(stats.t.ppf(0.975, 29), abs=1e-3)
    alone = over_items(counts.mean(values[:, 0]), 30, seed=5)
    assert {type(number) for number in (*found, *alone)} == {float}, "JSON takes no others"


def test_resamples_without_a_value_are_left_out_of_the_interval():
    assert percentiles(np.array([1.0, np.nan, 3.0])) == pytest.approx((1.05, 2.95))
    assert np.isnan(percentiles(np.full(3, np.nan))).all()
    assert {type(number) for number in percentiles(np.arange(5.0))} == {float}
