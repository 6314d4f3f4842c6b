"""A process that takes the steps of a run with others; the one that leads does the rest."""

from __future__ import annotations

from pathlib import Path

from dialtools.errors import DataError
from dialtools.train import checkpoint
from dialtools.train.data.store import Store, is_finished
from dialtools.train.gather import divide
from dialtools.train.loop import Trainer
from dialtools.train.options import TrainOptions
from dialtools.train.prepare import as_wished, build_trainer, load_start, ready_encoder
from dialtools.train.ranks import Ranks


def lead(trainer: Trainer, folder: Path) -> None:
    """Tell those who follow where the store and the checkpoint are, and give them the weights."""
    ranks = trainer.ranks
    ranks.shared({"store": str(trainer.setting.store.directory.absolute()), "folder": str(folder)})
    _align(trainer)


def follow(options: TrainOptions, ranks: Ranks) -> None:
    """Take the steps of the run that another process leads, until it says that it ends.

    Raises:
        LostRank: if another process has ended before.
        DataError: if what the leader reads is not here: machines must share the folder.
    """
    start = load_start(options)
    told = ranks.shared(None)
    store = Path(told["store"])
    if not is_finished(store):
        hint = "processes on several machines share the folder of -o, or --cache"
        raise DataError("not on this machine", where=store, hint=hint)
    opened = Store(store)
    encoder = as_wished(ready_encoder(start, store, options), opened, options)
    train, _ = divide(opened, options)
    trainer = build_trainer(encoder, opened, train, options, ranks=ranks)
    checkpoint.restore(trainer, Path(told["folder"]))
    _align(trainer)
    for _ in trainer.steps():
        pass


def _align(trainer: Trainer) -> None:
    for module in (trainer.encoder, trainer.objective):
        trainer.ranks.align(module)
