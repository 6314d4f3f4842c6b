"""What a model scores on validation pairs as it trains: response selection, and its space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialtools.errors import DataError
from dialtools.metrics.ranking import block_ranks, top_k, without_rivals
from dialtools.metrics.space import pair_alignment, uniformity
from dialtools.streams.tally import counted
from dialtools.train.center import take_center, vectors
from dialtools.train.data.collate import contexts, responses
from dialtools.train.data.store import Store
from dialtools.train.draws import generator
from dialtools.train.loop import Trainer

BLOCK = 100  # candidates a query, as dial-eval select has them
MOST = 2_000  # pairs: top-1 of them is within about two points of that of all
TOP = (1, 3, 10)
SPACE = {"alignment": "validation_alignment", "uniformity": "validation_uniformity"}
"""What is measured of the space, and its name in the log: a batch has figures of these names."""
TOLD = {"top-1": " %", "top-10": " %", **dict.fromkeys(SPACE.values(), "")}
"""The scores that the user is told, and their units."""


def drawn(pairs: np.ndarray) -> np.ndarray:
    """Return the pairs that serve: 2,000 in blocks of 100, or one smaller block of fewer.

    They are drawn, alike for all seeds: of neighbours in a dialogue one's response is another's
    context, and nearer to it than what follows.
    """
    pairs = pairs[generator(0, 0, stream=0).permutation(len(pairs))][:MOST]
    block = min(BLOCK, len(pairs))
    return pairs[: len(pairs) // block * block]


def asked(store: Store, pairs: np.ndarray) -> np.ndarray:
    """Return the drawn pairs without those whose block has no other response to pick.

    Raises:
        DataError: if no pair is left.
    """
    pairs = drawn(pairs)
    pairs = pairs[~without_rivals(store.response[pairs], BLOCK)]
    if not len(pairs):
        raise DataError("all validation pairs have one response: there is nothing to select")
    return pairs


def validation_scores(trainer: Trainer, store: Store, pairs: np.ndarray) -> dict[str, float]:
    """Return scores by name on drawn pairs of a store.

    Response selection is top-1, top-3 and top-10 accuracy in percent of picking the response among
    those of a block, of which other copies of it do not count; alignment and uniformity are of unit
    vectors, of contexts and responses.
    """
    take_center(trainer)
    anchor_ND = vectors(trainer, contexts, store, pairs)
    positive_ND = vectors(trainer, responses, store, pairs)
    ranks = block_ranks(anchor_ND, positive_ND, BLOCK, same_N=store.response[pairs])
    return {
        **{f"top-{k}": 100 * float(top_k(ranks, k).mean()) for k in TOP},
        SPACE["alignment"]: pair_alignment(anchor_ND, positive_ND),
        SPACE["uniformity"]: uniformity(np.concatenate([anchor_ND, positive_ND])),
    }


def rank_of(scores: Mapping[str, float]) -> tuple[float, ...]:
    """Return what is higher of better scores: top-1 first; of equal ones the others tell."""
    return tuple(scores.get(f"top-{k}", -1.0) for k in TOP)


@dataclass
class Validation:
    """Validation pairs, and what the model scored on them.

    Attributes:
        store, pairs: the pairs that serve.
        before: scores of the start, by name.
        after: scores of what would be saved; of the best so far where that is saved.
    """

    store: Store
    pairs: np.ndarray
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)

    @property
    def fell(self) -> bool:
        """Whether what would be saved selects responses less often than the start did."""
        return bool(self.after) and self.after["top-1"] < self.before["top-1"]

    def facts(self) -> dict[str, Any]:
        """Return what a model tells of them."""
        size = {"pairs": len(self.pairs), "candidates": min(BLOCK, len(self.pairs))}
        return {**size, "before": self.before, "after": self.after or self.before}

    def __str__(self) -> str:
        facts = self.facts()
        told = (
            f"{name.removeprefix('validation_')} {told_score(facts['before'][name])} -> "
            f"{told_score(facts['after'][name])}{unit}"
            for name, unit in TOLD.items()
        )
        pairs = counted(facts["pairs"], "validation pair")
        return f"{pairs}, 1 of {facts['candidates']}, before -> after: {', '.join(told)}"


def told_score(value: float) -> str:
    """Return a score as it is told: a percentage with a decimal, a small number with two."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def validations_left(step: int, total: int, every: int) -> int:
    """Return how often a run validates after a step: at every N-th, and at the last."""
    return total // every - step // every + (total % every > 0) if step < total else 0
