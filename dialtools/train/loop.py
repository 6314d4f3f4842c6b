"""The training loop: a generator of steps. The command decides what to print, log and save."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor, nn

from dialtools.encoder.device import autocast
from dialtools.encoder.randomness import seeded
from dialtools.errors import ModelError
from dialtools.train import gradcache, optimiser
from dialtools.train.data.sampler import ByWindow, Sampler
from dialtools.train.data.store import Store
from dialtools.train.objectives.base import Batch, Objective, Part
from dialtools.train.options import TrainOptions

ACTIVATION_BUDGET = 2 << 30
LAYER_FLOATS = 34  # activations a layer keeps for backward, in units of the hidden size a token


@dataclass
class Step:
    """What happened in a step; lengths in tokens, loss in nats a pair (a word, of masked words)."""

    step: int
    epoch: float
    loss: float
    lr: float
    tokens: int
    tokens_per_second: float
    figures: dict[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the step as a line of the log, with the figures of its objective."""
        facts = vars(self).copy()
        return facts | facts.pop("figures")


class NotFinite(ModelError):
    """A loss that is NaN or infinite; `pairs` are those of its batch."""

    def __init__(self, step: int, pairs: np.ndarray) -> None:
        super().__init__(
            f"the loss is not finite at step {step}",
            hint="try a smaller --lr or a higher --temperature",
        )
        self.pairs = pairs


def build_sampler(pairs: np.ndarray, store: Store, options: TrainOptions) -> Sampler | ByWindow:
    """Return the batches that the options ask for."""
    size, seed = options.batch_size or 2, options.seed
    if options.batches == "by-window":
        return ByWindow(pairs, store.window[pairs], batch_size=size, seed=seed)
    return Sampler(pairs, batch_size=size, seed=seed)


class Trainer:
    """Encoder, objective and optimiser, and the step they have reached."""

    def __init__(self, objective: Objective, *, precision: str) -> None:
        self.setting, self.objective, self.precision = objective.setting, objective, precision
        self.encoder, self.options = objective.setting.encoder, objective.setting.options
        self.sampler = build_sampler(objective.setting.pairs, objective.setting.store, self.options)
        epochs = self.options.align_epochs if self.options.align else self.options.epochs
        planned = round((epochs or 0) * self.sampler.per_epoch)
        self.total = max(1, planned) if self.options.max_steps is None else self.options.max_steps
        self.optimiser = optimiser.build(
            self.options.optimizer or "adam",
            self.encoder,
            objective,
            lr=self.options.lr or 0.0,
            head_multiplier=self.options.head_lr_multiplier or 1.0,
            weight_decay=self.options.weight_decay or 0.0,
        )
        self.step = 0

    def steps(self) -> Iterator[Step]:
        """Yield each step after it was taken, until the last.

        Raises:
            NotFinite: before the weights are touched.
        """
        self.encoder.train()
        while self.step < self.total:
            yield self._one_step()

    def _one_step(self) -> Step:
        started = time.monotonic()
        batch = self.objective.collate(self.sampler.batch(self.step), self.step)
        rate = optimiser.set_rates(
            self.optimiser,
            self.options.schedule or "constant",
            self.step,
            total=self.total,
            warmup=self.options.warmup or 0.0,
        )
        self.optimiser.zero_grad(set_to_none=True)
        figures: dict[str, float] = {}
        with seeded(
            (self.options.seed << 32) + self.step, self.encoder.device
        ):  # dropout depends on the step alone
            loss = gradcache.backward(
                self._encode,
                batch.parts,
                lambda rows: self.objective.loss(rows, batch, figures),
                device=self.encoder.device,
                cached=self.cached(batch),
            )
        value = float(loss)
        if not np.isfinite(value):
            raise NotFinite(self.step + 1, batch.pairs)
        if self.options.clip:
            nn.utils.clip_grad_norm_(
                [*self.encoder.parameters(), *self.objective.parameters()], self.options.clip
            )
        self.optimiser.step()
        self.step += 1
        seconds = time.monotonic() - started
        return Step(
            step=self.step,
            epoch=self.step / self.sampler.per_epoch,
            loss=value,
            lr=(self.options.lr or 0) * rate,
            tokens=batch.tokens,
            tokens_per_second=batch.tokens / seconds,
            figures=figures,
        )

    def _encode(self, part: Part) -> Tensor:
        device = self.encoder.device
        with autocast(device, self.precision):
            return self.objective.encode(
                tuple(column.to(device, non_blocking=True) for column in part)
            )

    def cached(self, batch: Batch) -> bool:
        """Tell whether a batch is encoded twice, one micro-batch in memory at a time."""
        if self.options.grad_cache != "auto":
            return self.options.grad_cache == "on"
        config = self.encoder.backbone.config
        layers = getattr(config, "num_hidden_layers", 12)
        size = 2 if self.precision == "bfloat16" else 4
        return batch.padded * layers * config.hidden_size * LAYER_FLOATS * size > ACTIVATION_BUDGET
