"""A process that takes the steps of a run with others; the one that leads does the rest."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dialtools.errors import DataError
from dialtools.train import checkpoint
from dialtools.train.data.store import Store
from dialtools.train.loop import NotFinite, Trainer
from dialtools.train.machines import brought_files, send_files
from dialtools.train.material import divide
from dialtools.train.options import TrainOptions
from dialtools.train.prepare import as_wished, build_trainer, load_start, ready_encoder
from dialtools.train.ranks import Ranks


def lead(trainer: Trainer, folder: Path, *, common: bool) -> None:
    """Give those who follow the store, the checkpoint of the folder, and the weights.

    Args:
        common: other machines may find the store under its name.
    """
    store = trainer.setting.store.directory.absolute()
    send_files(trainer.ranks, store, folder, common=common)
    _align(trainer)


def follow(options: TrainOptions, ranks: Ranks) -> None:
    """Take the steps of the run that another process leads, until it says that it ends.

    Raises:
        LostRank: if another process has ended before.
    """
    start = load_start(options)
    with brought_files(ranks) as (store, folder):
        opened = Store(store)
        encoder = as_wished(ready_encoder(start, store, options), opened, options)
        train, _ = divide(opened, options)
        trainer = build_trainer(encoder, opened, train, options, ranks=ranks)
        checkpoint.restore(trainer, folder)
        _align(trainer)
        with suppress(NotFinite, DataError):  # of a batch: who leads has it too, and tells
            for _ in trainer.steps():
                pass


def _align(trainer: Trainer) -> None:
    trainer.agree()
    for module in (trainer.encoder, trainer.objective):
        trainer.ranks.align(module)
