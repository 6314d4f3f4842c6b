"""Pairs of one store that are pairs of another: their texts have the same tokens.

U utterances, V tokens of the vocabulary, N pairs.
"""

from __future__ import annotations

import numpy as np

from dialtools.ranges import places_in
from dialtools.train.data.store import Store

AT_ONCE = 1 << 16
"""Utterances whose tokens are held."""


def shared(
    pairs_N: np.ndarray, store: Store, others: np.ndarray, other: Store, *, vocabulary: int
) -> int:
    """Return how many of N pairs of a store are among some of another one's.

    Both stores are of one tokenizer. The order of tokens, and of the turns of a context, is not
    looked at.
    """
    luck_V = np.random.default_rng(0).integers(1 << 63, size=vocabulary, dtype=np.uint64)
    sums_N, every = np.sort(_sums(store, pairs_N, luck_V)), _sums(other, others, luck_V)
    place = np.searchsorted(sums_N, every)  # N are few: to sort all of the others takes seconds
    known = every[np.append(sums_N, sums_N[-1])[place] == every]
    return int(np.count_nonzero(np.isin(sums_N, known)))


def _sums(store: Store, pairs_N: np.ndarray, luck_V: np.ndarray) -> np.ndarray:
    """Return (N,) a number of each pair, the sum of its tokens' numbers, modulo 2^64."""
    bounds = np.concatenate([[0], store.token_ends])
    blocks = (bounds[i : i + AT_ONCE + 1] for i in range(0, len(store.token_ends), AT_ONCE))
    parts = [_of_ranges(luck_V[store.tokens[ends[0] : ends[-1]]], np.diff(ends)) for ends in blocks]
    sums_U = np.concatenate(parts)
    ends = np.asarray(store.turn_ends)[pairs_N]
    sizes_N = np.asarray(store.window)[pairs_N]
    context_N = _of_ranges(sums_U[store.turns[places_in(ends - sizes_N, sizes_N)]], sizes_N)
    return 3 * context_N + sums_U[store.response[pairs_N]]


def _of_ranges(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the sums of ranges that follow one another, modulo 2^64."""
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.diff(total[np.concatenate([[0], np.cumsum(sizes)])])
