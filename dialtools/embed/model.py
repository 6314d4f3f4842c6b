"""What embeds: a model on its device, or a file of word vectors, with its settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialtools.embed.options import EmbedOptions
from dialtools.embed.shard import Settings
from dialtools.encoder.alignment import has_alignment
from dialtools.encoder.descent import beside_weights
from dialtools.encoder.folder import model_folder
from dialtools.encoder.guest import start_torch
from dialtools.encoder.stated import check_stated, cut_left_out, prompt_left_out, read_stated
from dialtools.encoder.token_vectors import TokenVectors, load_token_vectors
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dialtools.encoder.encoder import Encoder

ANY_CPU = ("auto", "cpu")
"""Devices for which averages need no torch: a GPU that is there would gain them nothing."""


@dataclass(frozen=True)
class Model:
    """An encoder and its settings.

    Attributes:
        files: digests of what lies beside its weights (`descent.beside_weights`).
    """

    encoder: Encoder | TokenVectors | WordVectors
    settings: Settings
    head: str | None = None
    files: str = ""

    @property
    def dimension(self) -> int:
        """D of its vectors, behind the head if they go through one."""
        whole = self.encoder.dimension
        if self.settings.head is None:
            return whole
        return self.settings.head(np.zeros((1, whole), np.float32)).shape[1]

    @property
    def overlaps(self) -> bool:
        """Whether Python can read the next texts meanwhile: a GPU encodes, or NumPy adds vectors.

        A transformer on the CPU keeps all of it, and reading is a hundredth of its work.
        """
        if isinstance(self.encoder, WordVectors):
            return False
        return isinstance(self.encoder, TokenVectors) or str(self.encoder.device) != "cpu"

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
    light = None
    if options.device in ANY_CPU:
        light = _averages(options.model, pooling=options.pooling, max_length=options.max_length)
    if light is None or options.head:
        start_torch(options.threads)
    encoder, precision = (light, options.precision) if light else _on_device(options)
    dimensions = None if options.transform else options.dimensions
    normalize = encoder.normalize if options.normalize is None else options.normalize
    settings = Settings(
        max_length=encoder.max_length,
        normalize=normalize and not options.own_templates,  # an alignment layer takes them whole
        batch_tokens=options.batch_tokens or encoder.batch_tokens(precision),
        precision="float32" if precision == "auto" else precision,
        float16_round=options.float16_round,
        dimensions=dimensions,
        newest={"left": True, "right": False}.get(options.truncate_side),
        head=_head(options) if options.head else None,
        center=None if options.head or _is_aligned(options) else encoder.center,
    )
    files = "" if Path(options.model).is_file() else beside_weights(model_folder(options.model))
    model = Model(encoder, settings, options.head, files)
    if options.dimensions and options.dimensions > model.dimension:
        raise ConfigError(f"--dimensions {options.dimensions}: vectors have {model.dimension}")
    return model


@lru_cache(maxsize=1)  # an actor of a cluster embeds many parts with one model
def _averages(
    name: str, *, pooling: str | None, max_length: int | None
) -> TokenVectors | WordVectors | None:
    """Return what embeds without torch: word vectors, or a static encoder."""
    if Path(name).is_file():
        return WordVectors.load(name)
    folder = model_folder(name)
    stated = read_stated(folder, pooling=pooling)
    if not stated.static or stated.speaker_tokens:
        return None
    encoder = load_token_vectors(stated, pooling=pooling, max_length=max_length)
    check_stated(encoder, stated, folder)
    return encoder


def _on_device(options: EmbedOptions) -> tuple[Encoder | WordVectors, str]:
    """Return what embeds on a device of torch, and in which precision."""
    from dialtools.encoder.device import settled_device

    device, precision = settled_device(options)
    encoder = _encoder(
        options.model,
        device,
        precision,
        pooling=options.pooling,
        max_length=options.max_length,
        trust_remote_code=options.trust_remote_code,
    )
    return encoder, precision


@lru_cache(maxsize=1)
def _encoder(name: str, device: Any, precision: str, **settings: Any) -> Encoder | WordVectors:
    if Path(name).is_file():
        return WordVectors.load(name)
    from dialtools.encoder.loading import load_encoder
    from dialtools.encoder.placed import placed

    return placed(load_encoder(name, **settings).eval(), device, precision)


def notes(model: Model, options: EmbedOptions) -> Iterator[str]:
    """Yield what to tell of a model: what it has no use for, an emulated precision, a prompt."""
    if idle := _idle(model, options):
        changes = "change" if len(idle) > 1 else "changes"
        yield f"{options.model} is a table of vectors: {' and '.join(idle)} {changes} nothing"
    if isinstance(model.encoder, WordVectors):
        return
    folder = model_folder(options.model)
    cut = "" if options.dimensions else cut_left_out(folder, model.dimension)
    yield from (f"{options.model}: {note}" for note in (prompt_left_out(folder), cut) if note)
    if isinstance(model.encoder, TokenVectors):
        return
    from dialtools.encoder import device

    if not (options.pooling or (folder / "modules.json").is_file()):
        averaged = f"{options.model}: no modules.json says how to pool, so tokens are averaged"
        yield f"{averaged}; if it has not learnt to embed sentences, dial-train teaches it"
    if note := device.slower_precision(options):
        yield note


def _idle(model: Model, options: EmbedOptions) -> list[str]:
    """Return the options that a mean of the vectors of words has no use for."""
    if not isinstance(model.encoder, TokenVectors | WordVectors):
        return []
    idle = {
        "--pooling": options.pooling not in (None, "mean"),
        "--precision": options.precision not in ("auto", "float32"),
        "--max-length": bool(options.max_length) and isinstance(model.encoder, WordVectors),
    }
    return [flag for flag, is_given in idle.items() if is_given]


def _is_aligned(options: EmbedOptions) -> bool:
    """Tell whether the templates of records go through an alignment layer, before the centre."""
    asked = options.own_templates and options.align is not False
    if not asked or Path(options.model).is_file():
        return False
    return has_alignment(model_folder(options.model))


def _head(options: EmbedOptions) -> Callable[[np.ndarray], np.ndarray]:
    """Return a head of the model as a function of arrays."""
    import torch

    from dialtools.encoder.kept_head import load_head

    head = load_head(model_folder(options.model), options.head or "")
    return lambda vectors_ND: head(torch.from_numpy(vectors_ND)).numpy()
