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
    said_by = store.response_role[pairs]
    return _alone(store, store.response[pairs], said_by, special, lengths, roles)


def negatives(
    store: Store,
    pairs: np.ndarray,
    special: SpecialTokens,
    lengths: Lengths,
    roles: tuple[int, int, int] | None,
) -> list[np.ndarray]:
    """Return the token ids of all negatives that pairs name, as if each were their response."""
    utterances, owner = named_negatives(store, pairs)
    said_by = store.response_role[pairs[owner]]
    return _alone(store, utterances, said_by, special, lengths, roles)


def named_negatives(store: Store, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the utterances that pairs name as negatives, and which of the pairs names each."""
    starts, sizes = _ranges(store.negative_ends, pairs)
    return store.negatives[spread(starts, sizes)], np.repeat(np.arange(len(pairs)), sizes)


def _alone(
    store: Store,
    utterances: np.ndarray,
    said_by: np.ndarray,
    special: SpecialTokens,
    lengths: Lengths,
    roles: tuple[int, int, int] | None,
) -> list[np.ndarray]:
    """Return the token ids of texts that stand alone; long ones keep their first tokens."""
    return join_turns(
        store.tokens,
        *_ranges(store.token_ends, utterances),
        np.ones(len(utterances), np.int64),
        special,
        max_length=lengths.response,
        newest_N=np.zeros(len(utterances), bool),
        speakers_T=np.asarray(roles)[said_by] if roles else None,
    )


def _ranges(ends: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where some ranges of an `ends` file begin, and how long they are."""
    starts = np.where(which > 0, ends[which - 1], 0)
    return starts, ends[which] - starts
