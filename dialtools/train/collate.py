"""Pairs of a batch to token sequences, and those to micro-batches of like length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dialtools.encoder.batches import pad, token_batches
from dialtools.encoder.tokens import SpecialTokens, assemble
from dialtools.train.store import Store


@dataclass(frozen=True)
class Lengths:
    """Tokens of a context and of a response at most."""

    context: int
    response: int


@dataclass
class Batch:
    """N pairs ready to encode.

    Attributes:
        parts: micro-batches (ids_NT, mask_NT), longest first.
        row_of: (2N,) where each anchor, then each positive, stands among the vectors of all parts.
        keys: (2N,) an integer for each distinct text.
        tokens: real tokens; padded: with padding.
    """

    parts: list[tuple[Tensor, Tensor]]
    row_of: Tensor
    keys: np.ndarray
    pairs: np.ndarray
    tokens: int
    padded: int


def collate(store: Store, pairs: np.ndarray, special: SpecialTokens, lengths: Lengths, *, max_tokens: int,
            role_tokens: tuple[int, int, int] | None = None) -> Batch:  # fmt: skip
    """Assemble a batch; within a side each distinct sequence is encoded once.

    Sides never share an encoding: partners need dropout masks of their own (SimCSE, DSE-dropout).

    Args:
        role_tokens: with speaker tokens, the id for an unknown, a user's and a system's turn.
    """
    sequences: list[np.ndarray] = []
    rows, keys = [], []
    texts: dict[bytes, int] = {}
    for side in (contexts, responses):
        seen: dict[bytes, int] = {}
        for sequence in side(store, pairs, special, lengths, role_tokens):
            name = sequence.tobytes()
            if name not in seen:
                seen[name] = len(sequences)
                sequences.append(sequence)
            rows.append(seen[name])
            keys.append(texts.setdefault(name, len(texts)))
    sizes = np.fromiter((len(s) for s in sequences), np.int64, len(sequences))
    groups = token_batches(sizes, max_tokens=max_tokens)
    place = np.empty(len(sequences), np.int64)
    place[np.concatenate(groups)] = np.arange(len(sequences))
    parts = [pad([sequences[i] for i in group], special) for group in groups]
    return Batch(parts, torch.from_numpy(place[rows]), np.asarray(keys), pairs, int(sizes.sum()), sum(ids.numel() for ids, _ in parts))  # fmt: skip


def contexts(store: Store, pairs: np.ndarray, special: SpecialTokens, lengths: Lengths, roles: tuple[int, int, int] | None) -> Iterator[np.ndarray]:  # fmt: skip
    """Yield the token ids of each pair's context; long ones keep their newest tokens."""
    for pair in pairs:
        where = store.context(int(pair))
        turns = [store.utterance(int(t)) for t in store.turns[where]]
        spoken = [roles[r] for r in store.roles[where]] if roles else None
        yield assemble(turns, special, max_length=lengths.context, newest=True, roles=spoken)[0]


def responses(store: Store, pairs: np.ndarray, special: SpecialTokens, lengths: Lengths, roles: tuple[int, int, int] | None) -> Iterator[np.ndarray]:  # fmt: skip
    """Yield the token ids of each pair's response; long ones keep their first tokens."""
    for pair in pairs:
        spoken = [roles[store.response_role[pair]]] if roles else None
        turn = store.utterance(int(store.response[pair]))
        yield assemble([turn], special, max_length=lengths.response, newest=False, roles=spoken)[0]
