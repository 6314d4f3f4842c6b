"""An encoder from the folder of a model, with the pooling and length that the folder states."""

from __future__ import annotations

from pathlib import Path

import torch

from dialtools.encoder.catalog import USUAL_POOLING
from dialtools.encoder.center import read_center
from dialtools.encoder.encoder import LONGEST, Encoder, positions
from dialtools.encoder.folder import model_folder
from dialtools.encoder.layered import check_beside
from dialtools.encoder.pretrained import load_pretrained, look_over
from dialtools.encoder.stated import Stated, check_stated, read_stated
from dialtools.encoder.static import trainable
from dialtools.encoder.token_vectors import load_token_vectors, read_token_vectors
from dialtools.encoder.token_weights import read_token_weights
from dialtools.errors import ModelError, short_of
from dialtools.shown import first_line

NEAR = 1e-4
"""How far padding may move a number of a vector, as a part of the largest."""


def load_encoder(
    name: str,
    *,
    pooling: str | None = None,
    max_length: int | None = None,
    trust_remote_code: bool = False,
) -> Encoder:
    """Load a static encoder, or any other that transformers can.

    Args:
        name: a directory, or a name that is in the local cache; nothing is downloaded.

    Raises:
        ModelError: if it is not there, or is damaged.
    """
    folder = model_folder(name)
    stated = read_stated(folder, pooling=pooling)
    if stated.static:
        encoder = trainable(load_token_vectors(stated, pooling=pooling, max_length=max_length))
    else:
        encoder = _transformer(
            stated, pooling=pooling, max_length=max_length, trust_remote_code=trust_remote_code
        )
        if stated.center:
            encoder.center = read_center(stated.center, encoder.dimension)
        if stated.token_weights:
            weights = read_token_weights(stated.token_weights, tokens=encoder.vocabulary)
            encoder.token_weights = weights
    check_stated(encoder, stated, folder)
    check_beside(encoder, folder, stated.modules)
    if stated.speaker_tokens:
        encoder.use_speaker_tokens()
    return encoder


def look_over_model(name: str, *, pooling: str | None) -> None:
    """Check what can be checked of a model without loading it.

    Raises:
        ModelError: if it is not there, or is damaged.
    """
    stated = read_stated(model_folder(name), pooling=pooling)
    if stated.static:
        read_token_vectors(stated.transformer)  # takes as long as a look
    else:
        look_over(stated.transformer)


def _transformer(
    stated: Stated, *, pooling: str | None, max_length: int | None, trust_remote_code: bool
) -> Encoder:
    backbone, tokenizer = load_pretrained(stated.transformer, trust_remote_code=trust_remote_code)
    usual = int(min(tokenizer.model_max_length, LONGEST))
    wished = max_length or stated.max_length or usual
    encoder = Encoder(
        backbone,
        tokenizer,
        pooling=pooling or stated.pooling or USUAL_POOLING,
        max_length=min(wished, positions(backbone.config)),
        normalize=stated.normalize,
        lower_case=stated.lower_case,
    )
    if not trust_remote_code:  # theirs may run on a GPU alone
        _try_out(encoder, stated.transformer)
    return encoder


def _try_out(encoder: Encoder, folder: Path) -> None:
    """Encode a token, alone and beside others: what kinds of models do is found by trying.

    Raises:
        ModelError: with what it says, if it makes no vectors of tokens to pool.
    """
    token = 0 if encoder.special.pad else 1
    ids_NT, mask_NT = torch.full((2, 3), token), torch.tensor([[1, 0, 0], [1, 1, 1]])
    kind = encoder.backbone.config.model_type
    try:
        with torch.no_grad():
            alone, beside = encoder(ids_NT[:1, :1], mask_NT[:1, :1])[0], encoder(ids_NT, mask_NT)[0]
        wanted = encoder.dimension
    except Exception as error:  # whatever a model raises that needs more than tokens
        if short_of(error):
            raise
        message = f"{kind}: no kind of model for --pooling {encoder.pooling}: {first_line(error)}"
        raise ModelError(message, where=folder) from None
    if len(alone) != wanted:
        message = f"gives vectors of {len(alone)} dimensions, but config.json tells {wanted}"
        raise ModelError(message, where=folder)
    encoder.feels_padding = bool((alone - beside).abs().max() > NEAR * alone.abs().max())
