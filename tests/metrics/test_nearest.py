"""Neighbours: those of a stable sort of all scores, of which many are equal."""

from __future__ import annotations

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dialtools.metrics import nearest
from dialtools.metrics.nearest import best_rows, exact_scores, first_equal, nearest_rows

# small whole numbers: products are exact, and ties are the rule
small = st.integers(-1, 1).map(float)
rows = st.integers(1, 12).flatmap(lambda n: arrays(np.float32, (n, 3), elements=small))


@given(rows, rows, st.integers(1, 14), st.integers(1, 12))
def test_neighbours_are_the_first_of_a_stable_sort_whatever_the_block(
    queries: np.ndarray, known: np.ndarray, k: int, block: int
):
    by_score = np.argsort(-(queries @ known.T), axis=1, kind="stable")
    found = nearest_rows(queries, known, k, block=block)
    assert found.tolist() == by_score[:, :k].tolist()


@given(arrays(np.float64, st.integers(1, 20), elements=small), st.integers(1, 25))
def test_the_best_rows_are_the_first_of_a_stable_sort(scores: np.ndarray, count: int):
    assert (
        best_rows(scores, count).tolist()
        == sorted(range(len(scores)), key=lambda row: -scores[row])[:count]
    )


@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_neighbours_are_found_in_many_rows_too(k: int):
    draw = np.random.default_rng(1)
    queries, known = draw.normal(size=(23, 5)), draw.normal(size=(3000, 5))
    assert (nearest_rows(queries, known, k) == np.argsort(-(queries @ known.T))[:, :k]).all()


@pytest.mark.parametrize("k", [1, 20])
def test_neighbours_among_many_rows_take_the_memory_of_some_scores_of_them(k: int):
    draw = np.random.default_rng(2)
    queries, known = draw.integers(-4, 5, (600, 2)), draw.integers(-99, 99, (40_000, 2))
    known = known.astype(np.float32)
    whole = nearest_rows(queries.astype(np.float32), known, k)
    tracemalloc.start()
    with patch.object(nearest, "SCORES_AT_ONCE", 1 << 20):
        found = nearest_rows(queries.astype(np.float32), known, k)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found == whole).all() and most < 16 * 4 * (1 << 20)


def test_rows_are_not_held_twice_to_tell_which_are_equal():
    known = np.random.default_rng(3).random((20_000, 384), np.float32)
    known[7] = known[3]
    tracemalloc.start()
    first = first_equal(known)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.flatnonzero(first != np.arange(len(known))).tolist() == [7] and first[7] == 3
    assert most < known.nbytes / 4


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_equal_rows_tie_where_a_matrix_product_rounds_them_apart(kind: type, k: int):
    draw = np.random.default_rng(4)
    for width in (67, 384):  # a product's last columns are summed in another order
        known = np.repeat(draw.normal(size=(1, width)), 7, 0).astype(kind)
        queries = draw.normal(size=(50, width)).astype(kind)
        assert (nearest_rows(queries, known, k, block=2) == np.arange(k)).all()
        assert (np.ptp(exact_scores(queries[:2], known), axis=1) == 0).all()
