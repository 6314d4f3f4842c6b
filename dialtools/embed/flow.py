"""BERT-flow: an invertible map of sentence vectors to a Gaussian, learnt without labels.

Li et al. 2020.
A Glow on vectors: levels of steps; a step is actnorm, a fixed permutation and an additive coupling;
after each level but the last, half of the dimensions are done.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.randomness import seeded
from dialtools.encoder.weights import fill
from dialtools.errors import ModelError

LEVELS = 3
DEPTH = 3  # steps a level
WIDTH = 32  # of the hidden layers of a coupling
BATCH = 64
RATE = 1e-3
SETTLING_ROWS = 1024
"""Rows that actnorm is settled on: a batch of 64 has too few for the variance of a dimension."""
CONSTANT = 1e-4
"""Of the largest deviation: a dimension below it is taken for constant."""


class Step(nn.Module):
    """Actnorm, permutation, additive coupling."""

    order: Tensor

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.passed = dimension // 2
        self.shift = nn.Parameter(torch.zeros(dimension))
        self.log_scale = nn.Parameter(torch.zeros(dimension))
        self.register_buffer("order", torch.randperm(dimension))
        self.coupling = nn.Sequential(
            nn.Linear(self.passed, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, dimension - self.passed),
        )
        last = cast("nn.Linear", self.coupling[-1])  # at first a coupling changes nothing
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def forward(self, x_ND: Tensor) -> Tensor:
        x = ((x_ND + self.shift) * self.log_scale.exp())[:, self.order]
        passed, changed = x[:, : self.passed], x[:, self.passed :]
        return torch.cat([passed, changed + self.coupling(passed)], 1)

    @torch.no_grad()
    def settle(self, x_ND: Tensor) -> Tensor:
        """Make a first batch leave actnorm with mean 0 and variance 1; return what leaves the step.

        A dimension that never varies (MiniLM has one) stays 0: scaled up, the least step away from
        it would be a leap.
        """
        spread = x_ND.std(0)
        varies = spread > CONSTANT * spread.max()
        self.shift.copy_(-x_ND.mean(0))
        self.log_scale.copy_(torch.where(varies, -spread.clamp(min=1e-30).log(), 0))
        return self(x_ND)


class Flow(nn.Module):
    """D dimensions to D dimensions, without loss."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        sizes = [max(2, dimension >> level) for level in range(LEVELS)]
        self.levels = nn.ModuleList(
            nn.ModuleList(Step(size) for _ in range(DEPTH)) for size in sizes
        )
        self.sizes = sizes

    def forward(self, x_ND: Tensor, *, settle: bool = False) -> Tensor:
        """Return (N, D) latent vectors."""
        done: list[Tensor] = []
        for level in range(LEVELS):
            for step in self._steps(level):
                x_ND = step.settle(x_ND) if settle else step(x_ND)
            if level + 1 < LEVELS:
                keep = self.sizes[level + 1]
                done.append(x_ND[:, keep:])
                x_ND = x_ND[:, :keep]
        return torch.cat([x_ND, *reversed(done)], 1)

    def _steps(self, level: int) -> Iterable[Step]:
        return cast("Iterable[Step]", self.levels[level])

    def bits(self, x_ND: Tensor) -> Tensor:
        """Return the mean negative log likelihood, in bits a dimension."""
        z = self(x_ND)
        gauss = 0.5 * (z.pow(2).sum(1) + self.dimension * math.log(2 * math.pi))
        steps = (step for level in range(LEVELS) for step in self._steps(level))
        volume = sum((step.log_scale.sum() for step in steps), torch.zeros(()))
        return (gauss.mean() - volume) / (math.log(2) * self.dimension)


@dataclass
class FittedFlow:
    """A flow as a fitted transform of arrays."""

    flow: Flow

    @property
    def width(self) -> int:
        return self.flow.dimension

    @torch.no_grad()
    def __call__(self, vectors_ND: np.ndarray) -> np.ndarray:
        """Return (N, D) float32 latent vectors."""
        return self.flow(torch.from_numpy(np.ascontiguousarray(vectors_ND, np.float32))).numpy()

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the state of the flow."""
        return {name: value.numpy() for name, value in self.flow.state_dict().items()}

    @classmethod
    def of(cls, tensors: dict[str, np.ndarray], path: object = None) -> FittedFlow:
        """Return the flow that `tensors` are the state of.

        Raises:
            ModelError: if they are of none.
        """
        for name, value in tensors.items():
            if name.endswith("order") and not np.array_equal(np.sort(value), np.arange(len(value))):
                raise ModelError(f"{name} is no order of dimensions", where=path)
        flow = Flow(tensors.get("levels.0.0.shift", np.zeros(2)).size)
        state = {name: torch.from_numpy(value) for name, value in tensors.items()}
        fill(flow, state, where=path)
        return cls(flow)


def fit_flow(vectors_ND: np.ndarray, *, seed: int) -> FittedFlow:
    """Learn a flow from vectors: one pass, batches of 64, Adam at 1e-3."""
    with seeded(seed):
        flow = Flow(vectors_ND.shape[1])
        rows = torch.from_numpy(np.ascontiguousarray(vectors_ND, np.float32))
        order = torch.randperm(len(rows))
        flow(rows[order[:SETTLING_ROWS]], settle=True)
        optimiser = torch.optim.Adam(flow.parameters(), RATE)
        for batch in order.split(BATCH):
            optimiser.zero_grad()
            flow.bits(rows[batch]).backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            optimiser.step()
    return FittedFlow(flow)
