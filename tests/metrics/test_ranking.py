"""Ranks, top-k and reciprocal rank, ties included."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.evaluation import truth_first

from dialtools.metrics import TIES
from dialtools.metrics.ranking import (
    average_precision,
    block_ranks,
    first_reciprocal_rank,
    precision_gains,
    ranks,
    reciprocal_rank,
    top_k,
)

# few distinct scores, so that ties are the rule
lists = st.lists(st.integers(0, 3), min_size=1, max_size=6).map(
    lambda values: np.array([values], float)
)


def of(scores: list[float], truth: int = 0) -> np.ndarray:
    return ranks(np.array([scores], float), np.array([truth]))


def test_the_worked_example():
    # the truth (0.5) is beaten by 0.9 and shares its score with one other: ranks 2 and 3 are
    # equally likely
    row = of([0.5, 0.9, 0.5, 0.1])
    assert row.tolist() == [[1, 1]]
    assert [float(top_k(row, k)[0]) for k in (1, 2, 3, 4)] == [0, 0.5, 1, 1]
    assert reciprocal_rank(row)[0] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert [float(top_k(row, 2, ties=t)[0]) for t in TIES] == [0.5, 1, 0]
    assert [float(reciprocal_rank(row, ties=t)[0]) for t in TIES[1:]] == pytest.approx(
        [1 / 2, 1 / 3]
    )


@given(lists, st.data())
def test_the_average_rule_is_the_mean_over_every_order_of_the_tied(
    scores: np.ndarray, data: st.DataObject
):
    truth = data.draw(st.integers(0, scores.shape[1] - 1))
    row = ranks(scores, np.array([truth]))
    for k in (1, 2, 3, 10):
        chance, reciprocal = truth_first(scores[0].tolist(), truth, k)
        assert top_k(row, k)[0] == pytest.approx(chance)
    assert reciprocal_rank(row)[0] == pytest.approx(reciprocal)


@given(lists, st.integers(1, 8))
def test_average_lies_between_pessimistic_and_optimistic(scores: np.ndarray, k: int):
    row = ranks(scores, np.array([0]))
    average, best, worst = (top_k(row, k, ties=t)[0] for t in TIES)
    assert worst <= average <= best
    average, best, worst = (reciprocal_rank(row, ties=t)[0] for t in TIES)
    assert worst - 1e-12 <= average <= best + 1e-12


@given(lists, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(scores: np.ndarray, draw):
    order = list(range(scores.shape[1]))
    draw.shuffle(order)
    shuffled = ranks(scores[:, order], np.array([order.index(0)]))
    assert shuffled.tolist() == ranks(scores, np.array([0])).tolist()


def test_a_constant_encoder_scores_at_chance_not_at_one_hundred_percent():
    row = block_ranks(np.ones((200, 4)), np.ones((200, 4)), 100)
    assert top_k(row, 1).mean() == pytest.approx(0.01)
    assert top_k(row, 10).mean() == pytest.approx(0.10)
    assert reciprocal_rank(row).mean() == pytest.approx(sum(1 / r for r in range(1, 101)) / 100)


def test_candidates_marked_invalid_neither_beat_nor_tie():
    scores = np.array([[0.5, 0.9, 0.5, 0.7]])
    valid = np.array([[True, False, False, True]])
    kept = valid.copy()
    assert ranks(scores, np.array([0]), valid_QC=valid).tolist() == [[1, 0]]
    assert (valid == kept).all(), "the caller's mask is left as it was"


def test_the_truth_counts_even_where_the_mask_leaves_it_out():
    assert ranks(
        np.array([[0.5, 0.4]]), np.array([0]), valid_QC=np.array([[False, True]])
    ).tolist() == [[0, 0]]


def test_blocks_rank_each_response_among_its_own_block_only():
    # identity vectors: each query finds its own response; the second block's are swapped
    queries = np.eye(4)
    responses = np.eye(4)[[0, 1, 3, 2]]
    assert block_ranks(queries, responses, 2).tolist() == [[0, 0], [0, 0], [1, 0], [1, 0]]
    assert block_ranks(queries[:0], responses[:0], 2).shape == (0, 2)


def test_blocks_rank_responses_by_their_scores_with_each_query_equal_texts_left_out():
    draw = np.random.default_rng(2)
    queries, responses = draw.normal(size=(11, 3)), draw.normal(size=(11, 3))
    texts = draw.integers(0, 4, 11)

    def rank(row: int, block: range, same: bool) -> list[int]:
        mine = queries[row] @ responses[row]
        others = [j for j in block if j != row and not (same and texts[j] == texts[row])]
        return [sum(queries[row] @ responses[j] > mine for j in others), 0]

    blocks = [range(i, min(i + 4, 11)) for i in (0, 4, 8)]
    for same in (False, True):
        found = block_ranks(queries, responses, 4, same_N=texts if same else None)
        assert found.tolist() == [rank(row, block, same) for block in blocks for row in block]


LISTS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)


@given(LISTS)
@settings(deadline=None)
def test_map_and_mrr_are_those_of_all_orders_of_equal_scores(lists: list[list[tuple[int, bool]]]):
    """R counts all positives; ties, by going through every order."""
    lists = [[*rows, (1, True)] for rows in lists]
    precision, reciprocal = [], []
    for rows in lists:
        orders = [
            [kind for _, kind in sorted(order, key=lambda row: -row[0])]
            for order in permutations(rows)
        ]
        precision.append(np.mean([slow_average_precision(order) for order in orders]))
        reciprocal.append(np.mean([1 / (order.index(True) + 1) for order in orders]))
    scores, positive = (
        np.asarray(column) for column in zip(*(row for rows in lists for row in rows), strict=True)
    )
    sizes = np.asarray([len(rows) for rows in lists])
    np.testing.assert_allclose(
        average_precision(scores.astype(float), positive, sizes), precision, rtol=1e-12
    )
    np.testing.assert_allclose(
        first_reciprocal_rank(scores.astype(float), positive, sizes), reciprocal, rtol=1e-12
    )


def slow_average_precision(order: list[bool]) -> float:
    hits = [k for k, kind in enumerate(order, 1) if kind]
    return sum(sum(order[:k]) / k for k in hits) / len(hits)


def test_random_order_scores_at_the_published_chance_level():
    """E[AP] = (R-1)/(N-1) + H_N (N-R)/(N(N-1))."""
    n, r = 70, 30
    found = average_precision(np.zeros(n), np.arange(n) < r, np.array([n]))[0]
    harmonic = sum(1 / k for k in range(1, n + 1))
    assert found == pytest.approx((r - 1) / (n - 1) + harmonic * (n - r) / (n * (n - 1)))
    assert found == pytest.approx(0.460, abs=5e-4)


def weighted_precision(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    """Return the average precision of a list whose candidates count as often as their weights."""
    order = np.argsort(-scores)
    weights, found = weights[order], (weights * positive)[order]
    precision = np.cumsum(found) / np.cumsum(weights)
    return float((found * precision).sum() / found.sum())


def test_what_a_candidate_adds_is_the_slope_of_the_average_precision():
    draw = np.random.default_rng(0)
    sizes = np.array([2, 5, 30])
    scores, positive = draw.normal(size=37), draw.random(37) < 0.4
    positive[[0, 2, 7]] = True
    gains, start = precision_gains(scores, positive, sizes), 0
    for size in sizes:
        own, kinds = scores[start : start + size], positive[start : start + size]
        slopes = [
            (weighted_precision(own, kinds, 1 + step) - weighted_precision(own, kinds, 1 - step))
            / 2e-6
            for step in 1e-6 * np.eye(size)
        ]
        np.testing.assert_allclose(gains[start : start + size], slopes, atol=1e-6)
        assert gains[start : start + size].sum() == pytest.approx(0)
        start += size


@given(st.permutations(range(6)), st.lists(st.integers(0, 1), min_size=6, max_size=6))
def test_what_equal_candidates_add_does_not_depend_on_the_order_in_which_they_came(
    order: list[int], scores: list[int]
):
    positive, sizes = np.array([True, False, True, False, False, True]), np.array([6])
    values, order_N = np.array(scores, float), np.array(order)
    found = precision_gains(values, positive, sizes)
    moved = precision_gains(values[order_N], positive[order_N], sizes)
    np.testing.assert_allclose(moved, found[order_N], atol=1e-12)
    assert found.sum() == pytest.approx(0)


def test_where_all_scores_are_equal_another_positive_raises_and_another_negative_lowers():
    positive = np.arange(100) < 30
    found = precision_gains(np.zeros(100), positive, np.array([100]))
    assert (found[positive] > 0).all() and (found[~positive] < 0).all()
    assert len(set(found.round(12))) == 2
