"""Contexts moved to where their responses lie, in closed form.

InfoNCE's scores tend to the pointwise mutual information of a context and a response (van den Oord
et al. 2018). If their vectors x and y are jointly Gaussian and little correlated, that is, but for
terms of x or y alone,

    (x - mean_x) inverse(S_xx) S_xy inverse(S_yy) yᵀ

so a dot product of a context moved by a matrix, and the response as it is. Nothing is trained: the
covariances of a few thousand pairs tell. D dimensions, N pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dialtools.embed.transforms import Affine, Moments
from dialtools.errors import DataError

RIDGE = 5.0
"""Pairs that each direction is given besides the N (in mean square lengths of a vector).

They keep directions that hardly vary from being blown up. Chosen on SGD's held-out responses: 3 is
better from 30,000 pairs, 10 from a thousand, all within a point.
"""
UNRELATED = 1e-9
"""Of the largest cross-covariance that the variances allow: below it there is none."""


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

    def between(self) -> np.ndarray:
        """Return the (D, D) sums of products of both, less their means."""
        return self.products - self.contexts.n * np.outer(self.contexts.mean, self.responses.mean)


def fit_to_response(parts: Iterable[tuple[np.ndarray, np.ndarray]]) -> Affine:
    """Return what moves contexts; their mean square length stays as it is.

    Args:
        parts: (N, D) contexts and (N, D) responses of some of the pairs.

    Raises:
        DataError: if there are no pairs, or contexts tell nothing of responses.
    """
    sides = Sides()
    for contexts_ND, responses_ND in parts:
        if len(contexts_ND):
            sides.add(contexts_ND, responses_ND)
    if not sides.contexts.n:
        raise DataError("no pairs to fit to")
    between = sides.between()
    own, other = (_ridged(moments) for moments in (sides.contexts, sides.responses))
    most = np.sqrt(np.trace(own) * np.trace(other))
    if np.linalg.norm(between) <= UNRELATED * most:
        raise DataError(f"{sides.contexts.n} pairs, whose contexts tell nothing of the responses")
    matrix = np.linalg.solve(own, between)
    matrix = np.linalg.solve(other, matrix.T).T
    spread = sides.contexts.scatter()
    scale = np.sqrt(np.trace(spread) / np.trace(matrix.T @ spread @ matrix))
    return Affine(sides.contexts.mean, scale * matrix)


def _ridged(moments: Moments) -> np.ndarray:
    """Return the (D, D) sums of products of vectors less their mean, with RIDGE on the diagonal."""
    length = np.trace(moments.products) / moments.n
    return moments.scatter() + RIDGE * length * np.eye(len(moments.mean))
