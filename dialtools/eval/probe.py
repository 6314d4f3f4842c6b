"""A probe: a layer trained on frozen embeddings, as validation rows choose (WMDC, DiaEval).

N rows, D dimensions, A labels or classes. "One added MLP layer" is read as one linear layer with a
sigmoid for each label, or a softmax over classes, trained by Adam on cross-entropy; --hidden adds a
ReLU layer before it. The layer sees vectors less the training mean, all divided by one number: what
it can learn is the same, and Adam's steps do not depend on the encoder's scale. One BLAS thread, so
that any number of cores gives the same weights.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dialtools.advance import Advance
from dialtools.errors import DataError
from dialtools.eval.options.probes import ProbeOptions
from dialtools.eval.rows import Held, Parts, hold_out, read_parts
from dialtools.streams.vector_files import check_one_length
from dialtools.streams.vectors import Embeddings

LEAST_GAIN = 1e-3
"""Share of the validation loss that an epoch must take off to count as progress."""

Quality = Callable[[np.ndarray, np.ndarray], float]


def read_probe_parts(options: ProbeOptions) -> Parts[Embeddings]:
    """Return the three parts; without validation rows, a share of the training dialogues.

    Raises:
        DataError: as `read_parts` and `check_one_length`, and if there is nothing to choose
            hyper-parameters on.
    """
    parts = read_parts(options)
    check_one_length(parts)
    if len(parts.validation):
        return parts
    train, validation = _held_out(parts.train, options)
    for name, part in (("train", train), ("validation", validation)):
        if not len(part):
            raise DataError(f"holds no {name} rows", where=part.name)
    return Parts(train, validation, parts.test)


def _held_out(train: Embeddings, options: ProbeOptions) -> Held:
    if not options.validation_share:
        raise DataError(
            "no validation rows to choose hyper-parameters on",
            where=train.name,
            hint="--validation FILE, --validation-split NAME, or --validation-share 0.1",
        )
    named = next((name for name in ("dialogue_id", "id") if name in train.columns), None)
    names = train.columns[named] if named else range(len(train))
    return hold_out(train, names, options.validation_share, seed=options.seed)


@dataclass
class Probe:
    """The best layer found.

    Attributes:
        mean, scale: what vectors are moved by (D,) and divided by.
        chosen: its hyper-parameters, epoch and validation score, in percent.
    """

    layer: Any
    mean: np.ndarray
    scale: float
    chosen: dict[str, Any] = field(default_factory=dict)

    def __call__(self, vectors_ND: np.ndarray) -> np.ndarray:
        """Return (N, A) probabilities."""
        return self.layer.predict_proba(self.scaled(vectors_ND))

    def scaled(self, vectors_ND: np.ndarray) -> np.ndarray:
        """Return (N, D) float32 what the layer sees; differences of float32 may be beyond it."""
        return ((vectors_ND - self.mean) / self.scale).astype(np.float32)


def train(
    parts: Parts[Embeddings],
    targets: Parts[np.ndarray],
    quality: Quality,
    options: ProbeOptions,
    advance: Advance,
) -> Probe:
    """Train a layer at each point of the grid and return the best, of equal ones the first.

    Args:
        targets: of each part (N, A) zeros and ones, or (N,) classes 0..A-1, -1 for one that
            training rows lack.
        quality: from targets and (N, A) probabilities to a number, the higher the better.
        advance: called with 1 for each finished point.
    """
    from threadpoolctl import threadpool_limits

    vectors_ND = parts.train.matrix
    mean_D = vectors_ND.mean(0, dtype=np.float64)
    probe = Probe(None, mean_D, float((vectors_ND - mean_D).std()) or 1.0)
    rows = Rows(
        train=probe.scaled(vectors_ND),
        targets=targets.train,
        validation=probe.scaled(parts.validation.matrix),
        validation_targets=targets.validation,
    )
    best: Fit | None = None
    with threadpool_limits(1):
        for point in itertools.starmap(
            Point, itertools.product(options.hidden, options.lr, options.weight_decay)
        ):
            fit = _fit(rows, quality, options, point)
            if best is None or fit.score > best.score:
                best = fit
            advance(1)
    assert best is not None, "the grid has a point"
    chosen = {**best.point._asdict(), "epochs": best.epoch, "validation": 100 * best.score}
    return replace(probe, layer=best.layer, chosen=chosen)


class Rows(NamedTuple):
    """Scaled vectors and targets to train on and to choose on."""

    train: np.ndarray
    targets: np.ndarray
    validation: np.ndarray
    validation_targets: np.ndarray


class Point(NamedTuple):
    """Hyper-parameters: units of a hidden layer (0: none), learning rate, L2 penalty."""

    hidden: int
    rate: float
    decay: float


class Fit(NamedTuple):
    """A layer at its best epoch, and its score on the validation rows."""

    point: Point
    layer: Any
    epoch: int
    score: float


def _fit(rows: Rows, quality: Quality, options: ProbeOptions, point: Point) -> Fit:
    """Train until `patience` epochs lowered neither the validation loss nor raised the score.

    At the start nothing is above a threshold yet and the score stands still, while the loss already
    falls.
    """
    layer = _layer(point, min(options.batch_size, len(rows.train)), options.seed)
    many = rows.targets.ndim == 2
    classes = np.arange(rows.targets.shape[1] if many else int(rows.targets.max()) + 1)
    best = Fit(point, None, 0, float("-inf"))
    lowest, progress = np.inf, 0
    for epoch in range(1, options.epochs + 1):
        layer.partial_fit(rows.train, rows.targets, classes=classes)
        probabilities = layer.predict_proba(rows.validation)
        score = quality(rows.validation_targets, probabilities)
        loss = cross_entropy(rows.validation_targets, probabilities)
        if score > best.score or loss < lowest * (1 - LEAST_GAIN):
            progress, lowest = epoch, min(lowest, loss)
        if score > best.score:
            best = Fit(point, copy.deepcopy(layer), epoch, score)
        if epoch - progress >= options.patience:
            break
    return best


def _layer(point: Point, batch: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    # scikit-learn divides alpha by the size of the batch; times it, a decay means the same for
    # every --batch-size
    return MLPClassifier(
        (point.hidden,) if point.hidden else (),
        learning_rate_init=point.rate,
        alpha=point.decay * batch,
        batch_size=batch,  # pyright: ignore[reportArgumentType]  (a number, or "auto")
        random_state=seed,
    )


def cross_entropy(targets: np.ndarray, probabilities_NA: np.ndarray) -> float:
    """Return the mean loss in nats, of each label or of the true class; class -1 does not count."""
    p = np.clip(probabilities_NA, 1e-7, 1 - 1e-7)
    if targets.ndim == 2:
        return float(-np.where(targets == 1, np.log(p), np.log(1 - p)).mean())
    known = np.flatnonzero(targets >= 0)
    return float(-np.log(p[known, targets[known]]).mean()) if len(known) else 0.0
