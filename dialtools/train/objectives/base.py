"""What an objective is to the loop: which tokens are encoded, how, and the loss of the vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.batches import pad, token_batches
from dialtools.encoder.device import moved
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.tokens import SpecialTokens
from dialtools.train.data.collate import Joining, Lengths, alone
from dialtools.train.data.sampler import Grouped, Sampler
from dialtools.train.data.store import Store

Part = tuple[Tensor, ...]
Figures = dict[str, Any]
"""Numbers to log, by name; tensors of one number stay on their device."""
OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, kw_only=True)
class Setting(Generic[OptionsT]):
    """What an objective works with.

    Attributes:
        pairs: those of the store to train on.
        options: the objective's own, settled.
        seed: of heads, of what is drawn.
        max_tokens: tokens of a micro-batch at most.
        packed: whether micro-batches are cut as those of an encoder that leaves out padding; else
            padded tokens count.
        role_tokens: with speaker tokens, the id for an unknown, a user's and a system's turn.
        model: where the encoder was loaded from; None for a fresh one.
        precision: in which the encoder computes.
        processes: among which the micro-batches of a batch are dealt out.
    """

    encoder: Encoder
    store: Store
    pairs: np.ndarray
    options: OptionsT
    seed: int
    lengths: Lengths
    max_tokens: int
    packed: bool = False
    role_tokens: tuple[int, int, int] | None = None
    model: str | None = None
    precision: str = "float32"
    processes: int = 1

    @property
    def special(self) -> SpecialTokens:
        return self.encoder.special

    @property
    def joining(self) -> Joining:
        return Joining(self.special, self.lengths, self.role_tokens)

    def texts(self, utterances: Iterable[int]) -> list[np.ndarray]:
        """Return the tokens of utterances that stand alone; of long ones, the first."""
        return alone(self.store, np.fromiter(utterances, np.int64), self.joining)


@dataclass
class Batch:
    """N pairs ready to encode.

    Attributes:
        parts: micro-batches (ids_NT, mask_NT, ...), longest first.
        place: where each sequence of the plan stands among the rows of all parts.
        sizes: tokens of each sequence of the plan.
        extra: what the objective's loss wants to know besides.
        packed: whether padding is left out.
    """

    parts: list[Part]
    place: np.ndarray
    sizes: np.ndarray
    pairs: np.ndarray
    extra: Any
    packed: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of all sequences, without padding."""
        return int(self.sizes.sum())

    @property
    def computed(self) -> int:
        """Tokens of all micro-batches, with padding unless that is left out."""
        return self.tokens if self.packed else sum(part[0].numel() for part in self.parts)


class Objective(nn.Module, Generic[OptionsT]):
    """What is learnt; its parameters are those of its head, which is dropped at the end.

    Attributes:
        least: pairs of a batch at least: a single one has no other of the batch to be told from.
    """

    least = 2

    def __init__(self, setting: Setting[OptionsT]) -> None:
        super().__init__()
        self.setting = setting
        lengths = getattr(setting.options, "matryoshka", ())  # masked words have none
        self.prefixes = sorted({*lengths} - {setting.encoder.dimension})

    def cut(self, *, max_tokens: int, packed: bool) -> None:
        """Cut micro-batches of so many tokens, with or without padding."""
        self.setting = replace(self.setting, max_tokens=max_tokens, packed=packed)

    def sampler(self, batch_size: int) -> Sampler | Grouped:
        """Return which pairs each step sees."""
        s = self.setting
        return Sampler(s.pairs, batch_size=batch_size, seed=s.seed, least=self.least)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Return the sequences of a batch of pairs as micro-batches."""
        raise NotImplementedError

    def encode(self, part: Part) -> Tensor:
        """Return the rows of a micro-batch: (n, D) pooled vectors."""
        return self.setting.encoder(part[0], part[1])

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean loss of a batch from the rows of its parts, in float32; note figures."""
        raise NotImplementedError

    def nested_loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean of the losses of a batch over --matryoshka's prefixes and the whole.

        Kusupati et al. (2022). Zeros stand behind a prefix: a head, which takes whole vectors and
        is dropped at the end, has one weight for all lengths, of which a prefix meets the first
        columns (their MRL-E). Figures are those of the whole.
        """
        whole = rows.shape[1]
        losses = [
            self.loss(nn.functional.pad(rows[:, :length], (0, whole - length)), batch, figures)
            for length in self.prefixes
        ]
        return torch.stack([*losses, self.loss(rows, batch, figures)]).mean()

    def note(self) -> str:
        """Return the line on what it begins with, where a user may not know; as a rule, ""."""
        return ""

    def save(self, directory: Path) -> None:
        """Write what stays of the objective beside the model: nothing, as a rule."""

    def batches(self, sequences: Sequence[np.ndarray], pairs: np.ndarray, extra: Any) -> Batch:
        """Return a batch of token sequences, cut into micro-batches of like length."""
        sizes = np.fromiter((len(s) for s in sequences), np.int64, len(sequences))
        setting = self.setting
        most = setting.max_tokens
        if setting.processes > 1:
            most = min(most, -(-int(sizes.sum()) // setting.processes))
        groups = token_batches(sizes, max_tokens=most, packed=setting.packed)
        place = np.empty(len(sequences), np.int64)
        place[np.concatenate(groups)] = np.arange(len(sequences))
        parts = [pad([sequences[i] for i in group], setting.special) for group in groups]
        return Batch(parts, place, sizes, pairs, extra, setting.packed)

    def tensor(self, values: np.ndarray) -> Tensor:
        """Return an array as a tensor on the encoder's device; a GPU is not waited for."""
        return moved(torch.from_numpy(np.ascontiguousarray(values)), self.setting.encoder.device)
