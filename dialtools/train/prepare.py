"""From a spooled store to what the loop needs: encoder, objective, lengths, precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder.device import choose_device, choose_precision, default_batch_tokens
from dialtools.encoder.encoder import LONGEST, Encoder, positions
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.train.data.collate import Lengths
from dialtools.train.data.store import Store, placeholders, utterance_texts
from dialtools.train.loop import Trainer
from dialtools.train.objectives.base import Setting
from dialtools.train.objectives.catalog import SpeakerOptions
from dialtools.train.options import (
    TrainOptions,
    hyperparameters,
    objective_entry,
    objective_options,
)

TOKENIZER_TEXTS = 300_000
"""Texts that a fresh tokenizer is trained on, about: more of them change few of its words."""
TOKENIZER_BYTES = 64 << 20
"""And what they take at most, about, where they are long."""


def load_start(options: TrainOptions) -> Encoder | None:
    """Load --model; None without it."""
    if not options.model:
        return None
    return Encoder.load(
        options.model, pooling=options.pooling, trust_remote_code=options.trust_remote_code
    )


def ready_encoder(start: Encoder | None, directory: Path, options: TrainOptions) -> Encoder:
    """Return the encoder to train: without a start, one whose tokenizer learns spooled texts."""
    encoder = start or _fresh(directory, options)
    if objective_entry(options).templates:
        encoder.add_tokens(placeholders(directory))  # what stands for values is one token each
    return encoder


def _fresh(directory: Path, options: TrainOptions) -> Encoder:
    spooled = json.loads((directory / "spool.json").read_text())["utterances"]
    size = (directory / "texts.bin").stat().st_size
    every = max(1, spooled // TOKENIZER_TEXTS, size // TOKENIZER_BYTES)
    sample = list(utterance_texts(directory, every=every))
    return fresh_encoder(
        train_tokenizer(sample, vocab_size=options.vocab_size),
        hidden=options.hidden,
        layers=options.layers,
        pooling=options.pooling,
        seed=options.seed,
    )


def build_trainer(
    encoder: Encoder, store: Store, pairs: np.ndarray, options: TrainOptions
) -> Trainer:
    """Put encoder and objective on the device, and settle lengths and precision."""
    values, special = hyperparameters(options), objective_options(options)
    device = choose_device(options.device)
    speakers = isinstance(special, SpeakerOptions) and special.speaker_tokens
    if speakers:
        encoder.use_speaker_tokens(seed=options.seed)
    lengths = settle_lengths(
        encoder,
        response=values.max_length,
        context=options.context_max_length,
        turns=store.counts["longest_window"],
    )
    encoder.max_length = max(encoder.max_length, lengths.context, lengths.response)
    if values.freeze:
        encoder.freeze(values.freeze)
    encoder.to(device)

    setting = Setting(
        encoder=encoder,
        store=store,
        pairs=pairs,
        options=special,
        seed=options.seed,
        lengths=lengths,
        max_tokens=options.micro_batch_tokens or default_batch_tokens(device),
        role_tokens=encoder.role_tokens if speakers else None,
        model=options.model,
    )
    objective = objective_entry(options).load()(setting).to(device)
    return Trainer(
        objective,
        values,
        precision=choose_precision(options.precision, device),
        grad_cache=options.grad_cache,
        max_steps=options.max_steps,
    )


def settle_lengths(encoder: Encoder, *, response: int, context: int | None, turns: int) -> Lengths:
    """Return the tokens of a context and of a response at most: those the encoder has places for.

    Args:
        response: as wished.
        context: as wished; None is room for the response's tokens in each turn.
        turns: of the longest context.
    """
    longest = positions(encoder.backbone.config)
    response = min(response, longest)
    context = response * turns if context is None else context
    return Lengths(context=min(context, longest, LONGEST), response=response)


def describe_fresh(encoder: Encoder) -> str:
    """Return the one line that tells of a fresh encoder."""
    config: Any = encoder.backbone.config
    words = len(encoder.tokenizer)
    size = f"{config.num_hidden_layers} layers x {config.hidden_size}"
    return (
        f"no --model: a fresh encoder ({size}) with a {words:,}-word tokenizer "
        "trained on these pairs"
    )
