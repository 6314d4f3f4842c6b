"""Pairs to the token sequences of their sides, all of a batch at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dialtools.encoder.tokens import SpecialTokens, join_turns
from dialtools.ranges import places_in
from dialtools.train.data.store import Store


@dataclass(frozen=True)
class Lengths:
    """Tokens of a context and of a response at most."""

    context: int
    response: int


class Joining(NamedTuple):
    """How texts become sequences of tokens.

    Attributes:
        roles: with speaker tokens, the id for an unknown, a user's and a system's turn.
    """

    special: SpecialTokens
    lengths: Lengths
    roles: tuple[int, int, int] | None = None

    def speakers(self, who: np.ndarray) -> np.ndarray | None:
        """Return the speaker tokens of turns, if there are such."""
        return np.asarray(self.roles)[who] if self.roles else None


def contexts(
    store: Store, pairs: np.ndarray, joining: Joining, *, turns: int | None = None
) -> list[np.ndarray]:
    """Return the token ids of each pair's context.

    A long one of several turns keeps its newest tokens, of one turn its first (as in `dial-embed`).

    Args:
        turns: so many at most, the newest; None is all.
    """
    starts, whole_N = _ranges(store.turn_ends, pairs)
    turns_N = whole_N if turns is None else np.minimum(whole_N, turns)
    places = places_in(starts + whole_N - turns_N, turns_N)
    return join_turns(
        store.tokens,
        *_ranges(store.token_ends, store.turns[places]),
        turns_N,
        joining.special,
        max_length=joining.lengths.context,
        newest_N=turns_N > 1,
        speakers_T=joining.speakers(store.roles[places]),
    )


def responses(store: Store, pairs: np.ndarray, joining: Joining) -> list[np.ndarray]:
    """Return the token ids of each pair's response; long ones keep their first tokens."""
    return alone(store, store.response[pairs], joining, said_by=store.response_role[pairs])


def negatives(store: Store, pairs: np.ndarray, joining: Joining) -> list[np.ndarray]:
    """Return the token ids of all negatives that pairs name, as if each were their response."""
    utterances, owner = named_negatives(store, pairs)
    return alone(store, utterances, joining, said_by=store.response_role[pairs[owner]])


def named_negatives(store: Store, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the utterances that pairs name as negatives, and which of the pairs names each."""
    starts, sizes = _ranges(store.negative_ends, pairs)
    return store.negatives[places_in(starts, sizes)], np.repeat(np.arange(len(pairs)), sizes)


def utterances(store: Store, pairs: np.ndarray) -> np.ndarray:
    """Return the distinct utterances of pairs, of contexts and of responses, as they came."""
    turns = store.turns[places_in(*_ranges(store.turn_ends, pairs))]
    return np.unique(np.concatenate([turns, store.response[pairs]]))


def alone(
    store: Store, utterances: np.ndarray, joining: Joining, *, said_by: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the token ids of texts that stand alone; long ones keep their first tokens.

    Args:
        said_by: whose each is; None names nobody.
    """
    return join_turns(
        store.tokens,
        *_ranges(store.token_ends, utterances),
        np.ones(len(utterances), np.int64),
        joining.special,
        max_length=joining.lengths.response,
        newest_N=np.zeros(len(utterances), bool),
        speakers_T=None if said_by is None else joining.speakers(said_by),
    )


def _ranges(ends: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where some ranges of an `ends` file begin, and how long they are."""
    starts = np.where(which > 0, ends[which - 1], 0)
    return starts, ends[which] - starts
