"""The shape of a space of N unit vectors, D dimensions, K classes (TaDSE app. D)."""

from __future__ import annotations

import math

import numpy as np

from dialtools.ranges import sums_of

SHORT, LONG = 1e-15, 1e15
"""Lengths between which a float32 holds the square of a row's largest number, and of its sum."""
BLOCK = 2048
"""Rows whose kernel with all others is held at once: memory grows with N, not with its square."""


def unit(vectors_ND: np.ndarray) -> np.ndarray:
    """Return rows scaled to length 1; a zero row stays zero."""
    with np.errstate(over="ignore"):
        norms_N1 = np.linalg.norm(vectors_ND, axis=1, keepdims=True)
    odd_N = ((norms_N1 < SHORT) | (norms_N1 > LONG))[:, 0]
    if odd_N.any():  # squares of float32 vanish or overflow, of the largest of a row they do not
        vectors_ND, norms_N1 = np.array(vectors_ND), norms_N1.copy()
        largest_K1 = np.abs(vectors_ND[odd_N]).max(axis=1, keepdims=True)
        vectors_ND[odd_N] /= np.where(largest_K1 > 0, largest_K1, 1)
        norms_N1[odd_N] = np.linalg.norm(vectors_ND[odd_N], axis=1, keepdims=True)
    return vectors_ND / np.where(norms_N1 > 0, norms_N1, 1)


def uniformity(vectors_ND: np.ndarray, t: float = 2.0) -> float:
    """Return log of the mean of exp(-t |x - y|^2) over pairs of rows; lower is more even."""
    n, total = len(vectors_ND), 0.0
    if n < 2:
        return math.nan
    squares_N = (vectors_ND**2).sum(1)  # 1, but for rows of zeros
    for start in range(0, n, BLOCK):
        part = vectors_ND[start : start + BLOCK]
        lengths = squares_N[start : start + BLOCK, None] + squares_N[start:]
        kernel = np.exp(-t * (lengths - 2 * (part @ vectors_ND[start:].T)).clip(min=0))
        within, rest = kernel[:, : len(part)], kernel[:, len(part) :]
        total += float(within.sum() - within.diagonal().sum()) / 2 + float(rest.sum())
    return math.log(total / (n * (n - 1) / 2))


def pair_alignment(anchor_ND: np.ndarray, positive_ND: np.ndarray) -> float:
    """Return the mean of |x - y|^2 over partners; lower is closer."""
    return float(((anchor_ND - positive_ND) ** 2).sum(1).mean())


def alignment(vectors_ND: np.ndarray, classes_N: np.ndarray) -> float:
    """Return the mean of |x - y|^2 over all pairs of one class; lower is closer."""
    sums, sizes = _sums(vectors_ND, classes_N)
    pairs = (sizes * (sizes - 1)).sum() / 2
    lengths = np.bincount(classes_N, (vectors_ND.astype(np.float64) ** 2).sum(1), len(sizes))
    return float((sizes * lengths - (sums**2).sum(1)).sum() / pairs) if pairs else math.nan


def mean_cosine(vectors_ND: np.ndarray) -> float:
    """Return the mean cosine over all pairs."""
    return cosines(vectors_ND, np.zeros(len(vectors_ND), np.int64))[0]


def cosines(vectors_ND: np.ndarray, classes_N: np.ndarray) -> tuple[float, float]:
    """Return the mean cosine over pairs of one class, and over pairs of two."""
    n = len(vectors_ND)
    # of sums over pairs, those of a row with itself are taken off
    squares = float((vectors_ND.astype(np.float64) ** 2).sum())
    total = float((vectors_ND.sum(0, dtype=np.float64) ** 2).sum()) - squares
    sums, sizes = _sums(vectors_ND, classes_N)
    inside = float((sums**2).sum()) - squares
    pairs = float((sizes * (sizes - 1)).sum())
    return _ratio(inside, pairs), _ratio(total - inside, n * (n - 1) - pairs)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def effective_rank(vectors_ND: np.ndarray) -> float:
    """Return exp of the entropy of the singular values: D if all directions matter alike.

    Of the centred vectors (Roy and Vetterli 2007).
    """
    exact_ND = vectors_ND.astype(np.float64)  # what float32 loses of a mean is a direction, too
    exact_ND -= exact_ND.mean(0)
    few = exact_ND @ exact_ND.T if len(exact_ND) < exact_ND.shape[1] else exact_ND.T @ exact_ND
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(few), 0))  # but for some that are 0
    if values.sum() <= 0:
        return 1.0
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def isotropy(vectors_ND: np.ndarray) -> float:
    """Return min Z(c) / max Z(c): 1 is the same in all directions (Mu and Viswanath 2018).

    Z(c) is the sum of exp(c.x), c an eigenvector of X'X or its opposite. Where there are more
    dimensions than rows, some are at right angles to all rows, and Z(c) = N.
    """
    exact_ND = vectors_ND.astype(np.float64)
    n, d = exact_ND.shape
    if n < d:
        u, values, _ = np.linalg.svd(exact_ND, full_matrices=False)
        along = np.hstack([u * values, np.zeros((n, 1))])
    else:
        along = exact_ND @ np.linalg.eigh(exact_ND.T @ exact_ND)[1]
    partition = np.concatenate([np.exp(along).sum(0), np.exp(-along).sum(0)])
    return float(partition.min() / partition.max())


def _sums(vectors_ND: np.ndarray, classes_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (K, D) sums and (K,) sizes of the classes."""
    return sums_of(vectors_ND, classes_N), np.bincount(classes_N).astype(np.float64)
