"""One shard: records in, vectors out; each distinct text tokenised and encoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dialtools.embed.fields import Turns
from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.tokens import assemble, tokenise
from dialtools.encoder.word_vectors import WordVectors
from dialtools.metrics.geometry import unit


@dataclass(frozen=True)
class Settings:
    """How texts become vectors."""

    max_length: int
    normalize: bool
    batch_tokens: int
    precision: str
    float16_round: bool


@dataclass
class Encoded:
    """(N, D) float32 vectors of N items, their tokens before any cut, which were cut, and how many were distinct."""

    vectors: np.ndarray
    tokens: np.ndarray
    cut: np.ndarray
    distinct: int


def encode_turns(encoder: Encoder | WordVectors, items: Sequence[Turns], settings: Settings, advance: Callable[[int], None]) -> Encoded:  # fmt: skip
    """Encode N fields; a list of turns keeps its newest tokens, a single text its first."""
    distinct: dict[Turns, int] = {}
    place = np.fromiter((distinct.setdefault(item, len(distinct)) for item in items), np.int64, len(items))
    if isinstance(encoder, WordVectors):
        vectors, counts = encoder.encode([" ".join(texts) for texts, _ in distinct])
        advance(len(distinct))
        return Encoded(_finished(vectors, settings)[place], counts[place], np.zeros(len(items), bool), len(distinct))
    sequences, counts, cut = _sequences(encoder, list(distinct), settings.max_length)
    vectors = encode(encoder, sequences, batch_tokens=settings.batch_tokens, precision=settings.precision, advance=advance)  # fmt: skip
    return Encoded(_finished(vectors, settings)[place], counts[place], cut[place], len(distinct))


def _finished(vectors: np.ndarray, settings: Settings) -> np.ndarray:
    if settings.float16_round:
        vectors = vectors.astype(np.float16).astype(np.float32)
    return unit(vectors) if settings.normalize else vectors


def _sequences(encoder: Encoder, items: list[Turns], max_length: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:  # fmt: skip
    utterances: dict[str, int] = {}
    for texts, _ in items:
        for text in texts:
            utterances.setdefault(text, len(utterances))
    ids, ends = tokenise(encoder.tokenizer, list(utterances))
    tokens = [ids[a:b] for a, b in pairwise(ends)]
    sequences: list[Any] = []
    counts, cut = np.zeros(len(items), np.int64), np.zeros(len(items), bool)
    special = encoder.special
    for i, (texts, roles) in enumerate(items):
        spoken = [encoder.role_tokens[r] for r in roles] if encoder.role_tokens and roles else None
        turns = [tokens[utterances[text]] for text in texts]
        sequence, cut[i] = assemble(turns, special, max_length=max_length, newest=len(turns) > 1, roles=spoken)
        between = len(turns) if spoken else (len(turns) - 1) * len(special.separator)
        counts[i] = len(special.prefix) + sum(map(len, turns)) + between + len(special.suffix)
        sequences.append(sequence)
    return sequences, counts, cut
