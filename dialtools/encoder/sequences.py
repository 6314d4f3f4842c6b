"""Items of one or several turns to sequences of tokens, each distinct utterance tokenised once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dialtools.corpora.turns import Turns
from dialtools.encoder.tokens import Flat, SpecialTokens, join_flat, split, tokenise
from dialtools.ranges import starts_of


class Tokeniser(Protocol):
    """What turns texts into sequences: an encoder's tokenizer, and what goes around a text."""

    @property
    def tokenizer(self) -> Any: ...
    @property
    def special(self) -> SpecialTokens: ...
    @property
    def role_tokens(self) -> tuple[int, int, int] | None: ...


def sequences_of(
    encoder: Tokeniser, items: Sequence[Turns], max_length: int, *, newest: bool | None = None
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Turn items into sequences of tokens: N of them, and the rest as `flat_sequences` does."""
    flat, sizes_N, cut_N = flat_sequences(encoder, items, max_length, newest=newest)
    return split(flat), sizes_N, cut_N


def flat_sequences(
    encoder: Tokeniser, items: Sequence[Turns], max_length: int, *, newest: bool | None = None
) -> tuple[Flat, np.ndarray, np.ndarray]:
    """Turn items into sequences of tokens, one behind the other.

    Args:
        newest: what is too long keeps its last tokens, or its first; None: of several turns
            the newest stay, of a single text or turn the first.

    Returns:
        N sequences of `max_length` tokens or fewer, (N,) the tokens of each before any cut, (N,)
        whether it was cut.
    """
    utterances: dict[str, int] = {}
    places: list[int] = []
    speakers: list[int] = []
    for texts, roles in items:
        places += [utterances.setdefault(text, len(utterances)) for text in texts]
        if encoder.role_tokens:
            ids = [encoder.role_tokens[role] for role in roles or ()]
            speakers += ids or [-1] * len(texts)  # turns without speakers
    ids, ends = tokenise(encoder.tokenizer, list(utterances))
    special = encoder.special
    turns_N = np.fromiter((len(texts) for texts, _ in items), np.int64, len(items))
    place_T = np.asarray(places, np.int64)
    starts_T, sizes_T = ends[place_T], np.diff(ends)[place_T]
    speakers_T = np.asarray(speakers) if speakers else None
    flat = join_flat(
        ids,
        starts_T,
        sizes_T,
        turns_N,
        special,
        max_length=max_length,
        newest_N=turns_N > 1 if newest is None else np.full(len(turns_N), newest),
        speakers_T=speakers_T,
    )
    whole_N = _sizes(sizes_T, turns_N, speakers_T, len(special.separator))
    around = len(special.prefix) + len(special.suffix)
    return flat, whole_N + around, whole_N > max(max_length - around, 1)


def _sizes(
    sizes_T: np.ndarray, turns_N: np.ndarray, speakers_T: np.ndarray | None, separator: int
) -> np.ndarray:
    """Return the tokens of each item: a speaker's opens each turn, separators stand between."""
    if not len(turns_N):
        return turns_N
    begin_N = starts_of(turns_N)
    lead_T = np.full(len(sizes_T), separator)
    lead_T[begin_N] = 0
    if speakers_T is not None:
        lead_T = np.where(speakers_T >= 0, 1, lead_T)
    return np.add.reduceat(lead_T + sizes_T, begin_N)
