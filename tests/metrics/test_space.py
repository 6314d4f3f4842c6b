"""The geometry of a space: four points by hand, and every pair of more."""

from __future__ import annotations

import warnings
from itertools import combinations
from math import exp, log

import numpy as np
import pytest

from dialtools.eval.mixed import mixture
from dialtools.metrics import space
from dialtools.streams.vectors import Embeddings

SQUARE = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], np.float32)
TWO = np.array([0, 0, 1, 1])


def test_four_points_by_hand():
    """Four neighbours at squared distance 2, two opposites at 4; classes of neighbours."""
    assert space.uniformity(SQUARE) == pytest.approx(log((4 * exp(-4) + 2 * exp(-8)) / 6), rel=1e-6)
    assert space.alignment(SQUARE, TWO) == pytest.approx(2)
    assert space.mean_cosine(SQUARE) == pytest.approx(-1 / 3)
    assert space.cosines(SQUARE, TWO) == pytest.approx((0, -1 / 2))
    assert space.effective_rank(SQUARE) == pytest.approx(2)
    assert space.isotropy(SQUARE) == pytest.approx(1)


def test_compression_by_hand():
    """Unit vectors before they are mixed, and not after (TaDSE eq. 5)."""
    part = Embeddings(
        {"text_embedding": np.array([[3.0, 4.0]]), "template_embedding": np.array([[0.0, 2.0]])}
    )
    np.testing.assert_allclose(mixture(part, 0.5), [[0.3, 0.9]])
    np.testing.assert_allclose(mixture(part, 0.2), [[0.48, 0.84]])
    np.testing.assert_allclose(mixture(part, 0), [[0.6, 0.8]])


@pytest.mark.parametrize("block", [2, 7, 2048])
def test_sums_over_blocks_and_classes_are_sums_over_pairs(
    block: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(space, "BLOCK", block)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(23, 5)) + 0.5
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    classes = draw.integers(0, 4, 23)
    pairs = list(combinations(range(23), 2))
    squared = {(i, j): float(((x[i] - x[j]) ** 2).sum()) for i, j in pairs}
    same = [p for p in pairs if classes[p[0]] == classes[p[1]]]
    assert space.uniformity(x) == pytest.approx(
        log(np.mean([exp(-2 * d) for d in squared.values()])), rel=1e-4
    )
    assert space.alignment(x, classes) == pytest.approx(
        np.mean([squared[p] for p in same]), rel=1e-4
    )
    cosine = {p: 1 - d / 2 for p, d in squared.items()}
    by_hand = (
        np.mean([cosine[p] for p in same]),
        np.mean([c for p, c in cosine.items() if p not in same]),
    )
    assert space.cosines(x, classes) == pytest.approx(by_hand, rel=1e-4)
    assert space.mean_cosine(x) == pytest.approx(np.mean(list(cosine.values())), rel=1e-4)


def test_one_direction_is_neither_even_nor_isotropic():
    line = np.tile([[1.0, 0.0, 0.0]], (9, 1)).astype(np.float32)
    assert space.uniformity(line) == pytest.approx(0) and space.effective_rank(line) == 1
    assert space.isotropy(line) == pytest.approx(exp(-2), rel=1e-3)


def test_what_float32_loses_of_a_mean_is_no_direction():
    draw = np.random.default_rng(0)
    one = draw.normal(size=16).astype(np.float32)
    near = space.unit(one + 1e-4 * draw.normal(size=(20_000, 16)).astype(np.float32))
    exact = near.astype(np.float64)
    shares = np.linalg.svd(exact - exact.mean(0), compute_uv=False)
    shares /= shares.sum()
    assert space.effective_rank(near) == pytest.approx(exp(-(shares * np.log(shares)).sum()))
    assert space.effective_rank(near[:1].repeat(20_000, axis=0)) == pytest.approx(1)


def test_what_has_no_pairs_is_no_number():
    assert np.isnan(space.alignment(SQUARE, np.arange(4))) and np.isnan(
        space.uniformity(SQUARE[:1])
    )
    assert np.isnan(space.cosines(SQUARE, np.arange(4))[0]) and np.isnan(
        space.cosines(SQUARE, np.zeros(4, int))[1]
    )


@pytest.mark.parametrize("rows", [40, 4, 3])
def test_effective_rank_and_isotropy_are_those_of_their_papers(rows: int):
    draw = np.random.default_rng(1)
    x = draw.normal(size=(rows, 4)) * [3, 1, 0.5, 0.1] + [2, 0, -2, 1]  # the rank is without a mean
    shares = np.linalg.svd(x - x.mean(0), compute_uv=False)
    shares = shares / shares.sum()
    assert space.effective_rank(x) == pytest.approx(exp(-(shares * np.log(shares)).sum()))
    z = [np.exp(x @ c).sum() for u in np.linalg.eigh(x.T @ x)[1].T for c in (u, -u)]
    assert space.isotropy(x) == pytest.approx(min(z) / max(z))


def test_unit_rows_have_length_one_but_for_zero_ones():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.3, 0.4]])
    assert space.unit(rows).tolist() == [[0.6, 0.8], [0, 0], [0.6, 0.8]]


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e-20, 1.0, 1e20, 1e37])
def test_a_length_that_float32_cannot_square_changes_no_direction(scale: float):
    plain = np.random.default_rng(0).normal(size=(5, 7))
    with warnings.catch_warnings(action="error"):
        scaled = space.unit((plain * scale).astype(np.float32))
    assert np.abs(scaled - space.unit(plain)).max() < (1e-2 if scale == 1e-42 else 1e-6)
