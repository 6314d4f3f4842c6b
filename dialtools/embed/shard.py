"""One shard: records in, vectors out; each distinct text tokenised and encoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dialtools.advance import Advance
from dialtools.corpora.turns import Turns
from dialtools.encoder.sequences import flat_sequences
from dialtools.encoder.token_vectors import TokenVectors
from dialtools.encoder.tokens import Flat, split, strange
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ModelError
from dialtools.metrics.space import unit

if TYPE_CHECKING:
    from dialtools.encoder.encoder import Encoder


@dataclass(frozen=True)
class Settings:
    """How texts become vectors.

    Attributes:
        float16_round: numbers are rounded to those of float16.
        dimensions: keep so many, the first; None keeps all.
        newest: which end of a long text stays, as `sequences_of` has it.
        head: vectors go through it.
        center: (D,) taken off vectors of length 1.
    """

    max_length: int
    normalize: bool
    batch_tokens: int
    precision: str
    float16_round: bool
    dimensions: int | None = None
    newest: bool | None = None
    head: Callable[[np.ndarray], np.ndarray] | None = None
    center: np.ndarray | None = None


@dataclass
class Encoded:
    """What encoding N items gives.

    Attributes:
        vectors: (N, D) float32.
        tokens: (N,) of each, before any cut.
        cut: (N,) whether it was.
        unknown: (N,) whether the encoder knows nothing of it, and made it zero.
        strange: (N,) whether it has many tokens of what the tokenizer lacks.
        distinct: how many of the items differ.
    """

    vectors: np.ndarray
    tokens: np.ndarray
    cut: np.ndarray
    unknown: np.ndarray
    strange: np.ndarray
    distinct: int


Encoding = Callable[[Callable[[int], None]], Encoded]
"""Encodes N fields; is given what is told of each encoded text."""
Made = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Vectors of distinct texts as the encoder makes them, their tokens, which were cut, and which are
strange to it."""


def encode_turns(
    encoder: Encoder | TokenVectors | WordVectors,
    items: Sequence[Turns],
    settings: Settings,
    advance: Advance,
) -> Encoded:
    """Encode N fields; several turns keep their newest tokens, one its first."""
    return tokenised(encoder, items, settings)(advance)


def tokenised(
    encoder: Encoder | TokenVectors | WordVectors, items: Sequence[Turns], settings: Settings
) -> Encoding:
    """Do of `encode_turns` what needs no device; return the rest of it."""
    distinct: dict[Turns, int] = {}
    place = np.fromiter(
        (distinct.setdefault(item, len(distinct)) for item in items), np.int64, len(items)
    )
    if isinstance(encoder, WordVectors):
        made = partial(_of_words, encoder, list(distinct))
    else:
        flat, counts, cut = flat_sequences(
            encoder, list(distinct), settings.max_length, newest=settings.newest
        )
        lacking = strange(encoder.tokenizer, flat)

        def made(advance: Advance) -> Made:
            return _vectors(encoder, flat, settings, advance), counts, cut, lacking

    def encoded(advance: Advance) -> Encoded:
        vectors, counts, cut, lacking = made(advance)
        unknown = _zero(vectors)
        if settings.head is not None:
            vectors = settings.head(vectors)
        return Encoded(
            vectors=_finished(vectors, settings)[place],
            tokens=counts[place],
            cut=cut[place],
            unknown=unknown[place],
            strange=lacking[place],
            distinct=len(distinct),
        )

    return encoded


def _of_words(encoder: WordVectors, distinct: Sequence[Turns], advance: Advance) -> Made:
    """Average the words of N fields, of which none is cut."""
    vectors, counts = encoder.encode([" ".join(texts) for texts, _ in distinct])
    advance(len(distinct))
    none = np.zeros(len(distinct), bool)
    return vectors, counts, none, none


def _vectors(
    encoder: Encoder | TokenVectors, flat: Flat, settings: Settings, advance: Advance
) -> np.ndarray:
    """Return the (N, D) float32 vectors of N sequences."""
    if isinstance(encoder, TokenVectors):
        vectors_ND = encoder.encode(flat)
        advance(len(vectors_ND))
        return vectors_ND
    from dialtools.encoder.encode import encode  # imports torch

    return encode(
        encoder,
        split(flat),
        batch_tokens=settings.batch_tokens,
        precision=settings.precision,
        advance=advance,
    )


def _zero(vectors_ND: np.ndarray) -> np.ndarray:
    """Return (N,) whether rows are zero throughout; few begin so, and only they are looked at."""
    zero_N = vectors_ND[:, 0] == 0
    zero_N[zero_N] = ~vectors_ND[zero_N].any(1)
    return zero_N


def _finished(vectors: np.ndarray, settings: Settings) -> np.ndarray:
    """Return vectors centred, cut, rounded and scaled as the settings say.

    Raises:
        ModelError: if they are not finite.
    """
    if settings.center is not None:
        vectors = unit(vectors)
        vectors -= settings.center
    vectors = vectors[:, : settings.dimensions]
    if settings.float16_round:
        with np.errstate(over="ignore"):  # told below
            vectors = vectors.astype(np.float16).astype(np.float32)
    if not np.isfinite(vectors).all():
        raise ModelError("the model gives vectors that are not finite: are its weights?")
    return unit(vectors) if settings.normalize else vectors
