"""Where the right answer stands among candidates. Q queries, C candidates, D dimensions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dialtools.metrics.nearest import exact_scores
from dialtools.ranges import starts_of

TOP = (1, 3, 5, 10)


def ranks(
    scores_QC: np.ndarray, truth_Q: np.ndarray, *, valid_QC: np.ndarray | None = None
) -> np.ndarray:
    """Return (Q, 2) ints: how many candidates beat the truth, and how many others tie with it.

    Args:
        truth_Q: the column of each query's true candidate.
        valid_QC: False where a candidate does not count.
    """
    rows = np.arange(len(scores_QC))
    truth_Q1 = scores_QC[rows, truth_Q][:, None]
    counts = np.ones_like(scores_QC, bool) if valid_QC is None else valid_QC.copy()
    counts[rows, truth_Q] = False
    beaten_by_Q = ((scores_QC > truth_Q1) & counts).sum(1)
    tied_Q = ((scores_QC == truth_Q1) & counts).sum(1)
    return np.stack([beaten_by_Q, tied_Q], 1)


def top_k(beaten_tied_Q2: np.ndarray, k: int, *, ties: str = "average") -> np.ndarray:
    """Return (Q,) the chance that the truth is among the first k, ties in random order."""
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
    most = int((beaten + tied).max(initial=0))
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, most + 2))])
    return (harmonic[beaten + tied + 1] - harmonic[beaten]) / (tied + 1)


def selection(beaten_tied_Q2: np.ndarray, *, ties: str = "average") -> dict[str, np.ndarray]:
    """Return (Q,) top-1/3/5/10 and the reciprocal rank of each query, by name."""
    first = {f"top-{k}": top_k(beaten_tied_Q2, k, ties=ties) for k in TOP}
    return first | {"mrr": reciprocal_rank(beaten_tied_Q2, ties=ties)}


def block_ranks(
    queries_ND: np.ndarray,
    responses_ND: np.ndarray,
    block: int,
    *,
    same_N: np.ndarray | None = None,
) -> np.ndarray:
    """Return (N, 2) ranks of each response among those of its block of consecutive rows.

    The last block may be shorter.

    Args:
        same_N: an integer for each distinct response; those equal to the true one do not count.
    """
    parts: list[np.ndarray] = []
    for start in range(0, len(queries_ND), block):
        rows = slice(start, start + block)
        valid = None if same_N is None else same_N[rows, None] != same_N[None, rows]
        scores_QC = exact_scores(queries_ND[rows], responses_ND[rows])
        parts.append(ranks(scores_QC, np.arange(len(scores_QC)), valid_QC=valid))
    return np.concatenate(parts) if parts else np.zeros((0, 2), np.int64)


def without_rivals(text_N: np.ndarray, block: int) -> np.ndarray:
    """Return (N,) bool: whether all responses of a row's block are one, so that none is picked.

    Args:
        text_N: an integer for each distinct response.
    """
    starts = np.arange(0, len(text_N), block)
    alike = np.minimum.reduceat(text_N, starts) == np.maximum.reduceat(text_N, starts)
    return np.repeat(alike, block)[: len(text_N)]


def average_precision(scores: np.ndarray, positive: np.ndarray, sizes_Q: np.ndarray) -> np.ndarray:
    """Return (Q,) average precision over ragged lists, equal scores in random order.

    AP = 1/R sum over the ranks k of positives of (positives among the first k)/k, R all positives
    of the list. Where t equal scores with p positives follow a candidates with P
    positives, rank a+j is positive with chance p/t, and then 1 + (j-1)(p-1)/(t-1) of the first j
    are expected to be.

    Args:
        scores, positive: (sum of sizes,) each list's candidates, one list after the other.
        sizes_Q: lengths of the lists; each has a positive.
    """
    t = _tied(scores, positive, sizes_Q)
    together = (t.size - 1 > 0) * (t.place - 1) * (t.positives - 1) / np.maximum(t.size - 1, 1)
    gain = t.positives / t.size * (t.positives_before + 1 + together) / (t.before + t.place)
    starts = starts_of(sizes_Q)
    return np.add.reduceat(gain, starts) / np.add.reduceat(positive.astype(np.float64), starts)


def first_reciprocal_rank(
    scores: np.ndarray, positive: np.ndarray, sizes_Q: np.ndarray
) -> np.ndarray:
    """Return (Q,) 1/rank of the first positive of ragged lists, equal scores in random order.

    Arguments as above.

    Among t equal scores with p positives the first of them stands at place j with chance C(t-j,
    p-1) / C(t, p).
    """
    t = _tied(scores, positive, sizes_Q)
    possible = (t.positives_before == 0) & (t.positives > 0) & (t.place <= t.size - t.positives + 1)
    gain = np.zeros(len(scores))
    n = t.size[possible]
    p = t.positives[possible]
    j = t.place[possible]
    log_chance = _log_choose(n - j, p - 1) - _log_choose(n, p)
    gain[possible] = np.exp(log_chance) / (t.before[possible] + j)
    return np.add.reduceat(gain, starts_of(sizes_Q))


def precision_gains(scores: np.ndarray, positive: np.ndarray, sizes_Q: np.ndarray) -> np.ndarray:
    """Return (sum of sizes,) by how much each candidate raises the average precision of its list.

    To first order: the derivative by how often the candidate counts. Those of a list sum to 0.
    Arguments as above; of equal scores the positives, and the negatives, share their gains, which
    are the mean of those with positives first and with negatives first.
    """
    query = np.repeat(np.arange(len(sizes_Q)), sizes_Q)
    gains = np.zeros(len(scores))
    for kind in (positive, ~positive):
        order = np.lexsort((kind, -scores, query))
        gains[order] += _gains_in_order(positive[order], query, sizes_Q) / 2
    order = np.lexsort((positive, -scores, query))
    ordered = np.stack([query, scores[order], positive[order]])
    begins = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(0))[: len(scores)]
    group = np.cumsum(begins) - 1
    means = np.bincount(group, gains[order]) / np.bincount(group)
    gains[order] = means[group]
    return gains


def _gains_in_order(positive: np.ndarray, query: np.ndarray, sizes_Q: np.ndarray) -> np.ndarray:
    """Return the gains of candidates that stand in their order, list after list."""
    starts = starts_of(sizes_Q)
    place = np.arange(len(query)) - starts[query] + 1
    is_positive = positive.astype(np.float64)
    found = np.cumsum(is_positive)
    found -= (found - is_positive)[starts][query]
    precision = found / place
    of_list = np.add.reduceat(is_positive, starts)
    mean = np.add.reduceat(is_positive * precision, starts) / of_list
    own = is_positive * (precision - mean[query] + _from_here(is_positive / place, starts, query))
    return (own - _from_here(is_positive * precision / place, starts, query)) / of_list[query]


def _from_here(values: np.ndarray, starts: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return the sum of each value and those behind it in its list."""
    sums = np.cumsum(values)
    before = sums - values
    return (before[starts] + np.add.reduceat(values, starts))[query] - before


class _Ties(NamedTuple):
    """What stands before each candidate's equals in its list, and how many they are."""

    before: np.ndarray
    positives_before: np.ndarray
    size: np.ndarray
    positives: np.ndarray
    place: np.ndarray


def _tied(scores: np.ndarray, positive: np.ndarray, sizes_Q: np.ndarray) -> _Ties:
    query = np.repeat(np.arange(len(sizes_Q)), sizes_Q)
    order = np.lexsort((-scores, query))
    ordered, relevant = scores[order], positive[order].astype(np.int64)
    begins = np.ones(len(scores), bool)
    begins[1:] = (query[1:] != query[:-1]) | (ordered[1:] != ordered[:-1])
    group = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    sums = np.concatenate([[0], np.cumsum(relevant)])
    starts = starts_of(sizes_Q)[query]
    size = np.diff(first, append=len(scores))
    positives = np.add.reduceat(relevant, first)
    return _Ties(
        before=first[group] - starts,
        positives_before=sums[first[group]] - sums[starts],
        size=size[group],
        positives=positives[group],
        place=np.arange(len(scores)) - first[group] + 1,
    )


def _log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    from scipy.special import gammaln

    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
