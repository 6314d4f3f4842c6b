"""Processes that take the steps of a run with one that leads, which does all the rest.

Each machine has its own copy of the token store, which its processes map. The first process of a
machine is the one whose LOCAL_RANK is 0. The leader sends it the store and the checkpoint; the
others of its machine wait, and read what it has written.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from dialtools.errors import DataError
from dialtools.streams.full import naming
from dialtools.streams.scraps import temporary_folder
from dialtools.train import checkpoint
from dialtools.train.data.store import Store, is_finished
from dialtools.train.loop import NotFinite, Trainer
from dialtools.train.material import divide
from dialtools.train.options import TrainOptions
from dialtools.train.prepare import as_wished, build_trainer, load_start, ready_encoder
from dialtools.train.ranks import Ranks, noticed

PIECE = 32 << 20
"""Bytes of a file that are sent at once."""


def lead(trainer: Trainer, folder: Path, *, common: bool) -> None:
    """Give those who follow the store, the checkpoint of the folder, and the weights.

    Args:
        folder: the working folder, which may have a checkpoint.
        common: other machines may find the store under its name.
    """
    ranks, store = trainer.ranks, trainer.setting.store.directory.absolute()
    ranks.shared({"store": str(store), "folder": str(folder), "common": common})
    if ranks.size > 1:
        with noticed():
            group = _receivers(ranks, wants=False)
            if group is not None:
                files = [(path, Path("store", path.name)) for path in sorted(store.iterdir())]
                files.append((folder / checkpoint.FILE, Path(checkpoint.FILE)))
                _send([(path, name) for path, name in files if path.is_file()], group)
            _where(ranks, None)
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


@contextmanager
def brought_files(ranks: Ranks) -> Generator[tuple[Path, Path]]:
    """Yield where this machine has the store of the run, and the folder with its checkpoint."""
    told = ranks.shared(None)
    store, folder = Path(told["store"]), Path(told["folder"])
    elsewhere = ranks.rank != ranks.local and not (told["common"] and is_finished(store))
    first = elsewhere and ranks.local == 0
    # none beside the leader: it ends its processes before they could remove theirs
    with temporary_folder() if first else nullcontext() as own:
        with noticed():
            group = _receivers(ranks, wants=first)
            if own:
                _receive(own, group)
            here = _where(ranks, own)
        yield (here / "store", here) if elsewhere and here else (store, folder)


def _receivers(ranks: Ranks, *, wants: bool) -> Any:
    """Return the group of the leader and all processes that want its files; None if none does."""
    wanted = torch.zeros(ranks.size, dtype=torch.int64)
    wanted[ranks.rank] = int(wants)
    dist.all_reduce(wanted)
    members = wanted.nonzero()[:, 0].tolist()
    return dist.new_group([0, *members], backend="gloo") if members else None


def _send(files: list[tuple[Path, Path]], group: Any) -> None:
    listing = [(str(name), path.stat().st_size) for path, name in files]
    dist.broadcast_object_list([listing], src=0, group=group)
    for path, _ in files:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                bytes_ = torch.from_numpy(np.frombuffer(bytearray(piece), np.uint8))
                dist.broadcast(bytes_, src=0, group=group)


def _receive(own: Path, group: Any) -> None:
    box: list[Any] = [None]
    dist.broadcast_object_list(box, src=0, group=group)
    (own / "store").mkdir()
    for name, size in box[0]:
        with naming(own), (own / name).open("wb") as file:
            for start in range(0, size, PIECE):
                piece = torch.empty(min(PIECE, size - start), dtype=torch.uint8)
                dist.broadcast(piece, src=0, group=group)
                file.write(piece.numpy())


def _where(ranks: Ranks, own: Path | None) -> Path | None:
    """Return the folder that the first process of this machine has written, if it has."""
    folders: list[str | None] = [None] * ranks.size
    dist.all_gather_object(folders, None if own is None else os.fspath(own))
    first = folders[ranks.rank - ranks.local]
    return Path(first) if first else None
