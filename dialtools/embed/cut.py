"""A model of another one's first layers: written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialtools.embed.derived import save
from dialtools.embed.derived_options import CutOptions
from dialtools.encoder.depth import cut
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.static import StaticEncoder
from dialtools.errors import ConfigError, ModelError


def load_cut(options: CutOptions) -> Encoder:
    """Load the first layers of --model, without a centre that it has: it is of the last one.

    Raises:
        ConfigError: if it has no more layers than are to be kept.
    """
    assert options.layers
    encoder = load_encoder(options.model, trust_remote_code=options.trust_remote_code)
    if isinstance(encoder, StaticEncoder):
        raise ConfigError(f"--model {options.model}: a static encoder has no layers")
    cut(encoder.backbone, options.layers)
    encoder.center = None
    return encoder


def write_cut(
    directory: Path, encoder: Encoder, options: CutOptions, provenance: Mapping[str, Any]
) -> None:
    """Write the model, and load it again: kinds of models tell of their layers in many ways.

    Args:
        directory: exists and is empty.

    Raises:
        ModelError: if it is not what was written.
    """
    how = f"`{options.model}`, of which layers 1 to {options.layers} are kept, as they are."
    title = "The first layers of a dialogue encoder"
    save(directory, encoder, model=options.model, provenance=provenance, title=title, how=how)
    again = load_encoder(str(directory), trust_remote_code=options.trust_remote_code)
    if again.digest() != encoder.digest():
        raise ModelError("cut, it does not load as it was", where=options.model)
