"""Contexts moved to where their responses lie, in closed form.

InfoNCE's scores tend to the pointwise mutual information of a context and a response (van den Oord
et al. 2018). If their vectors x and y are jointly Gaussian and little correlated, that is, but for
terms of x or y alone,

    (x - mean_x) inverse(S_xx) S_xy inverse(S_yy) yᵀ

so a dot product of a context moved by a matrix, and the response as it is. Nothing is trained: the
covariances of a few thousand pairs tell. Where exchanges do not recur, a response is found by what
it has in common with its context; so how far contexts move is chosen on pairs that were held out.
D dimensions, N pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dialtools.embed.transforms import Affine, Moments
from dialtools.errors import DataError
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted

RIDGE = 5.0
"""Pairs that each direction is given besides the N (in mean square lengths of a vector).

They keep directions that hardly vary from being blown up. Chosen on SGD's held-out responses: 3 is
better from 30,000 pairs, 10 from a thousand, all within a point.
"""
WAYS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""How far contexts may move; of equals the first."""
FEWEST_HELD, MOST_HELD = 10, 10_000
"""Of fewer held-out pairs nothing is known; more tell no more."""
GROWTH, FIRST_ROWS = 1.2, 50
"""Pairs come in blocks, each a fifth longer than the one before, the first of ten.

The last tenth of each is held out: a run, as pairs of a dialogue stand together, and the longer the
more pairs there are; and the same pairs, in whatever parts they come.
"""
CANDIDATES = 100
"""Among so many held-out responses, drawn at random, that of a context is found.

Pairs that do not fill a last hundred tell nothing, if there is another.
"""
UNRELATED = 1e-9
"""Of the largest cross-covariance that the variances allow: below it there is none."""

Part = tuple[np.ndarray, np.ndarray]
"""(N, D) contexts, and (N, D) responses."""


class Choice(NamedTuple):
    """How far contexts move, and what that is worth.

    Attributes:
        way: of 1.
        pairs: held out, that told; 0 if they were too few, and contexts move all of it.
        before: share of them whose response is the nearest of CANDIDATES, as vectors are.
        after: the same, of contexts that are moved.
    """

    way: float
    pairs: int = 0
    before: float = 0.0
    after: float = 0.0

    def __str__(self) -> str:
        if not self.pairs:
            return "to-response: too few pairs to hold some out"
        found = f"{100 * self.before:.1f} -> {100 * self.after:.1f} %"
        candidates = min(CANDIDATES, self.pairs)
        held = f"nearest of {candidates} on {self.pairs:,} held-out pairs"
        return f"to-response: contexts moved {self.way:.0%} of the way, {held}: {found}"


@dataclass
class Sides:
    """Covariances of contexts, of responses, and between both, of pairs that come in parts."""

    contexts: Moments = field(default_factory=Moments)
    responses: Moments = field(default_factory=Moments)
    products: np.ndarray = field(default_factory=lambda: np.zeros(()))

    def add(self, contexts_ND: np.ndarray, responses_ND: np.ndarray) -> None:
        self.contexts.add(contexts_ND)
        self.responses.add(responses_ND)
        self.products = self.products + contexts_ND.astype(np.float64).T @ responses_ND

    def matrix(self) -> np.ndarray:
        """Return what contexts, less their mean, are multiplied by: (D, D).

        Their mean square length stays as it is.

        Raises:
            DataError: if there are no pairs, or contexts tell nothing of responses.
        """
        contexts, n = self.contexts, self.contexts.n
        if not n:
            raise DataError("no pairs to fit to")
        between = self.products - n * np.outer(contexts.mean, self.responses.mean)
        own, other = _ridged(contexts), _ridged(self.responses)
        if np.linalg.norm(between) <= UNRELATED * np.sqrt(np.trace(own) * np.trace(other)):
            raise DataError(f"{counted(n, 'pair')}, whose contexts tell nothing of their responses")
        matrix = np.linalg.solve(other, np.linalg.solve(own, between).T).T
        spread = contexts.scatter()
        return matrix * np.sqrt(np.trace(spread) / np.trace(matrix.T @ spread @ matrix))


def fit_to_response(parts: Iterable[Part], *, seed: int) -> tuple[Affine, Choice]:
    """Return what moves contexts, and how far that is.

    Args:
        seed: of the draw of candidates.

    Raises:
        DataError: if there are no pairs, or contexts tell nothing of responses.
    """
    sides, held = Sides(), list[Part]()
    for rest, out in _apart(parts):
        sides.add(*rest)
        held.append(out)
    choice = _chosen(sides, held, seed) if sum(len(out) for out, _ in held) >= FEWEST_HELD else None
    for out in held:
        sides.add(*out)
    matrix = sides.matrix()
    choice = choice or Choice(WAYS[0])
    return Affine(sides.contexts.mean, _part_of_the_way(matrix, choice.way)), choice


def _apart(parts: Iterable[Part]) -> Iterator[tuple[Part, Part]]:
    """Yield of each part the pairs to learn from, and those that are held out."""
    seen, left = 0, MOST_HELD
    for contexts_ND, responses_ND in parts:
        n = len(contexts_ND)
        block_N = np.log1p(np.arange(seen, seen + n) / FIRST_ROWS) / np.log(GROWTH)
        out_N = block_N % 1 >= 0.9
        out_N &= out_N.cumsum() <= left
        seen, left = seen + n, left - out_N.sum()
        if n:
            yield (
                (contexts_ND[~out_N], responses_ND[~out_N]),
                (contexts_ND[out_N], responses_ND[out_N]),
            )


def _chosen(sides: Sides, held: list[Part], seed: int) -> Choice:
    """Return how far contexts of held-out pairs find most responses (by mean reciprocal rank)."""
    from dialtools.metrics.ranking import block_ranks, reciprocal_rank, top_k

    n = sum(len(out) for out, _ in held)
    order_N = np.random.default_rng(seed).permutation(n)[: n - n % min(CANDIDATES, n)]
    x_ND, y_ND = (np.concatenate(side)[order_N] for side in zip(*held, strict=True))
    matrix, centred_ND, y_ND = sides.matrix(), x_ND - sides.contexts.mean, unit(y_ND)
    ranks = {
        way: block_ranks(unit(centred_ND @ _part_of_the_way(matrix, way)), y_ND, CANDIDATES)
        for way in WAYS
    }
    way = max(WAYS, key=lambda way: float(reciprocal_rank(ranks[way]).mean()))
    found = (block_ranks(unit(x_ND), y_ND, CANDIDATES), ranks[way])
    return Choice(way, len(x_ND), *(float(top_k(ranks_N2, 1).mean()) for ranks_N2 in found))


def _part_of_the_way(matrix: np.ndarray, way: float) -> np.ndarray:
    return way * matrix + (1 - way) * np.eye(len(matrix))


def _ridged(moments: Moments) -> np.ndarray:
    """Return the (D, D) sums of products of vectors less their mean, with RIDGE on the diagonal."""
    length = np.trace(moments.products) / moments.n
    return moments.scatter() + RIDGE * length * np.eye(len(moments.mean))
