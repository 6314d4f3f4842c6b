"""The few-shot sampler: bit for bit the reference's."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracles.evaluation import few_shot

from dialtools.metrics.episodes import sample, sample_sets

LABELS = ["b", "a", "b", "c", "a", "b", "b", "a", "b"]


def test_the_worked_example():
    # by first appearance: b has rows 0 2 5 6 8, a has 1 4 7, c has 3 alone
    random.seed(7)
    b, a, c = random.sample([0, 2, 5, 6, 8], 4), random.sample([1, 4, 7], 3), random.sample([3], 1)
    drawn = sample(LABELS, 2, seed=7)
    assert drawn.train.tolist() == b[:2] + a[:2] + c
    assert drawn.val.tolist() == b[2:] + a[2:]


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.integers(1, 6), st.integers(0, 50))
def test_any_labels_shots_and_seed_agree_with_the_transcription(
    labels: list[str], shots: int, seed: int
):
    drawn = sample(labels, shots, seed=seed)
    assert (drawn.train.tolist(), drawn.val.tolist()) == few_shot(labels, shots, seed)
    assert drawn.seed == seed and drawn.train.dtype == drawn.val.dtype == np.int64
    assert not set(drawn.train.tolist()) & set(drawn.val.tolist())
    counts = Counter(labels[i] for i in drawn.train)
    assert all(counts[label] == min(shots, (n + 1) // 2) for label, n in Counter(labels).items())


@given(
    st.lists(st.lists(st.sampled_from("abcd"), unique=True, max_size=3), max_size=30),
    st.integers(1, 4),
    st.integers(0, 50),
)
def test_a_row_of_several_labels_is_drawn_once_for_the_first_of_them(
    labels: list[list[str]], shots: int, seed: int
):
    drawn = sample_sets(labels, shots, seed=seed)
    rows = drawn.train.tolist() + drawn.val.tolist()
    assert (drawn.train.tolist(), drawn.val.tolist()) == few_shot(labels, shots, seed)
    assert len(rows) == len(set(rows))


def test_drawing_leaves_the_state_of_the_world_alone():
    random.seed(1)
    before = random.getstate()
    sample(LABELS, 1, seed=3)
    assert random.getstate() == before
