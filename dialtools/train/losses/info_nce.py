"""Losses across the two views only: anchors against positives, and negatives that pairs name."""

from __future__ import annotations

from torch import Tensor

from dialtools.train.losses._rows import cross_entropy_of_diagonal, similarity, with_named


def info_nce(
    anchor_ND: Tensor,
    positive_ND: Tensor,
    *,
    temperature: float,
    excluded: Tensor | None = None,
    negative_MD: Tensor | None = None,
) -> Tensor:
    """Let each anchor pick its positive of N, and each positive its anchor (WMDC app. A).

    An anchor picks among the M named, too.

    Returns:
        (N,) the loss of each pair in nats, averaged over its two directions.
    """
    n = len(anchor_ND)
    x = similarity(anchor_ND, with_named(positive_ND, negative_MD), temperature)
    there = cross_entropy_of_diagonal(x, None if excluded is None else excluded[:n, n:])
    back = cross_entropy_of_diagonal(x[:, :n].T, None if excluded is None else excluded[n:, :n])
    return (there + back) / 2


def one_way(
    anchor_ND: Tensor,
    positive_ND: Tensor,
    *,
    temperature: float,
    excluded: Tensor | None = None,
    negative_MD: Tensor | None = None,
) -> Tensor:
    """Let each anchor pick its positive of N (SimCSE; with raw dot products, TOD-BERT).

    Returns:
        (N,) the loss of each pair in nats.
    """
    n = len(anchor_ND)
    x = similarity(anchor_ND, with_named(positive_ND, negative_MD), temperature)
    return cross_entropy_of_diagonal(x, None if excluded is None else excluded[:n, n:])
