"""Prototypes, and the majority of neighbours."""

from __future__ import annotations

import numpy as np
from oracles import evaluation as slow

from dialtools.metrics.classify import majority, prototypes


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
    classes = np.random.default_rng(1).integers(0, 6, (50, 9))
    most = [max(row, key=row.count) for row in classes.tolist()]  # of equal counts the first
    assert majority(classes).tolist() == most
