"""One fine-tuning run: draw examples, train encoder and head, test the best state.

N rows, n rows of a batch, T tokens, D dimensions, C outputs of the head.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.batches import pad, token_batches
from dialtools.encoder.device import autocast, moved, settled_device
from dialtools.encoder.encode import encode, on_its_way
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.forecast import Forecast
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.placed import placed
from dialtools.encoder.randomness import seeded
from dialtools.errors import DataError, ModelError
from dialtools.finetune.options import FinetuneOptions
from dialtools.finetune.schedule import Course, Schedule, follow
from dialtools.finetune.task import Figures, Items, Task
from dialtools.metrics.episodes import Episode, sample_sets
from dialtools.streams.tally import counted

EPSILON = 1e-6
"""Of transformers' own AdamW, which the reference takes; torch's default is 1e-8."""
DIGITS = 6
"""Of what each test row adds, as score records keep it."""
TIMED_ROWS = 256
"""Of the test, to tell how long all take."""
SPREAD = 0.02
"""Standard deviation of the head's weights at the start, as BERT's."""


@dataclass
class Result:
    """How a run went: what the job keeps of it.

    Attributes:
        figures: scores on the test rows, in percent.
        each: what each test row adds to those figures that are means over rows.
        validation: the score of the best state on validation rows.
        chosen: the step of that state.
        steps: how many steps the run took.
        rows: how many rows it was trained on.
    """

    figures: Figures
    each: dict[str, list[float]]
    validation: float
    chosen: int
    steps: int
    rows: int
    seconds: float


@dataclass
class _Rows:
    """Token sequences of each side, and the truth."""

    sides: list[list[np.ndarray]]
    truth: np.ndarray

    def select(self, rows: np.ndarray) -> _Rows:
        return _Rows([[side[i] for i in rows] for side in self.sides], self.truth[rows])


class Tuner:
    """An encoder, and the rows of a task as its tokens.

    Each run begins with the encoder as it was loaded.
    """

    def __init__(self, task: Task[Any], encoder: Encoder) -> None:
        self.task, self.encoder = task, encoder
        self.device, self.precision = settled_device(task.options)
        task.cut = 0
        self.train = self._tokens(task.train)
        self.test = self._tokens(task.test)
        self.start = _copy(encoder)
        placed(encoder.train(), self.device, self.precision)
        self.batch_tokens = task.options.batch_tokens or encoder.batch_tokens(self.precision)

    def _tokens(self, items: Items) -> _Rows:
        return _Rows(self.task.sequences(self.encoder, items), items.truth)

    @property
    def texts(self) -> int:
        """How many texts there are, in training and test rows."""
        return len(self.train.sides) * (len(self.train.truth) + len(self.test.truth))

    def run(self, shots: int, seed: int) -> Result:
        """Fine-tune on `shots` rows a label drawn by `seed`, and test; the same every time.

        Raises:
            DataError: if there are no rows to validate on.
            ModelError: if the loss is not finite.
        """
        began = time.monotonic()
        options = self.task.options
        episode = drawn(self.task, shots, seed)
        self.encoder.load_state_dict(self.start)
        with seeded(options.train_seed, self.device):
            head = self._head()
            course = self._train(head, episode)

        outputs = self._outputs(head, self.test)
        return Result(
            figures=self.task.figures(outputs, self.test.truth),
            each=self._each(outputs),
            validation=course.best,
            chosen=course.chosen,
            steps=course.steps,
            rows=len(episode.train),
            seconds=time.monotonic() - began,
        )

    def _head(self) -> nn.Module:
        task = self.task
        head = build_head(self.encoder.dimension, task.outputs, dropout=task.dropout)
        return head.to(self.device)

    def _each(self, outputs: Sequence[np.ndarray]) -> dict[str, list[float]]:
        shares = self.task.each(outputs, self.test.truth)
        return {
            metric: np.round(values.astype(np.float64), DIGITS).tolist()
            for metric, values in shares.items()
        }

    def _train(self, head: nn.Module, episode: Episode) -> Course:
        """Train, and leave encoder and head in the best state."""
        options = self.task.options
        train = self.train.select(episode.train)
        validation = self.train.select(episode.val)
        model = nn.ModuleList([self.encoder, head])
        step = self._stepper(model, head, train)
        best = _copy(model)

        def validate() -> float:
            outputs = self._outputs(head, validation)
            model.train()  # computing outputs has switched dropout off
            return self.task.quality(self.task.figures(outputs, validation.truth))

        model.train()
        course = follow(
            schedule_of(options, len(episode.train)),
            step=step,
            validate=validate,
            keep=lambda: best.update(_copy(model)),
            draw=np.random.default_rng(options.train_seed),
        )
        model.load_state_dict(best)
        return course

    def _stepper(
        self, model: nn.Module, head: nn.Module, train: _Rows
    ) -> Callable[[np.ndarray, float], None]:
        """Return what takes a step of some rows, at a share of the highest rate.

        That raises ModelError if the loss is not finite.
        """
        lr = self.task.options.lr
        optimiser = torch.optim.AdamW(
            model.parameters(), lr=lr, weight_decay=0.0, eps=EPSILON, fused=True
        )

        def step(rows: np.ndarray, rate: float) -> None:
            for group in optimiser.param_groups:
                group["lr"] = lr * rate
            optimiser.zero_grad(set_to_none=True)
            batch = train.select(rows)
            outputs = [head(self._vectors(side)) for side in batch.sides]
            loss = self.task.loss(outputs, moved(torch.from_numpy(batch.truth), self.device))
            value = on_its_way(loss.detach())
            loss.backward()
            if not np.isfinite(value()):  # a GPU goes on with backward meanwhile
                raise ModelError("the loss is not finite", hint="try a smaller --lr")
            optimiser.step()

        return step

    def time_steps(self, forecast: Forecast, shots: int) -> float:
        """Take steps that change nothing, until the forecast is complete.

        Returns:
            the seconds that a row takes in a test.
        """
        options = self.task.options
        episode = drawn(self.task, shots, options.seed)
        head = self._head()
        model = nn.ModuleList([self.encoder, head])
        step = self._stepper(model, head, self.train.select(episode.train))
        first = np.arange(min(options.batch_size, len(episode.train)))
        while not forecast.ready:
            began = time.monotonic()
            step(first, 0.0)
            forecast.note(time.monotonic() - began)
        tested = self.test.select(np.arange(min(TIMED_ROWS, len(self.test.truth))))
        began = time.monotonic()
        self._outputs(head, tested)
        return (time.monotonic() - began) / len(tested.truth)

    def _vectors(self, sequences: Sequence[np.ndarray]) -> Tensor:
        """Return (n, D) vectors with their graph, encoded in batches of like length."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        packed = self.encoder.is_packed
        parts = token_batches(lengths, max_tokens=self.batch_tokens, packed=packed)
        special = self.encoder.special
        with autocast(self.device, self.precision):
            vectors = [self.encoder(*pad([sequences[i] for i in rows], special)) for rows in parts]
        back = moved(torch.from_numpy(np.argsort(np.concatenate(parts))), self.device)
        return torch.cat(vectors)[back]

    @torch.no_grad()
    def _outputs(self, head: nn.Module, rows: _Rows) -> list[np.ndarray]:
        """Return (N, C) or (N, D) of each side, without dropout."""
        head.eval()
        return [self._side_outputs(head, side) for side in rows.sides]

    def _side_outputs(self, head: nn.Module, side: Sequence[np.ndarray]) -> np.ndarray:
        """Return (N, C) or (N, D); equal sequences are encoded once."""
        keys = [sequence.tobytes() for sequence in side]
        distinct = dict(zip(keys, side, strict=True))
        vectors_ND = encode(
            self.encoder,
            list(distinct.values()),
            batch_tokens=self.batch_tokens,
            precision=self.precision,
        )
        outputs = head(torch.from_numpy(vectors_ND).to(self.device)).cpu().numpy()
        place = {key: i for i, key in enumerate(distinct)}
        return outputs[[place[key] for key in keys]]


def drawn(task: Task[Any], shots: int, seed: int) -> Episode:
    """Return which rows a run learns from, and which validate.

    Raises:
        DataError: if none are left to validate on.
    """
    episode = sample_sets(task.labels, shots, seed=seed)
    if not len(episode.val):
        raise DataError(f"{len(episode.train)} training rows, none left to validate on")
    return episode


def idle(task: Task[Any], shots: int) -> str:
    """Return the line on runs whose rows are too few for the rate to be above 0, or ""."""
    options = task.options
    rows = len(drawn(task, shots, options.seed).train)
    if schedule_of(options, rows).total:
        return ""
    epochs = counted(options.epochs, "epoch")
    return (
        f"nothing is learnt of {counted(rows, 'row')} in {epochs}: together fewer than a batch of "
        f"{options.batch_size:,}; more --epochs or a smaller --batch-size"
    )


def schedule_of(options: FinetuneOptions, rows: int) -> Schedule:
    return Schedule(
        rows=rows,
        batch_size=options.batch_size,
        epochs=options.epochs,
        validate_every=options.validate_every,
        patience=options.patience,
        warmup=options.warmup,
    )


def build_head(dimension: int, outputs: int, *, dropout: float) -> nn.Module:
    """Return dropout and one layer; without outputs, nothing."""
    if not outputs:
        return nn.Identity()
    layer = nn.Linear(dimension, outputs)
    nn.init.normal_(layer.weight, std=SPREAD)
    nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Dropout(dropout), layer)


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def open_encoder(name: str, task: Task[Any]) -> Encoder:
    """Load the encoder to start from, with the pooling of the task and its longest side."""
    options = task.options
    return load_encoder(
        name,
        pooling=options.pooling,
        max_length=task.longest,
        trust_remote_code=options.trust_remote_code,
    )
