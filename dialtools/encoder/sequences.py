"""Items of one or several turns to sequences of tokens, each distinct utterance tokenised once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dialtools.corpora.turns import Turns
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.tokens import assemble, tokenise


def sequences_of(
    encoder: Encoder, items: Sequence[Turns], max_length: int
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Turn items into sequences of tokens.

    A list of turns keeps its newest tokens, a single text its first.

    Returns:
        N sequences of `max_length` tokens or fewer, (N,) the tokens of each before any cut, (N,)
        whether it was cut.
    """
    utterances: dict[str, int] = {}
    for texts, _ in items:
        for text in texts:
            utterances.setdefault(text, len(utterances))
    ids, ends = tokenise(encoder.tokenizer, list(utterances))
    tokens = [ids[a:b] for a, b in pairwise(ends)]
    sequences: list[Any] = []
    counts = np.zeros(len(items), np.int64)
    cut = np.zeros(len(items), bool)
    special = encoder.special
    for i, (texts, roles) in enumerate(items):
        spoken = _speaker_ids(encoder, roles)
        turns = [tokens[utterances[text]] for text in texts]
        sequence, cut[i] = assemble(
            turns, special, max_length=max_length, newest=len(turns) > 1, roles=spoken
        )
        # a speaker's token opens each turn, a separator stands between two
        between = len(turns) if spoken else (len(turns) - 1) * len(special.separator)
        counts[i] = len(special.prefix) + sum(map(len, turns)) + between + len(special.suffix)
        sequences.append(sequence)
    return sequences, counts, cut


def _speaker_ids(encoder: Encoder, roles: Sequence[int] | None) -> list[int] | None:
    """Return the token of each turn's speaker; None for a model, or turns, without speakers."""
    if not encoder.role_tokens or not roles:
        return None
    return [encoder.role_tokens[role] for role in roles]
