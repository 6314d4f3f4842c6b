"""The training loop: a generator of steps. The command decides what to print, log and save."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.device import autocast
from dialtools.encoder.encoder import Encoder
from dialtools.errors import ModelError
from dialtools.train import duplicates, gradcache, health, optimiser
from dialtools.train.collate import Batch, Lengths, collate
from dialtools.train.losses.catalog import LOSSES, RAW
from dialtools.train.options import TrainOptions
from dialtools.train.sampler import Sampler
from dialtools.train.store import Store

ACTIVATION_BUDGET = 2 << 30
LAYER_FLOATS = 34  # activations a layer keeps for backward, in units of the hidden size a token


@dataclass
class Step:
    """What happened in a step; lengths in tokens, loss in nats a pair."""

    step: int
    epoch: float
    loss: float
    alignment: float
    uniformity: float
    lr: float
    tokens: int
    tokens_per_second: float
    false_negatives: float


class NotFinite(ModelError):
    """A loss that is NaN or infinite; `pairs` are those of its batch."""

    def __init__(self, step: int, pairs: np.ndarray) -> None:
        super().__init__(f"the loss is not finite at step {step}", hint="try a smaller --lr or a higher --temperature")
        self.pairs = pairs


class Trainer:
    """Encoder, head and optimiser, and the step they have reached."""

    def __init__(self, encoder: Encoder, head: nn.Module, store: Store, pairs: np.ndarray, options: TrainOptions, *,
                 lengths: Lengths, precision: str, max_tokens: int, role_tokens: tuple[int, int, int] | None) -> None:  # fmt: skip
        self.encoder, self.head, self.store, self.options = encoder, head, store, options
        self.lengths, self.precision, self.max_tokens, self.role_tokens = lengths, precision, max_tokens, role_tokens
        self.sampler = Sampler(pairs, batch_size=options.batch_size or 2, seed=options.seed)
        planned = round((options.epochs or 0) * self.sampler.per_epoch)
        self.total = max(1, planned) if options.max_steps is None else options.max_steps
        self.optimiser = optimiser.build(options.optimizer or "adam", encoder, head, lr=options.lr or 0.0,
                                         head_multiplier=options.head_lr_multiplier or 1.0,
                                         weight_decay=options.weight_decay or 0.0)  # fmt: skip
        self.loss_function: Callable[..., Tensor] = LOSSES[options.loss or "hard-negative"].load()
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
        batch = collate(self.store, self.sampler.batch(self.step), self.encoder.special, self.lengths,
                        max_tokens=self.max_tokens, role_tokens=self.role_tokens)  # fmt: skip
        rate = optimiser.factor(self.options.schedule or "constant", self.step, total=self.total, warmup=self.options.warmup or 0.0)  # fmt: skip
        optimiser.set_rates(self.optimiser, rate)
        self.optimiser.zero_grad(set_to_none=True)
        facts: dict[str, float] = {}
        devices = [self.encoder.device] if self.encoder.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed((self.options.seed << 32) + self.step)  # dropout depends on the step alone
            loss = gradcache.backward(self._encode, batch.parts, lambda vectors: self._loss(vectors, batch, facts), cached=self._cached(batch))  # fmt: skip
        value = float(loss)
        if not np.isfinite(value):
            raise NotFinite(self.step + 1, batch.pairs)
        if self.options.clip:
            nn.utils.clip_grad_norm_([*self.encoder.parameters(), *self.head.parameters()], self.options.clip)
        self.optimiser.step()
        self.step += 1
        seconds = time.monotonic() - started
        return Step(step=self.step, epoch=self.step / self.sampler.per_epoch, loss=value, lr=(self.options.lr or 0) * rate,
                    tokens=batch.tokens, tokens_per_second=batch.tokens / seconds, **facts)  # fmt: skip

    def _encode(self, part: tuple[Tensor, Tensor]) -> Tensor:
        device = self.encoder.device
        with autocast(device, self.precision):
            return self.encoder(part[0].to(device, non_blocking=True), part[1].to(device, non_blocking=True))

    def _loss(self, vectors: Tensor, batch: Batch, facts: dict[str, float]) -> Tensor:
        """Return the weighted mean loss of a batch, from the vectors of its parts."""
        rows = vectors[batch.row_of.to(vectors.device)]
        headed = self.head(rows)
        unit = nn.functional.normalize(headed, dim=1)
        anchor, positive = (headed if self.options.loss in RAW else unit).chunk(2)
        n = len(anchor)
        false = duplicates.same_text(batch.keys[:n], batch.keys[n:])
        if self.options.mask_false_negatives:
            false |= duplicates.neighbours(self.store.dialogue[batch.pairs], self.store.turn[batch.pairs])
        excluded = torch.from_numpy(false).to(vectors.device) if self.options.mask_false_negatives else None
        losses = self.loss_function(anchor, positive, temperature=self.options.temperature, excluded=excluded)
        weight = torch.from_numpy(np.asarray(self.store.weight[batch.pairs])).to(losses)
        first, second = unit.chunk(2)
        facts.update(alignment=health.alignment(first, second), uniformity=health.uniformity(unit), false_negatives=duplicates.rate(false))  # fmt: skip
        return (weight * losses).mean()

    def _cached(self, batch: Batch) -> bool:
        if self.options.grad_cache != "auto":
            return self.options.grad_cache == "on"
        config = self.encoder.backbone.config
        layers = getattr(config, "num_hidden_layers", 12)
        size = 2 if self.precision == "bfloat16" else 4
        return batch.padded * layers * config.hidden_size * LAYER_FLOATS * size > ACTIVATION_BUDGET
