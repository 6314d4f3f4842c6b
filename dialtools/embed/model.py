"""What embeds: a model on its device, or a file of word vectors, with its settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from dialtools.embed.options import EmbedOptions
from dialtools.embed.shard import Settings
from dialtools.encoder.device import choose_device, choose_precision
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.kept_head import load_head
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError


@dataclass(frozen=True)
class Model:
    """An encoder and its settings."""

    encoder: Encoder | WordVectors
    settings: Settings
    head: str | None = None

    @property
    def dimension(self) -> int:
        """D of its vectors, behind the head if they go through one."""
        whole = self.encoder.dimension
        if self.settings.head is None:
            return whole
        return self.settings.head(torch.zeros(1, whole)).shape[1]

    def space(self) -> dict[str, Any]:
        """Return what two files of vectors must share to be compared."""
        return {
            "weights": self.encoder.digest(),
            "pooling": self.encoder.pooling,
            "normalize": self.settings.normalize,
            **({"head": self.head} if self.head else {}),
        }


def load_model(options: EmbedOptions) -> Model:
    """Load --model onto its device, and settle what options leave to the model and the machine.

    Raises:
        ConfigError: for more --dimensions than its vectors have.
    """
    device = choose_device(options.device)
    encoder = _encoder(
        options.model,
        device,
        pooling=options.pooling,
        max_length=options.max_length,
        trust_remote_code=options.trust_remote_code,
    )
    dimensions = None if options.transform else options.dimensions
    settings = Settings(
        max_length=encoder.max_length,
        normalize=encoder.normalize if options.normalize is None else options.normalize,
        batch_tokens=options.batch_tokens or encoder.usual_batch_tokens,
        precision=choose_precision(options.precision, device),
        float16_round=options.float16_round,
        dimensions=dimensions,
        newest={"left": True, "right": False}.get(options.truncate_side),
        head=load_head(Path(options.model), options.head) if options.head else None,
    )
    model = Model(encoder, settings, options.head)
    if dimensions and dimensions > model.dimension:
        raise ConfigError(f"--dimensions {dimensions}: vectors have {model.dimension}")
    return model


@lru_cache(maxsize=1)  # an actor of a cluster embeds many parts with one model
def _encoder(name: str, device: torch.device, **settings: Any) -> Encoder | WordVectors:
    if Path(name).is_file():
        return WordVectors.load(name)
    return load_encoder(name, **settings).to(device)
