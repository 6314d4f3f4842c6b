"""The training loop: a generator of steps. The command decides what to print, log and save."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.budget import activation_bytes
from dialtools.encoder.device import DTYPES, autocast
from dialtools.encoder.encode import on_its_way
from dialtools.encoder.randomness import seeded
from dialtools.errors import ModelError
from dialtools.train import gradcache, optimiser
from dialtools.train.draws import mixed_seed
from dialtools.train.hyperparameters import Hyperparameters
from dialtools.train.objectives.base import Batch, Figures, Objective, Part, Setting
from dialtools.train.ranks import ALONE, LostRank, Ranks
from dialtools.train.saved import Saved


@dataclass
class Step:
    """What happened in a step; lengths in tokens, loss in nats a pair (a word, of masked words)."""

    step: int
    epoch: float
    loss: float
    lr: float
    tokens: int
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds

    def record(self) -> dict[str, Any]:
        """Return the step as a line of the log, with the figures of its objective."""
        facts = vars(self) | {"tokens_per_second": self.tokens_per_second} | self.figures
        return {name: fact for name, fact in facts.items() if name not in ("seconds", "figures")}


GENTLER = "try a smaller --lr or a higher --temperature"


class NotFinite(ModelError):
    """A loss that is NaN or infinite; `pairs` are those of its batch."""

    def __init__(self, step: int, pairs: np.ndarray) -> None:
        super().__init__(f"the loss is not finite at step {step}", hint=GENTLER)
        self.pairs = pairs


class Trainer:
    """Encoder, objective and optimiser, and the step they have reached.

    Args:
        max_steps: take so many steps whatever the epochs; None goes by the epochs.
        grad_cache: `on`, `off`, or `auto`: encode a batch twice if it would need much memory.
        ranks: the processes that take each step together.
    """

    def __init__(
        self,
        objective: Objective[Any],
        values: Hyperparameters,
        *,
        precision: str,
        grad_cache: str,
        max_steps: int | None,
        ranks: Ranks = ALONE,
    ) -> None:
        self.ranks = ranks
        self.objective = objective
        self.encoder = objective.setting.encoder
        self.values = values
        self.precision = precision
        self.grad_cache = grad_cache
        self.sampler = objective.sampler(values.batch_size)
        self.total = planned_steps(values, self.sampler.per_epoch, wished=max_steps)
        self.optimiser = optimiser.build(
            values.optimizer,
            self.encoder,
            objective,
            lr=values.lr,
            head_multiplier=values.head_lr_multiplier,
            weight_decay=values.weight_decay,
        )
        modules = (self.encoder, objective)
        self.parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        learner = nn.ModuleDict({"encoder": self.encoder, "head": objective})  # a head may be kept
        self.saved = Saved(learner, decay=values.ema, share=values.merge_with_start)
        self.step = 0

    @property
    def setting(self) -> Setting[Any]:
        return self.objective.setting

    def agree(self) -> None:
        """Cut batches as the process that leads does: its GPU may have another memory."""
        tokens = self.ranks.shared(self.setting.max_tokens)
        packed = bool(self.ranks.shared(self.setting.packed))
        self.objective.cut(max_tokens=tokens, packed=packed)

    def steps(self) -> Iterator[Step]:
        """Yield each step after it was taken, until the last.

        Raises:
            NotFinite: before the weights are touched.
        """
        self.encoder.train()
        with _taking_turns(), ThreadPoolExecutor(1) as ahead:
            # a batch is made while the one before is learnt from, on another core
            coming = ahead.submit(self._batch, self.step)
            try:
                while self.ranks.go(self.step < self.total):
                    started = time.monotonic()
                    batch = coming.result()
                    assert batch is not None
                    coming = ahead.submit(self._batch, self.step + 1)
                    yield self._one_step(batch, started)
            except GeneratorExit:  # the caller goes no further, and so does no other process
                with suppress(LostRank):
                    self.ranks.go(False)
                raise

    def check_weights(self) -> None:
        """Look at the weights before they are kept: a finite loss may have an infinite gradient.

        Not in each step: a GPU is waited for.

        Raises:
            ModelError: if one is no number.
        """
        if not all(parameter.isfinite().all() for parameter in self.parameters):
            raise ModelError(f"the weights are not finite after step {self.step}", hint=GENTLER)

    def _batch(self, step: int) -> Batch | None:
        """Return the batch of a step; none after the last."""
        if step >= self.total:
            return None
        return self.objective.collate(self.sampler.batch(step), step)

    def _one_step(self, batch: Batch, started: float) -> Step:
        rate = optimiser.set_rates(
            self.optimiser,
            self.values.schedule,
            self.step,
            total=self.total,
            warmup=self.values.warmup,
        )
        self.optimiser.zero_grad(set_to_none=True)
        # Dropout depends on seed and step alone, so that resume is exact.
        seed = mixed_seed(self.setting.seed, self.step)
        with seeded(seed, self.encoder.device):
            arrival = self._backward(batch, seed)
        figures = arrival()  # a GPU goes on with backward meanwhile
        loss = figures.pop("loss")
        if not np.isfinite(loss):
            raise NotFinite(self.step + 1, batch.pairs)
        if self.values.clip:
            optimiser.clip(self.optimiser, self.values.clip)
        self.optimiser.step()
        self.step += 1
        self.saved.follow(self.step)
        return Step(
            step=self.step,
            epoch=self.step / self.sampler.per_epoch,
            loss=loss,
            lr=self.values.lr * rate,
            tokens=batch.tokens,
            seconds=time.monotonic() - started,
            figures=figures,
        )

    def _backward(self, batch: Batch, seed: int) -> Callable[[], dict[str, float]]:
        """Run a batch forward and backward; return what waits for its loss and figures.

        One that does not fit into a GPU's memory is encoded twice.

        Raises:
            ModelError: if it does not fit even then, or if other processes take the step too.
        """
        arrivals: list[Callable[[], dict[str, float]]] = []

        def loss(rows: Tensor) -> Tensor:
            figures: Figures = {}
            total = self.objective.nested_loss(rows.float(), batch, figures)
            arrivals.append(_on_their_way(figures | {"loss": total}))
            return total

        cached = self.cached(batch)
        try:
            gradcache.backward(
                self._encode,
                batch.parts,
                loss,
                seed=seed,
                cached=cached,
                parameters=self.parameters,
                ranks=self.ranks,
            )
            return arrivals[-1]
        except torch.OutOfMemoryError:
            pass  # not in the handler: what it holds has to go first
        self.optimiser.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        if cached or self.grad_cache == "off" or self.ranks.size > 1:
            tokens = max(part[0].numel() for part in batch.parts)
            raise ModelError(
                f"the memory of the GPU is full at step {self.step + 1}",
                hint=f"--grad-cache on, then --micro-batch-tokens {tokens // 2}",
            )
        self.grad_cache = "on"
        return self._backward(batch, seed)

    def estimated_seconds(self, few: int) -> float:
        """Return the seconds of a step by a few of its micro-batches, 0 if it has hardly more.

        Nothing is learnt. They are taken twice: the first time waits for libraries to settle.
        """
        self.encoder.train()
        batch = self.objective.collate(self.sampler.batch(self.step), self.step)
        if len(batch.parts) < 4 * few:
            return 0.0
        parts = batch.parts[:: -(-len(batch.parts) // few)]
        cached = self.cached(batch)
        for _ in range(2):
            began = time.monotonic()
            with seeded(self.setting.seed, self.encoder.device):
                told = gradcache.backward(self._encode, parts, torch.sum, seed=0, cached=cached)
                float(told)  # a GPU has then come to the end of all that it was given
            seconds = time.monotonic() - began
        self.optimiser.zero_grad(set_to_none=True)
        return seconds * batch.tokens / sum(int(part[1].sum()) for part in parts)

    def _encode(self, part: Part) -> Tensor:
        with autocast(self.encoder.device, self.precision):
            return self.objective.encode(part)

    def cached(self, batch: Batch) -> bool:
        """Tell whether a batch is encoded twice, one micro-batch in memory at a time."""
        if self.grad_cache != "auto":
            return self.grad_cache == "on"
        floats = batch.computed * self.encoder.floats_a_token
        needed = floats * DTYPES[self.precision].itemsize / self.ranks.size
        return needed > activation_bytes(self.encoder.device)


@contextmanager
def _taking_turns() -> Iterator[None]:
    """Let threads take turns often: who feeds a GPU must not wait 5 ms for one that makes a batch.

    Python's own interval is that long.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _on_their_way(figures: Figures) -> Callable[[], dict[str, float]]:
    """Begin to fetch figures that a GPU may still be computing; return what waits for them."""
    tensors = {name: x.detach() for name, x in figures.items() if isinstance(x, Tensor)}
    arrival = on_its_way(torch.stack([x.float() for x in tensors.values()]))

    def arrived() -> dict[str, float]:
        known = dict(zip(tensors, arrival().tolist(), strict=True))
        return {name: known.get(name, number) for name, number in figures.items()}

    return arrived


def planned_steps(values: Hyperparameters, per_epoch: int, *, wished: int | None = None) -> int:
    """Return the steps that are wished, or those of the passes over the pairs.

    Of a fraction of a pass there is one step at least, of no pass none.
    """
    if wished is not None:
        return wished
    passes = round(values.epochs * per_epoch)
    return max(1, values.min_steps, passes) if values.epochs > 0 else 0
