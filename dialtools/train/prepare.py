"""From a spooled store to what the loop needs: encoder, objective, lengths, precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder.device import choose_device, choose_precision, default_batch_tokens
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.train.data.store import Store, placeholders, texts
from dialtools.train.data.weights import pair_weights
from dialtools.train.loop import Trainer
from dialtools.train.objectives.base import Lengths, Setting
from dialtools.train.objectives.catalog import OBJECTIVES
from dialtools.train.options import TrainOptions

TOKENIZER_TEXTS = 300_000


def load_encoder(directory: Path, options: TrainOptions) -> Encoder:
    """Load --model, or make a fresh encoder with a tokenizer trained on the spooled texts."""
    if options.model:
        return _with_slots(
            Encoder.load(
                options.model, pooling=options.pooling, trust_remote_code=options.trust_remote_code
            ),
            directory,
            options,
        )
    spooled = json.loads((directory / "spool.json").read_text())["utterances"]
    sample = list(texts(directory, every=max(1, spooled // TOKENIZER_TEXTS)))
    tokenizer = train_tokenizer(sample, vocab_size=options.vocab_size)
    fresh = fresh_encoder(
        tokenizer,
        hidden=options.hidden,
        layers=options.layers,
        pooling=options.pooling or "mean",
        seed=options.seed,
    )
    return _with_slots(fresh, directory, options)


def _with_slots(encoder: Encoder, directory: Path, options: TrainOptions) -> Encoder:
    """Let what stands for values in templates be tokens of their own."""
    if options.objective == "template":
        encoder.add_tokens(placeholders(directory))
    return encoder


def build_trainer(
    encoder: Encoder, store: Store, pairs: np.ndarray, options: TrainOptions
) -> Trainer:
    """Put encoder and objective on the device, and settle lengths and precision."""
    device = choose_device(options.device)
    if options.speaker_tokens:
        encoder.use_speaker_tokens(seed=options.seed)
    longest = getattr(encoder.backbone.config, "max_position_embeddings", None) or 512
    response = min(options.max_length or 32, longest)
    context = min(
        options.context_max_length or response * store.counts["longest_window"], longest, 512
    )
    encoder.max_length = max(encoder.max_length, context, response)
    if options.freeze:
        encoder.freeze(options.freeze)
    encoder.to(device)
    weights = pair_weights(
        store, pairs, kind=options.weights or "given", mean_one=options.weights_mean_one
    )
    setting = Setting(
        encoder,
        store,
        pairs,
        options,
        weights,
        Lengths(context, response),
        max_tokens=options.micro_batch_tokens or default_batch_tokens(device),
        role_tokens=encoder.role_tokens if options.speaker_tokens else None,
    )
    objective = OBJECTIVES[options.objective or "contrast"].load()(setting).to(device)
    return Trainer(objective, precision=choose_precision(options.precision, device))


def describe_fresh(encoder: Encoder) -> str:
    """Return the one line that tells of a fresh encoder."""
    config: Any = encoder.backbone.config
    words = len(encoder.tokenizer)
    size = f"{config.num_hidden_layers} layers x {config.hidden_size}"
    return (
        f"no --model: a fresh encoder ({size}) with a {words:,}-word tokenizer "
        "trained on these pairs"
    )
