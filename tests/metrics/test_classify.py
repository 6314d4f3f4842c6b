"""Prototypes, neighbours, and how well scores tell two groups apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import evaluation as slow

from dialtools.metrics.classify import (
    false_alarms_at_recall,
    majority,
    placements,
    prototypes,
)

scores = st.lists(st.integers(-2, 2).map(float), min_size=1, max_size=25)


def test_a_prototype_is_the_plain_mean_of_its_class_and_zero_without_rows():
    vectors = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
    found = prototypes(vectors, np.array([0, 0, 2]), 3)
    assert found.tolist() == [[0.5, 0.5], [0, 0], [1, 0]]


def test_prototypes_agree_with_the_slow_transcription():
    draw = np.random.default_rng(0)
    vectors, classes = draw.normal(size=(40, 7)).astype(np.float32), np.arange(40) % 5
    expected = slow.prototypes(vectors, classes.tolist(), range(5))
    np.testing.assert_allclose(prototypes(vectors, classes, 5), expected, atol=1e-6)


def test_the_majority_wins_and_the_nearer_class_breaks_a_tie():
    assert majority(np.array([[3, 1, 1], [2, 1, 0], [5, 4, 4], [4, 4, 5]])).tolist() == [1, 2, 4, 4]
    assert majority(np.array([[2, 7, 7, 2]])).tolist() == [2]


@given(scores, scores)
def test_auroc_is_the_share_of_ordered_pairs(positive: list[float], negative: list[float]):
    both = np.array(positive + negative)
    truth = np.arange(len(both)) < len(positive)
    area = slow.auroc(positive, negative)
    assert (
        placements(both, truth)[truth].mean()
        == pytest.approx(area)
        == placements(both, truth)[~truth].mean()
    )
    assert placements(-both, truth)[truth].mean() == pytest.approx(1 - area)


@given(scores, scores)
def test_fpr_is_that_of_the_highest_threshold_with_the_recall(
    positive: list[float], negative: list[float]
):
    both = np.array(positive + negative)
    truth = np.arange(len(both)) < len(positive)
    assert false_alarms_at_recall(both, truth)[~truth].mean() == pytest.approx(
        slow.false_positive_rate(positive, negative)
    )
