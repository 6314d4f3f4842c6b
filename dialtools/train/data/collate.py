"""Pairs to the token sequences of their sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dialtools.encoder.tokens import SpecialTokens, assemble
from dialtools.train.data.store import Store


@dataclass(frozen=True)
class Lengths:
    """Tokens of a context and of a response at most."""

    context: int
    response: int


def contexts(
    store: Store,
    pairs: np.ndarray,
    special: SpecialTokens,
    lengths: Lengths,
    roles: tuple[int, int, int] | None,
) -> Iterator[np.ndarray]:
    """Yield the token ids of each pair's context; long ones keep their newest tokens."""
    for pair in pairs:
        where = store.context(int(pair))
        turns = [store.utterance(int(t)) for t in store.turns[where]]
        spoken = [roles[r] for r in store.roles[where]] if roles else None
        yield assemble(turns, special, max_length=lengths.context, newest=True, roles=spoken)[0]


def responses(
    store: Store,
    pairs: np.ndarray,
    special: SpecialTokens,
    lengths: Lengths,
    roles: tuple[int, int, int] | None,
) -> Iterator[np.ndarray]:
    """Yield the token ids of each pair's response; long ones keep their first tokens."""
    for pair in pairs:
        spoken = [roles[store.response_role[pair]]] if roles else None
        turn = store.utterance(int(store.response[pair]))
        yield assemble([turn], special, max_length=lengths.response, newest=False, roles=spoken)[0]
