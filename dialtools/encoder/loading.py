"""An encoder from the folder of a model, with the pooling and length that the folder states."""

from __future__ import annotations

from pathlib import Path

from dialtools.encoder.catalog import USUAL_POOLING
from dialtools.encoder.encoder import LONGEST, Encoder, positions
from dialtools.encoder.layered import check_beside
from dialtools.encoder.pretrained import load_pretrained, look_over, model_folder
from dialtools.encoder.stated import Stated, read_stated
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.static_files import read_static
from dialtools.encoder.tokens import SPEAKER_TOKENS
from dialtools.errors import ConfigError, ModelError


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
        encoder = _static(stated, pooling=pooling, max_length=max_length)
    else:
        encoder = _transformer(
            stated, pooling=pooling, max_length=max_length, trust_remote_code=trust_remote_code
        )
    _check_stated(encoder, stated, folder)
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
        read_static(stated.transformer)  # takes as long as a look
    else:
        look_over(stated.transformer)


def _static(stated: Stated, *, pooling: str | None, max_length: int | None) -> StaticEncoder:
    if pooling not in (None, USUAL_POOLING):
        raise ConfigError(f"--pooling {pooling}: a static encoder averages")
    encoder = read_static(stated.transformer)
    encoder.normalize = stated.normalize
    if max_length:
        encoder.max_length = max_length
    return encoder


def _transformer(
    stated: Stated, *, pooling: str | None, max_length: int | None, trust_remote_code: bool
) -> Encoder:
    backbone, tokenizer = load_pretrained(stated.transformer, trust_remote_code=trust_remote_code)
    usual = int(min(tokenizer.model_max_length, LONGEST))
    wished = max_length or stated.max_length or usual
    return Encoder(
        backbone,
        tokenizer,
        pooling=pooling or stated.pooling or USUAL_POOLING,
        max_length=min(wished, positions(backbone.config)),
        normalize=stated.normalize,
        lower_case=stated.lower_case,
    )


def _check_stated(encoder: Encoder, stated: Stated, folder: Path) -> None:
    """Refuse what a folder states and its encoder cannot do.

    Raises:
        ModelError: naming the file.
    """
    special = encoder.special
    least = len(special.prefix) + len(special.suffix) + 1
    if stated.max_length and stated.max_length < least:
        message = f"max_seq_length: expected {least} or more, got {stated.max_length}"
        raise ModelError(message, where=stated.max_length_file)
    if stated.dimension not in (None, encoder.dimension):
        message = (
            f"pooling of {stated.dimension} dimensions, but the encoder has {encoder.dimension}"
        )
        raise ModelError(message, where=folder)
    known = encoder.tokenizer.get_vocab()
    if stated.speaker_tokens and not all(token in known for token in SPEAKER_TOKENS.values()):
        message = "options.speaker-tokens: true, but the tokenizer does not know them"
        raise ModelError(message, where=folder / "dialtools.json")
