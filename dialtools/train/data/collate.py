"""Pairs to the token sequences of their sides, all of a batch at once.

N pairs, T turns of them all, in order; a piece is what lies between two cuts of a flat array.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialtools.encoder.tokens import SpecialTokens
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
    starts, sizes = ranges_of(store.turn_ends, pairs)
    turns = spread(starts, sizes)
    spoken = np.asarray(roles)[store.roles[turns]] if roles else None
    return _sequences(
        store,
        store.turns[turns],
        sizes,
        spoken,
        special,
        max_length=lengths.context,
        newest=True,
    )


def responses(
    store: Store,
    pairs: np.ndarray,
    special: SpecialTokens,
    lengths: Lengths,
    roles: tuple[int, int, int] | None,
) -> list[np.ndarray]:
    """Return the token ids of each pair's response; long ones keep their first tokens."""
    spoken = np.asarray(roles)[store.response_role[pairs]] if roles else None
    return _sequences(
        store,
        store.response[pairs],
        np.ones(len(pairs), np.int64),
        spoken,
        special,
        max_length=lengths.response,
        newest=False,
    )


def _sequences(
    store: Store,
    turns: np.ndarray,
    sizes_N: np.ndarray,
    spoken: np.ndarray | None,
    special: SpecialTokens,
    *,
    max_length: int,
    newest: bool,
) -> list[np.ndarray]:
    """Return what `assemble` makes of the turns of each pair.

    Args:
        turns: (T,) utterances.
        sizes_N: turns of each pair.
        spoken: (T,) the token of who speaks, before each turn, in place of separators.
    """
    first = np.zeros(len(turns), bool)
    first[np.cumsum(sizes_N) - sizes_N] = True
    if spoken is None:
        lead_sizes = np.where(first, 0, len(special.separator))
        leads = np.tile(special.separator, len(turns) - len(sizes_N))
    else:
        lead_sizes, leads = np.ones(len(turns), np.int64), spoken
    room = max(max_length - len(special.prefix) - len(special.suffix), 1)
    starts, whole_sizes = ranges_of(store.token_ends, turns)
    token_sizes = np.minimum(whole_sizes, room)  # more of a turn is cut whatever stands around it
    starts = starts + newest * (whole_sizes - token_sizes)

    turn_sizes = lead_sizes + token_sizes
    ends = np.cumsum(turn_sizes)
    body = np.empty(ends[-1], np.int32)
    body[spread(ends - turn_sizes, lead_sizes)] = leads
    body[spread(ends - token_sizes, token_sizes)] = store.tokens[spread(starts, token_sizes)]

    body_ends = ends[np.cumsum(sizes_N) - 1]
    body_sizes = np.diff(body_ends, prepend=0)
    kept = np.minimum(body_sizes, room)
    begin = body_ends - (kept if newest else body_sizes)
    return _dressed(body[spread(begin, kept)], kept, special)


def _dressed(body: np.ndarray, sizes_N: np.ndarray, special: SpecialTokens) -> list[np.ndarray]:
    """Return each piece of `body` between prefix and suffix."""
    before, after = len(special.prefix), len(special.suffix)
    ends = np.cumsum(sizes_N + before + after)
    whole = np.empty(ends[-1], np.int32)
    begin = ends - sizes_N - before - after
    whole[(begin[:, None] + np.arange(before)).ravel()] = np.tile(special.prefix, len(sizes_N))
    whole[spread(begin + before, sizes_N)] = body
    last = (ends - after)[:, None] + np.arange(after)
    whole[last.ravel()] = np.tile(special.suffix, len(sizes_N))
    return np.split(whole, ends[:-1])


def ranges_of(ends: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where some ranges of an `ends` file begin, and how long they are."""
    starts = np.where(which > 0, ends[which - 1], 0)
    return starts, ends[which] - starts


def spread(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the places in all ranges, one range behind the other."""
    before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - before, sizes)
