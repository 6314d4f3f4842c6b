"""Response selection during training: 1 of 100, on held-out pairs."""

from __future__ import annotations

import numpy as np

from dialtools.encoder.encode import encode
from dialtools.metrics.ranking import block_ranks, top_k
from dialtools.metrics.space import unit
from dialtools.train.data.collate import contexts, responses
from dialtools.train.data.store import Store
from dialtools.train.loop import Trainer

BLOCK = 100
MOST = 2_000


def response_selection(trainer: Trainer, store: Store, pairs: np.ndarray) -> dict[str, float]:
    """Return top-1 and top-3 accuracy in percent of picking the response among 100.

    Args:
        pairs: pairs of the store; the first 2,000 serve, in blocks of 100 (one smaller block if
        there are fewer).
    """
    pairs = pairs[: min(MOST, len(pairs))]
    block = min(BLOCK, len(pairs))
    pairs = pairs[: len(pairs) // block * block]
    sides, about = [], trainer.setting
    for side in (contexts, responses):
        sequences = list(side(store, pairs, about.special, about.lengths, about.role_tokens))
        sides.append(
            unit(
                encode(
                    trainer.encoder,
                    sequences,
                    batch_tokens=about.max_tokens,
                    precision=trainer.precision,
                )
            )
        )
    ranks = block_ranks(sides[0], sides[1], block)
    return {f"top-{k}": 100 * float(top_k(ranks, k).mean()) for k in (1, 3)}
