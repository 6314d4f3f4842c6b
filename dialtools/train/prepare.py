"""From a pair stream to what the loop needs: store, encoder, head, the pairs to train and to validate on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder.device import choose_device, choose_precision, default_batch_tokens
from dialtools.encoder.encoder import Encoder, not_here
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.errors import DataError
from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import digest
from dialtools.train.data.spool import spool, tokenise_store
from dialtools.train.data.store import COLUMNS, Store, is_finished, placeholders, texts
from dialtools.train.data.weights import pair_weights
from dialtools.train.loop import Trainer
from dialtools.train.objectives.base import Lengths, Setting
from dialtools.train.objectives.catalog import OBJECTIVES
from dialtools.train.options import TrainOptions

TOKENIZER_TEXTS = 300_000
MOST_PLACEHOLDERS = 1000


def spool_inputs(directory: Path, options: TrainOptions, policy: Policy) -> int:
    """Spool the pair stream, unless an interrupted run already did; return the number of pairs.

    Raises:
        DataError: if there are fewer than two pairs, or an objective that wants templates finds none.
    """
    done = directory / "spool.json"
    if done.is_file():
        return json.loads(done.read_text())["pairs"]
    shutil.rmtree(directory, ignore_errors=True)
    pairs = spool(
        directory, read_chunks(options.inputs, format=options.from_), policy, limit=options.limit
    )
    if pairs < 2:
        raise DataError(
            f"{pairs} pairs: nothing to contrast", hint="dial-pairs makes pairs from dialogues"
        )
    if (
        options.objective == "template"
        and not 0 < len(found := placeholders(directory)) <= MOST_PLACEHOLDERS
    ):
        raise DataError(
            f"{len(found)} placeholders such as {{SLOT}} in the templates",
            hint="dial-augment makes templates",
        )
    return pairs


def load_encoder(directory: Path, options: TrainOptions, pairs: int) -> Encoder:
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


def open_store(directory: Path, encoder: Encoder) -> Store:
    """Tokenise the spooled texts with the encoder's tokenizer, unless that is done, and map the store."""
    if not is_finished(directory):
        tokenise_store(directory, encoder.tokenizer)
    return Store(directory)


def cache_directory(options: TrainOptions) -> Path | None:
    """Return where --cache keeps the store of these inputs and this tokenizer, or None without one."""
    if not options.cache or not options.inputs or "-" in options.inputs:
        return None
    tokenizer = Path(options.model or "") / "tokenizer.json"
    parts = [
        *(digest(path) for path in options.inputs),
        digest(tokenizer)
        if options.model and tokenizer.is_file()
        else f"{options.model} {options.vocab_size}",
        str(options.limit),
        *COLUMNS,
        str(options.objective == "template"),
    ]
    return Path(options.cache) / blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


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


def divide(store: Store, options: TrainOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs to train on and those held out, by dialogue, of the wanted windows."""
    held = store.held_out(options.validation_share, seed=options.seed)
    wanted = np.isin(store.window, options.window) if options.window else np.ones(len(store), bool)
    train = np.nonzero(~held & wanted)[0]
    if len(train) < 2:
        hint = (
            "lower --validation-share"
            if not options.window
            else f"there are windows {', '.join(map(str, np.unique(store.window)))}"
        )
        raise DataError(f"{len(train)} pairs are left to train on", hint=hint)
    return train, np.nonzero(held & wanted)[0]


def validation_store(
    directory: Path, options: TrainOptions, encoder: Encoder, policy: Policy
) -> tuple[Store, np.ndarray] | None:
    """Return the pairs of --validate, tokenised, or None without it."""
    if not options.validate:
        return None
    if not is_finished(directory):
        spool(directory, read_chunks([options.validate]), policy)
        tokenise_store(directory, encoder.tokenizer)
    store = Store(directory)
    if len(store) < 2:
        raise DataError("holds fewer than two pairs", where=options.validate)
    return store, np.arange(len(store))


def describe_fresh(encoder: Encoder) -> str:
    """Return the one line that tells of a fresh encoder."""
    config: Any = encoder.backbone.config
    words = len(encoder.tokenizer)
    return f"no --model: a fresh encoder ({config.num_hidden_layers} layers x {config.hidden_size}) with a {words:,}-word tokenizer trained on these pairs"


def check_inputs(paths: Sequence[str], model: str | None) -> None:
    """Raise DataError for a named input that is not there, ModelError for a model, before anything is written."""
    if model and not (Path(model) / "config.json").is_file():
        from transformers.utils import cached_file

        try:
            cached_file(model, "config.json", local_files_only=True)
        except (OSError, ValueError):
            raise not_here(model) from None
    for path in paths:
        if path != "-" and not Path(path).exists():
            raise DataError("no such file or directory", where=path)
