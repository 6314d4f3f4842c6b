"""Responses seen through a context (DialogueCSE 4.1-4.3), without the matching matrices.

N contexts of C turns, J responses of T tokens, D dimensions. With U the tokens of a turn and R
those of a response,

    M = U Rᵀ / √d,   refined = M R,   s = Σ_a U[a],
    refined, pooled over its rows: Σ_a U[a] Rᵀ R / √d = (Rᵀ R) s / √d

so that the sums s of the turns are all that is needed of a context: one product with the tokens of
a response instead of a matrix for each turn, exact for the mean over turns (I2) and for one weight
a turn (I1).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Weigh = Callable[[Tensor], Tensor]
SHARED = "jtd,ncd->jtnc", "jtd,jtnc->njcd"
OWN = "njtd,ncd->njtc", "njtd,njtc->njcd"
"""Tokens of responses with turns, then with what comes of that."""


def similarities(
    turn_sums_NCD: Tensor, turn_sizes_NC: Tensor, responses: Tensor, weigh: Weigh | None = None
) -> Tensor:
    """Return (N, J): how like itself each response is when seen through each context.

    Args:
        turn_sums_NCD: sums over the tokens of each turn; 0 for a turn that is missing.
        turn_sizes_NC: tokens of each turn, 0 for a missing one.
        responses: (J, T, D) tokens of the responses, padded with zeros; (N, J, T, D) where each
            context has its own.
        weigh: from (..., C, D) mean-pooled refined turns to (..., C) scores, softmax over which
            weighs the turns (I1); without it, turns weigh alike (I2).
    """
    turns = turn_sums_NCD if weigh else turn_sums_NCD.sum(1, keepdim=True)
    seen, refined = OWN if responses.dim() == 4 else SHARED
    through = torch.einsum(seen, responses, turns)
    refined_NJCD = torch.einsum(refined, responses, through)
    return _cosine(refined_NJCD, turn_sizes_NC[:, None], responses.sum(-2), weigh)


def _cosine(refined: Tensor, sizes: Tensor, response: Tensor, weigh: Weigh | None) -> Tensor:
    """Return the cosine of each response's sum with its refined turns, weighed and summed.

    Args:
        refined: (..., C, D).
        sizes: (..., C) tokens of the turns, 0 for a missing one.
        response: (..., D).
    """
    if weigh:
        pooled = refined / (refined.shape[-1] ** 0.5 * sizes.clamp(min=1)[..., None])
        scores = weigh(pooled).masked_fill(sizes == 0, float("-inf"))
        has_turns = (sizes > 0).any(-1, keepdim=True)
        scores = torch.where(has_turns, scores, 0.0)  # else softmax would be of -inf alone: NaN
        refined = refined * scores.softmax(-1)[..., None]
    return nn.functional.cosine_similarity(refined.sum(-2), response, dim=-1)


def pick_response(
    similarity_NK: Tensor, truth_N: Tensor, *, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return (N,) nats, -log softmax of the true response over its candidates (DialogueCSE 4.4).

    And (N,) whether it is the first of them.

    Args:
        truth_N: the column of the true response.
        excluded: (N, K) bool, True where a candidate is no negative.
    """
    logits = similarity_NK.float() / temperature
    if excluded is not None:
        true = nn.functional.one_hot(truth_N, logits.shape[1]).bool()
        logits = logits.masked_fill(excluded & ~true, float("-inf"))
    losses = nn.functional.cross_entropy(logits, truth_N, reduction="none")
    return losses, logits.argmax(1) == truth_N
