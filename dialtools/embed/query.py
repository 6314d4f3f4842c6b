"""Texts embedded as the rows of an embedding file were, by what the file tells of its making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.advance import silent
from dialtools.embed import transforms
from dialtools.embed.model import load_model
from dialtools.embed.options import KINDS, EmbedOptions
from dialtools.embed.shard import encode_turns
from dialtools.encoder.folder import model_folder
from dialtools.encoder.options import PieceOptions
from dialtools.errors import ConfigError, ModelError
from dialtools.options import Layer, resolve
from dialtools.shown import quoted
from dialtools.streams.making import options_of

ALIKE = (
    *("pooling", "head", "max-length", "truncate-side", "normalize", "dimensions"),
    *("float16-round", "transform"),
)
"""Options of dial-embed that change a text's vector."""
ENGINE = ("device", "precision", "threads", "batch-tokens", "trust-remote-code")
TEMPLATES = ("templates", "own-templates")


def query_vectors(
    texts: Sequence[str],
    made: Mapping[str, Any],
    engine: PieceOptions,
    *,
    model: str | None,
    transform: str | None,
) -> np.ndarray:
    """Return (Q, D) vectors of texts, as dial-embed makes them with the options of a file.

    Args:
        made: what the file tells of its making.
        engine: where the encoder runs, and whether with code of its own.
        model: in place of the file's own.
        transform: moves the texts alone, to where their responses lie.

    Raises:
        ConfigError: if the file tells no model, or vectors that no text alone has, or options that
            dial-embed does not take; or if the transform is of another kind.
        ModelError: if the model cannot be loaded.
    """
    stated = options_of(made)
    if transform:
        _refuse_as_move(transform, stated)
    running = {key: getattr(engine, key.replace("-", "_")) for key in ENGINE}
    own = {"model": _model(stated, model), "transform": transform, **running}
    of_file = {key: stated.get(key) for key in ALIKE}
    layers = [Layer("search", own), Layer("the file's options", of_file)]
    options, _ = resolve(EmbedOptions, layers)
    loaded = load_model(options)
    space = loaded.space()
    if made.get("weights") and (unlike := transforms.difference(dict(made), space)):
        raise ConfigError(f"the file's vectors are of {unlike}", hint="--model DIR names theirs")
    items = [((text,), None) for text in texts]
    vectors_QD = encode_turns(loaded.encoder, items, loaded.settings, silent).vectors
    if options.transform:
        return transforms.load(options.transform, space)[0](vectors_QD)
    return vectors_QD


def _model(stated: Mapping[str, Any], chosen: str | None) -> str:
    """Return the model that embeds texts as the file's were, or the one in place of it."""
    name = chosen or stated.get("model")
    if not isinstance(name, str):
        raise ConfigError("the file does not tell which model made it", hint="--model DIR")
    _refuse_what_texts_lack(stated)
    if not chosen:
        _refuse_if_elsewhere(name)
    return name


def _refuse_as_move(transform: str, stated: Mapping[str, Any]) -> None:
    """Refuse a transform that does not move contexts alone, or comes on top of the file's own."""
    maker = "dial-embed --transform to-response --save-transform FILE makes one"
    if not Path(transform).is_file():
        raise ConfigError(f"--transform {quoted(transform)}: no such file", hint=maker)
    if not transforms.one_sided(transform):
        what = f"--transform {quoted(transform)}: not what moves contexts alone"
        raise ConfigError(what, hint=maker)
    if own := stated.get("transform"):
        raise ConfigError(f"--transform: the file was made with one of its own, {quoted(str(own))}")


def _refuse_if_elsewhere(name: str) -> None:
    """Refuse the model that a file names, if it is not here by that name."""
    if Path(name).is_file():
        return
    try:
        model_folder(name)
    except ModelError:
        what = f"the file names the model {quoted(name)}, which is not here"
        raise ModelError(what, hint="--model DIR says where it is") from None


def _refuse_what_texts_lack(stated: Mapping[str, Any]) -> None:
    """Refuse vectors that were fitted to their file, or are not of a text alone."""
    if stated.get("transform") in KINDS:
        what = f"the file's vectors are transformed ({stated['transform']}), fitted to its rows"
        hint = "dial-embed --save-transform, then --transform FILE, makes a file to search"
        raise ConfigError(what, hint=hint)
    if any(stated.get(key) for key in TEMPLATES):
        raise ConfigError("the file's vectors are of texts with their templates")
