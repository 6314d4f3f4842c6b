"""Where the right answer stands among candidates. Q queries, C candidates, D dimensions."""

from __future__ import annotations

import numpy as np


def exact_scores(queries_QD: np.ndarray, candidates_CD: np.ndarray) -> np.ndarray:
    """Return (Q, C) dot products, bit-equal for bit-equal candidates; a matrix product alone does not promise that."""
    first: dict[bytes, int] = {}
    place_C = [first.setdefault(row.tobytes(), i) for i, row in enumerate(np.ascontiguousarray(candidates_CD))]
    return (queries_QD @ candidates_CD.T)[:, place_C]


def ranks(scores_QC: np.ndarray, truth_Q: np.ndarray, *, valid_QC: np.ndarray | None = None) -> np.ndarray:
    """Return (Q, 2) ints: how many candidates beat the truth, and how many others tie with it.

    Args:
        truth_Q: the column of each query's true candidate.
        valid_QC: False where a candidate does not count.
    """
    rows = np.arange(len(scores_QC))
    own_Q1 = scores_QC[rows, truth_Q][:, None]
    counts = np.ones_like(scores_QC, bool) if valid_QC is None else valid_QC.copy()
    counts[rows, truth_Q] = False
    return np.stack([((scores_QC > own_Q1) & counts).sum(1), ((scores_QC == own_Q1) & counts).sum(1)], 1)


def top_k(beaten_tied_Q2: np.ndarray, k: int, *, ties: str = "average") -> np.ndarray:
    """Return (Q,) the chance that the truth is among the first k; ties in random order give a share."""
    beaten, tied = beaten_tied_Q2.T
    if ties == "optimistic":
        return (beaten < k).astype(float)
    if ties == "pessimistic":
        return (beaten + tied < k).astype(float)
    return np.clip((k - beaten) / (tied + 1), 0, 1)


def reciprocal_rank(beaten_tied_Q2: np.ndarray, *, ties: str = "average") -> np.ndarray:
    """Return (Q,) 1/rank, in expectation over random orders of the tied."""
    beaten, tied = beaten_tied_Q2.T
    if ties == "optimistic":
        return 1.0 / (beaten + 1)
    if ties == "pessimistic":
        return 1.0 / (beaten + tied + 1)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, (beaten + tied).max(initial=0) + 2))])
    return (harmonic[beaten + tied + 1] - harmonic[beaten]) / (tied + 1)


def block_ranks(queries_ND: np.ndarray, responses_ND: np.ndarray, block: int) -> np.ndarray:
    """Return (N, 2) ranks of each response among those of its block of consecutive rows; N is a multiple of `block`."""
    parts = []
    for start in range(0, len(queries_ND), block):
        rows = slice(start, start + block)
        parts.append(ranks(exact_scores(queries_ND[rows], responses_ND[rows]), np.arange(len(queries_ND[rows]))))
    return np.concatenate(parts) if parts else np.zeros((0, 2), np.int64)
