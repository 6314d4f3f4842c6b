"""Response selection during training: 1 of 100, on held-out pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialtools.encoder.encode import encode
from dialtools.metrics.ranking import block_ranks, top_k
from dialtools.metrics.space import unit
from dialtools.train.data.collate import contexts, responses
from dialtools.train.data.store import Store
from dialtools.train.loop import Trainer

BLOCK = 100  # candidates a query, as dial-eval select has them
MOST = 2_000  # pairs: top-1 of them is within about two points of that of all
Side = Callable[..., list[np.ndarray]]


def response_selection(trainer: Trainer, store: Store, pairs: np.ndarray) -> dict[str, float]:
    """Return top-1 and top-3 accuracy in percent of picking the response among 100.

    Args:
        pairs: pairs of the store; the first 2,000 serve, in blocks of 100 (one smaller block if
            there are fewer).
    """
    pairs = pairs[:MOST]
    block = min(BLOCK, len(pairs))
    pairs = pairs[: len(pairs) // block * block]
    anchor_ND = _vectors(trainer, contexts, store, pairs)
    positive_ND = _vectors(trainer, responses, store, pairs)
    ranks = block_ranks(anchor_ND, positive_ND, block)
    return {f"top-{k}": 100 * float(top_k(ranks, k).mean()) for k in (1, 3)}


def validations_left(step: int, total: int, every: int) -> int:
    """Return how often a run validates after a step: at every N-th, and at the last."""
    return total // every - step // every + (total % every > 0) if step < total else 0


def _vectors(trainer: Trainer, side: Side, store: Store, pairs: np.ndarray) -> np.ndarray:
    """Return (P, D) unit vectors of a side of the pairs."""
    setting = trainer.setting
    sequences = side(store, pairs, setting.special, setting.lengths, setting.role_tokens)
    vectors = encode(
        trainer.encoder,
        sequences,
        batch_tokens=setting.max_tokens,
        precision=trainer.precision,
    )
    return unit(vectors)
