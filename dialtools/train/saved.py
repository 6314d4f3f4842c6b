"""What a run saves of the weights it has learnt: the last, an average, a part of the way to them.

The average is of the weights after each step; merging goes from the start to the average, or to the
last weights without one. The optimiser goes on from the last weights whatever is saved.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from dialtools.encoder.weights import merged
from dialtools.train.hyperparameters import Hyperparameters

YOUNG = 10
"""An average of t steps forgets like one over t / 9 of them, until its decay is reached: what a
short run began with is soon gone (TensorFlow's rule)."""


class Saved:
    """The weights that would be saved now, of an encoder and its head that go on learning.

    Made before the first step, when its weights are the start's; frozen ones are no part of it.

    Args:
        decay: share of the average that a step keeps; 0 takes no average.
        share: of the way from the start, above 0; 1 goes all of it.

    Attributes:
        average: of the weights by name; empty without one.
    """

    def __init__(self, learner: nn.Module, *, decay: float, share: float) -> None:
        learns = {name: p for name, p in learner.named_parameters() if p.requires_grad}
        self.decay, self.share = decay, share
        self._parameters = learns if decay or share < 1 else {}
        self._start = _copies(learns) if share < 1 else {}
        self.average = _copies(learns) if decay else {}

    def follow(self, step: int) -> None:
        """Take the weights after a step (1-based) into the average."""
        kept = min(self.decay, (1 + step) / (YOUNG + step))
        if self.average:  # by few calls of a GPU
            learnt = [self._parameters[name].detach() for name in self.average]
            torch.ops.aten._foreach_lerp_.Scalar([*self.average.values()], learnt, 1 - kept)

    def restore(self, average: Mapping[str, Tensor]) -> None:
        """Go on with the average of a checkpoint.

        Raises:
            KeyError: if it lacks a weight.
        """
        for name, tensor in self.average.items():
            tensor.copy_(average[name])

    @contextmanager
    def in_place(self) -> Generator[None]:
        """Give the learner the weights that would be saved now, until the block ends."""
        last = {name: parameter.data for name, parameter in self._parameters.items()}
        try:
            for name, parameter in self._parameters.items():
                parameter.data = self._weight(name, self.average.get(name, parameter.data))
            yield
        finally:
            for name, data in last.items():
                self._parameters[name].data = data

    def _weight(self, name: str, trained: Tensor) -> Tensor:
        """Return a tensor that a block may write to."""
        if not self._start:
            return trained.clone()
        whole = merged(self._start[name].cpu(), [(trained.cpu(), self.share)])
        return whole.to(trained.device)


def _copies(parameters: Mapping[str, nn.Parameter]) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in parameters.items()}


def in_words(values: Hyperparameters) -> str:
    """Return what is saved."""
    parts = ["the last weights"]
    if values.ema:
        parts = [f"a moving average of the weights (decay {values.ema:g})"]
    if values.merge_with_start < 1:
        parts.append(f"{values.merge_with_start:g} of the way from the start")
    if values.center:
        parts.append("vectors less their mean over the texts")
    return ", ".join(parts)
