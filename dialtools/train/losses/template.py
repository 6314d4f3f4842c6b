"""TaDSE: utterances, their templates, and templates against utterances (equations 1 to 4)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dialtools.train.losses.info_nce import one_way


class Views(NamedTuple):
    """Two dropout passes of N utterances and of their templates, (N, D) unit vectors each."""

    utterance: Tensor
    utterance_again: Tensor
    template: Tensor
    template_again: Tensor


class Terms(NamedTuple):
    """A number for each of the three losses: temperatures, or their shares (lambda)."""

    utterance: float
    template: float
    pair: float


class Same(NamedTuple):
    """(N, N) bool: which rows have one utterance, and which have one template."""

    utterance: Tensor
    template: Tensor


def template_losses(
    views: Views,
    *,
    temperature: Terms,
    share: Terms,
    negatives: str,
    same: Same | None = None,
) -> Tensor:
    """L = lambda_u L^u + lambda_t L^t + lambda_pair L^pair (equation 4).

    L^u (eq. 1) contrasts the passes of utterances, L^t (eq. 2) those of templates, each one way as
    SimCSE does. L^pair (eq. 3) lets a template pick its utterance among those of the batch; with
    `negatives="templates"` an utterance picks its template, with "both" the two are averaged.

    Args:
        same: rows of one utterance are no negatives of each other in L^u, those of one template in
        L^t, and neither in L^pair. None: they are, as published.

    Returns:
        (N,) in nats.
    """
    u, u_again, t, t_again = views
    utterance, template, either = _excluded(same)
    total = u.new_zeros(len(u))
    if share.utterance:
        utterances = one_way(u, u_again, temperature=temperature.utterance, excluded=utterance)
        total = total + share.utterance * utterances
    if share.template:
        templates = one_way(t, t_again, temperature=temperature.template, excluded=template)
        total = total + share.template * templates
    if share.pair:
        picks = {"utterances": [(t, u)], "templates": [(u, t)], "both": [(t, u), (u, t)]}
        ways = [
            one_way(picker, picked, temperature=temperature.pair, excluded=either)
            for picker, picked in picks[negatives]
        ]
        total = total + share.pair * torch.stack(ways).mean(0)
    return total


def _excluded(same: Same | None) -> list[Tensor | None]:
    """Return (2N, 2N) bool of rows of one utterance, of one template, of either; or nothing."""
    if same is None:
        return [None] * 3
    return [mask.repeat(2, 2) for mask in (*same, same.utterance | same.template)]
