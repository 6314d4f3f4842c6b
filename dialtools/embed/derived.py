"""What is told of a model that another one was made of, without training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dialtools.encoder import modeldir
from dialtools.encoder.card import card
from dialtools.encoder.descent import content, layers_behind
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import model_folder
from dialtools.encoder.stated import has_beside
from dialtools.streams.provenance import read_provenance


def left_behind(model: str) -> Iterator[str]:
    """Yield what to tell of the parts of a model that go with its vectors alone."""
    folder = model_folder(model)
    if layers := [layer.name for layer in layers_behind(folder)]:
        yield f"{' and '.join(layers)} of {model} left out: learnt with its vectors"
    if "centre" in has_beside(folder):
        yield f"centre of {model} left out; dialtools center gives another"


def save(
    directory: Path,
    encoder: Encoder,
    *,
    model: str,
    provenance: Mapping[str, Any],
    title: str,
    how: str,
) -> None:
    """Write an encoder that was made of `model`, whose provenance becomes a part of its own.

    Args:
        directory: exists and is empty.
        title: of the model's card.
        how: it was made, a sentence for the card.
    """
    folder = model_folder(model)
    own, files = read_provenance(folder), content(folder)
    parent = {"name": model, "files": files, **({"provenance": own} if own else {})}
    # of a model, this is where it is looked for
    spoken = {"speaker-tokens": True} if encoder.role_tokens else {}
    facts = {
        **provenance,
        "options": {**provenance["options"], **spoken},
        "start": files,
        "parents": [parent],
        "weights": encoder.digest(),
    }
    modeldir.save(encoder, directory, provenance=facts, card=card(title, how))
