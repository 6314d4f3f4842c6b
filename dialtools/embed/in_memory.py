"""The vectors of some fields of records, for those who need no file between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dialtools.advance import silent
from dialtools.corpora.turns import Record, column_of_turns
from dialtools.embed.shard import Settings, encode_turns
from dialtools.encoder.device import settled_device
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.options import PieceOptions
from dialtools.encoder.placed import placed


def open_model(
    path: Path, options: PieceOptions, *, max_length: int | None
) -> Callable[[Sequence[Record], Sequence[str]], dict[str, np.ndarray]]:
    """Load a model, and return what embeds fields of records with it.

    N records, D dimensions.

    Args:
        max_length: tokens of a text at most; the model's own without.

    Returns:
        a function of records and the names of fields, which returns (N, D) float32 vectors of each
        field, of the length that they have.
    """
    device, precision = settled_device(options)
    trust = options.trust_remote_code
    encoder = load_encoder(str(path), max_length=max_length, trust_remote_code=trust).eval()
    encoder = placed(encoder, device, precision)
    settings = Settings(
        max_length=encoder.max_length,
        normalize=False,
        float16_round=False,
        batch_tokens=options.batch_tokens or encoder.batch_tokens(precision),
        precision=precision,
        center=encoder.center,
    )
    return partial(_field_vectors, encoder, settings)


def _field_vectors(
    encoder: Encoder, settings: Settings, records: Sequence[Record], fields: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return (N, D) vectors of each field of N records."""
    columns = {field: column_of_turns(records, field) for field in fields}
    return {
        field: encode_turns(encoder, turns, settings, silent).vectors
        for field, turns in columns.items()
    }
