"""The heads, optimisers and learning-rate schedules by name."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry


@dataclass(frozen=True)
class HeadEntry(Entry):
    """A head: from the encoder's dimension to a module.

    Attributes:
        per_window: pairs of each window size have a head of their own, of this kind.
        own_width: its vectors have a width of their own, whatever the encoder's.
    """

    per_window: bool = False
    own_width: bool = False


_HEADS = "dialtools.train.heads"
HEADS = {
    "mlp": HeadEntry(f"{_HEADS}:mlp", "two layers to 128 dimensions (DSE)", own_width=True),
    "tanh": HeadEntry(f"{_HEADS}:tanh", "a layer and tanh (SimCSE)"),
    "linear": HeadEntry(f"{_HEADS}:linear", "a layer (WMDC, one for all windows)"),
    "window-linear": HeadEntry(
        f"{_HEADS}:linear", "a layer for each window size (WMDC)", per_window=True
    ),
    "none": HeadEntry("torch.nn:Identity", "no head"),
}


@dataclass(frozen=True)
class OptimiserEntry(Entry):
    """An optimiser: from groups of parameters and a rate to what takes the steps.

    Attributes:
        lazy: it takes the gradients of some rows of a table for those of the whole.
    """

    lazy: bool = False


OPTIMISERS = {
    "adam": OptimiserEntry("torch.optim:Adam", "Adam, its weight decay part of the gradient"),
    "adamw": OptimiserEntry("torch.optim:AdamW", "Adam with decoupled weight decay"),
    "lazy-adam": OptimiserEntry(
        "dialtools.train.optimiser:LazyAdam",
        "Adam, of a static encoder only the rows of the batch's tokens",
        lazy=True,
    ),
}

_SCHEDULES = "dialtools.train.optimiser"
SCHEDULES = {
    "constant": Entry(f"{_SCHEDULES}:constant", "the rate stays after the warm-up"),
    "linear": Entry(f"{_SCHEDULES}:linear", "the rate falls to 0 in a line"),
    "cosine": Entry(f"{_SCHEDULES}:cosine", "the rate falls to 0 along half a cosine"),
    "one-cycle": Entry(f"{_SCHEDULES}:one_cycle", "up and down along cosines, momentum against"),
}
"""(step, total, warmup) -> Pace."""
