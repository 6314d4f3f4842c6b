"""What tests of objectives are made of, without a run of dial-train: stores, settings, steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pair_corpus import as_lines

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.options import Layer, resolve
from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.train import recipe
from dialtools.train.data.collate import Lengths
from dialtools.train.data.spool import spool, tokenise_store
from dialtools.train.data.store import Store
from dialtools.train.hyperparameters import Hyperparameters
from dialtools.train.loop import Trainer
from dialtools.train.objectives.base import Batch, Objective, Setting
from dialtools.train.objectives.catalog import ContrastOptions
from dialtools.train.options import TrainOptions

WORDS = list("abcdefghijklmnopqrstuvwxyz")


def recipe_options(**values: Any) -> TrainOptions:
    """Return the options of a recipe, `method`, with some of its values replaced."""
    by_key = {name.replace("_", "-"): value for name, value in values.items()}
    options, _ = resolve(TrainOptions, [Layer("options", by_key), *recipe.layers(by_key)])
    return options


def letters_encoder(seed: int = 0) -> Encoder:
    """A small encoder to whose tokenizer each letter is a word."""
    tokenizer = train_tokenizer(WORDS, vocab_size=60)
    return fresh_encoder(tokenizer, hidden=64, layers=1, pooling="mean", seed=seed)


def stored(
    files: Sequence[Sequence[dict[str, Any]]], folder: Path, encoder: Encoder, **spooling: Any
) -> Store:
    """Return the store of pairs; each list of records is a file, and so a chunk of its own."""
    paths = []
    for i, rows in enumerate(files):
        paths.append(str(folder / f"{i}.jsonl"))
        Path(paths[-1]).write_bytes(as_lines(rows))
    spool(folder / "store", read_chunks(paths), Policy(), **spooling)
    tokenise_store(folder / "store", encoder.tokenizer)
    return Store(folder / "store")


def setting(store: Store, encoder: Encoder, options: Any, **changes: Any) -> Setting[Any]:
    """Return what an objective works with: all pairs of a store."""
    usual: dict[str, Any] = {
        "encoder": encoder,
        "store": store,
        "pairs": np.arange(len(store)),
        "options": options,
        "seed": 0,
        "lengths": Lengths(40, 40),
        "max_tokens": 4000,
    }
    return Setting(**usual | changes)


def contrast_options(**changes: Any) -> ContrastOptions:
    """The options of --objective contrast: SimCSE's loss, no head, nothing masked."""
    usual: dict[str, Any] = {
        "loss": "simcse",
        "head": "none",
        "temperature": 0.5,
        "mask_false_negatives": False,
        "weights": "none",
    }
    return ContrastOptions(**usual | changes)


def trainer(objective: Objective[Any], *, max_steps: int = 4, **changes: Any) -> Trainer:
    """Return a trainer whose steps are small and plain: a constant rate, nothing decays."""
    usual: dict[str, Any] = {
        "optimizer": "adamw",
        "lr": 1e-3,
        "head_lr_multiplier": 1.0,
        "weight_decay": 0.0,
        "schedule": "constant",
        "warmup": 0.0,
        "batch_size": 4,
        "epochs": 1.0,
        "clip": 0.0,
        "max_length": 40,
    }
    values = Hyperparameters(**usual | changes)
    return Trainer(objective, values, precision="float32", grad_cache="off", max_steps=max_steps)


def said(encoder: Encoder, ids: Sequence[int]) -> str:
    """Return what tokens say, special ones too."""
    return " ".join(encoder.tokenizer.convert_ids_to_tokens(list(map(int, ids))))


def sequences(encoder: Encoder, batch: Batch) -> list[str]:
    """Return what each sequence of a batch says, in the order in which they were planned."""
    rows = [
        said(encoder, ids[row][mask[row].bool()])
        for ids, mask, *_ in batch.parts
        for row in range(len(ids))
    ]
    return [rows[place] for place in batch.place]
