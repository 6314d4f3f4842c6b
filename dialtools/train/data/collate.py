"""Pairs to the token sequences of their sides, all of a batch at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialtools.encoder.tokens import SpecialTokens, join_turns, spread
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
) -> list[np.ndarray]:
    """Return the token ids of each pair's context; long ones keep their newest tokens."""
    starts, turns_N = _ranges(store.turn_ends, pairs)
    turns = spread(starts, turns_N)
    return join_turns(
        store.tokens,
        *_ranges(store.token_ends, store.turns[turns]),
        turns_N,
        special,
        max_length=lengths.context,
        newest_N=np.ones(len(pairs), bool),
        speakers_T=np.asarray(roles)[store.roles[turns]] if roles else None,
    )


def responses(
    store: Store,
    pairs: np.ndarray,
    special: SpecialTokens,
    lengths: Lengths,
    roles: tuple[int, int, int] | None,
) -> list[np.ndarray]:
    """Return the token ids of each pair's response; long ones keep their first tokens."""
    return join_turns(
        store.tokens,
        *_ranges(store.token_ends, store.response[pairs]),
        np.ones(len(pairs), np.int64),
        special,
        max_length=lengths.response,
        newest_N=np.zeros(len(pairs), bool),
        speakers_T=np.asarray(roles)[store.response_role[pairs]] if roles else None,
    )


def _ranges(ends: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where some ranges of an `ends` file begin, and how long they are."""
    starts = np.where(which > 0, ends[which - 1], 0)
    return starts, ends[which] - starts
