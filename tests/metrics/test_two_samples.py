"""Two samples: the energy distance pair by pair, and tests as scipy and their papers have them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dialtools.metrics.resample import wilson
from dialtools.metrics.two_samples import difference, energies, energy_test, exact_p


def on_sphere(count: int, *, seed: int, shift: float = 0.0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(count, 4)) + shift
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def slow_energy(x: np.ndarray, y: np.ndarray) -> float:
    return 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()


def test_the_distance_is_that_of_all_pairs():
    x, y = on_sphere(20, seed=0), on_sphere(31, seed=1, shift=0.7)
    found = energy_test(x, y, permutations=1, seed=0)
    assert found.distance == pytest.approx(slow_energy(x, y), abs=1e-5)
    x[:7], y[3] = 0, 0  # rows without a vector
    found = energy_test(x, y, permutations=1, seed=0)
    assert found.distance == pytest.approx(slow_energy(x, y), abs=1e-5)


def test_a_sample_is_not_apart_from_its_copy():
    x = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found = energy_test(x, x[::-1], permutations=9, seed=0)
    assert round(found.distance, 6) == 0 and found.p == 1


def test_each_way_to_part_rows_has_its_distance():
    x, draw = on_sphere(15, seed=0), np.random.default_rng(0)
    sides = np.stack([draw.permutation(np.arange(15) < 6) for _ in range(4)], axis=1)
    found = energies(cdist(x, x), np.ones(15), sides)
    slow = [slow_energy(x[side], x[~side]) for side in sides.T]
    assert found == pytest.approx(slow, abs=1e-5)


def test_samples_of_one_source_are_no_further_apart_than_chance_and_others_are():
    same = [
        energy_test(
            on_sphere(40, seed=2 * i), on_sphere(40, seed=2 * i + 1), permutations=99, seed=i
        ).p
        for i in range(40)
    ]
    assert 0.3 < np.mean(same) < 0.7 and np.mean(np.array(same) <= 0.05) < 0.2
    other = energy_test(
        on_sphere(40, seed=0), on_sphere(40, seed=1, shift=1), permutations=99, seed=0
    )
    assert other.p == 0.01 and other.distance > 5 * other.chance


def test_rows_that_belong_together_are_evidence_once():
    """Ten rows ten times each: far apart as rows, and as groups what chance gives."""
    x, y = (
        np.repeat(on_sphere(10, seed=0), 10, axis=0),
        np.repeat(on_sphere(10, seed=1), 10, axis=0),
    )
    groups = np.repeat(np.arange(20), 10)
    assert energy_test(x, y, permutations=99, seed=0).p == 0.01
    assert energy_test(x, y, permutations=99, seed=0, groups=groups).p > 0.05


def test_the_ways_to_part_a_few_long_dialogues_are_as_far_as_they_are():
    """Of two dialogues on either side every third way is the sample itself: p is no less."""
    groups = np.repeat(np.arange(4), 300)
    for seed in range(8):
        x = on_sphere(1200, seed=seed)
        found = energy_test(x[:600], x[600:], permutations=199, seed=0, groups=groups)
        assert found.p > 0.25


def test_the_exact_test_and_wilsons_and_newcombes_intervals_are_those_of_the_books():
    """Newcombe (1998), table II: 56/70 - 48/80 is 0.0524 to 0.3339 by method 10."""
    p = exact_p(np.array([3]), 4, np.array([1]), 4)  # the lady tasting tea, two-sided
    assert p == pytest.approx([0.485714], abs=1e-6)
    low, high = difference(np.array([48]), 80, np.array([56]), 70)
    assert (low[0], high[0]) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    none = wilson(np.array([0.0]), 1.96**2 / 20)
    assert (none[0][0], none[1][0]) == pytest.approx((0, 0.1611), abs=1e-4)
