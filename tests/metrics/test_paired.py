"""Paired tests and their correction, beside slow ones and SciPy's."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_tests as slow
from scipy import stats

from dialtools.metrics import CORRECTIONS, counts, paired
from dialtools.metrics.paired import (
    BLOCK,
    benjamini_hochberg,
    bootstrap,
    draws,
    holm,
    sign_flips,
    two_sided,
)

differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.1, 1.0]), min_size=1, max_size=9)
p_values = st.lists(st.integers(1, 60).map(lambda k: k / 1000), min_size=1, max_size=12)


@given(differences)
def test_of_few_items_all_swaps_are_tried(values: list[float]):
    found = sign_flips(np.array(values)[:, None], resamples=10_000, seed=0)[0]
    assert found == pytest.approx(slow.exact_permutation(values))


def test_few_items_agree_with_scipy_which_tries_all_swaps_too():
    values = np.random.default_rng(0).normal(0.4, 1, 11)
    theirs = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert sign_flips(values[:, None], resamples=2**11, seed=0)[0] == pytest.approx(theirs)


def test_many_items_agree_with_the_slow_twin_and_scipy_up_to_chance():
    values = np.random.default_rng(1).choice([-1, 0, 0.1, 1], 60, p=[0.15, 0.5, 0.05, 0.3])
    found = sign_flips(values[:, None], resamples=20_000, seed=0)[0]
    theirs = stats.permutation_test(
        (values,),
        np.sum,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    ).pvalue
    assert 0.005 < found < 0.2
    assert (
        found
        == pytest.approx(theirs, abs=0.01)
        == pytest.approx(slow.permutation(values.tolist(), 4_000, 0), abs=0.02)
    )


def test_equal_models_have_p_1_and_rounding_makes_no_difference():
    same = sign_flips(np.zeros((500, 1)), resamples=1000, seed=0)[0]
    few = np.zeros((500, 2))
    few[3:11], few[5, 1] = 1, -2
    exact = sign_flips(few, resamples=1000, seed=0)
    assert exact[0] == 2 / 2**8, "eight items of 500 differ: all ways to swap these are looked at"
    # the sum of these is one of many equal ones; 0.1 has no exact float
    tied = sign_flips(np.array([0.1, 0.1, 0.1, -0.1] * 3)[:, None], resamples=10_000, seed=0)[0]
    assert same == 1 and tied == pytest.approx(slow.exact_permutation([1, 1, 1, -1] * 3))


def test_items_that_do_not_count_are_no_items():
    values = np.random.default_rng(2).normal(0.5, 1, 8)
    with_gaps = np.concatenate([values, np.full(3, np.nan)])[:, None]
    assert sign_flips(with_gaps, resamples=10_000, seed=0)[0] == pytest.approx(
        slow.exact_permutation(values.tolist())
    )


def test_bootstrap_p_and_interval_agree_with_the_slow_twin():
    draw = np.random.default_rng(3)
    a, b = draw.random(80), draw.random(80) + 0.09
    found = np.subtract(*bootstrap([counts.mean(b), counts.mean(a)], 80, resamples=8000, seed=1))
    again = np.array(slow.bootstrap(lambda rows: float(np.mean(b[rows] - a[rows])), 80, 4000, 1))
    assert np.percentile(found, [2.5, 97.5]) == pytest.approx(
        np.percentile(again, [2.5, 97.5]), abs=0.01
    )
    expected = 2 * (1 + (again <= 0).sum()) / 4001
    assert 0.01 < two_sided(found) == pytest.approx(expected, abs=0.025)


def test_intervals_of_95_percent_hold_the_truth_in_95_percent_and_null_p_values_are_uniform():
    draw, inside, p = np.random.default_rng(4), 0, []
    for trial in range(200):
        values = draw.choice([-1.0, 0.0, 1.0], 120, p=[0.2, 0.6, 0.2])  # the truth is 0
        again = bootstrap([counts.mean(values)], 120, resamples=400, seed=trial)[0]
        low, high = np.percentile(again, [2.5, 97.5])
        inside += low <= 0 <= high
        p.append(sign_flips(values[:, None], resamples=400, seed=trial)[0])
    assert 0.9 < inside / 200 < 0.985
    assert (np.array(p) < 0.05).mean() < 0.09 and 0.4 < np.mean(p) < 0.65


@given(p_values, st.sampled_from([0.01, 0.05, 0.2]))
def test_adjusted_p_values_reject_what_the_stepwise_procedures_do(p: list[float], level: float):
    assert (holm(np.array(p)) <= level + 1e-12).tolist() == slow.holm_rejects(
        [v - 1e-12 for v in p], level
    )
    rejected = slow.benjamini_hochberg_rejects([v - 1e-12 for v in p], level)
    assert (benjamini_hochberg(np.array(p)) <= level + 1e-12).tolist() == rejected
    assert benjamini_hochberg(np.array(p)) == pytest.approx(stats.false_discovery_control(p))


def test_a_correction_of_one_test_or_none_changes_nothing():
    for entry in CORRECTIONS.values():
        correct = entry.load()
        assert correct(np.array([0.03])).tolist() == [0.03] and correct(np.zeros(0)).tolist() == []


def test_ten_thousand_resamples_of_5500_items_take_a_second_or_two_and_little_memory():
    hits = [np.random.default_rng(i).integers(0, 2, 5500).astype(float) for i in range(2)]
    tracemalloc.start()
    start = time.process_time()
    bootstrap([counts.mean(own) for own in hits], 5500, resamples=10_000, seed=0)
    sign_flips((hits[0] - hits[1])[:, None], resamples=10_000, seed=0)
    seconds, (_, most) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 6  # 1 s on an idle core of 2024
    assert most < 40e6 + 8 * 4 * BLOCK


def test_all_swaps_of_twenty_items_take_little_memory():
    tracemalloc.start()
    p = sign_flips(np.ones((20, 1)), resamples=2**20, seed=0)[0]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert p == 2 / 2**20 and most < 8 * 8 * BLOCK


def test_blocks_are_whole_and_every_resample_draws_n_items():
    blocks = list(draws(7, 1000, seed=0))
    assert sum(map(len, blocks)) == 1000 and (np.concatenate(blocks).sum(1) == 7).all()


def test_no_resample_is_as_far_and_p_is_still_above_0():
    # 40 items of one sign; in 99 swaps all 40 are never alike
    assert sign_flips(np.ones((40, 1)), resamples=99, seed=0)[0] == 1 / 100
    assert two_sided(np.ones(99)) == 2 / 100
    assert two_sided(np.array([1, 1, np.nan, 0.5])) == 2 / 4  # an undefined resample is none
    assert two_sided(np.array([0, 0, 0])) == 1


@pytest.mark.parametrize("block", [100, BLOCK])
def test_statistics_of_every_kind_are_of_the_same_resamples_of_whole_groups(
    block: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paired, "BLOCK", block)
    draw, groups = np.random.default_rng(8), np.repeat(range(6), range(1, 7))
    x, y = draw.normal(size=21), draw.normal(size=21)
    labels = [[int(k)] for k in draw.integers(0, 3, 21)]
    kinds = [counts.mean(x), counts.Spearman(x, y), counts.pearson(x, y)]
    kinds.append(counts.label_f1(labels, labels[::-1], 3, "macro"))  # its parts are sparse
    for own, size in ((None, 21), (groups, 6)):
        found = bootstrap(kinds, 21, resamples=40, seed=3, groups_N=own)
        generator = np.random.default_rng(3)
        rows = [generator.integers(0, size, size) for _ in range(40)]
        weights = np.stack([np.bincount(r, minlength=size) for r in rows]).astype(float)
        weights = weights if own is None else weights[:, own]
        np.testing.assert_allclose(found, [kind(weights) for kind in kinds])
