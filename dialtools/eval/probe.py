"""A probe: one layer trained on frozen embeddings, its hyper-parameters chosen on validation rows (WMDC, DiaEval).

N rows, D dimensions, A labels or classes. "One added MLP layer" is read as one linear layer with a sigmoid for each
label, or a softmax over classes, trained by Adam on cross-entropy; --hidden adds a ReLU layer before it. The layer sees
vectors less the training mean, all divided by one number: what it can learn is the same, and Adam's steps do not
depend on the encoder's scale. One BLAS thread, so that any number of cores gives the same weights.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialtools.eval.options import ProbeOptions
from dialtools.eval.parts import Parts

Quality = Callable[[np.ndarray], float]


@dataclass
class Probe:
    """The best layer found.

    Attributes:
        mean, scale: what vectors are moved by (D,) and divided by.
        chosen: its hyper-parameters, epoch and validation score.
    """

    layer: Any
    mean: np.ndarray
    scale: float
    chosen: dict[str, Any] = field(default_factory=dict)

    def __call__(self, vectors_ND: np.ndarray) -> np.ndarray:
        """Return (N, A) probabilities."""
        return self.layer.predict_proba((vectors_ND - self.mean) / self.scale)


def train(parts: Parts, targets: np.ndarray, quality: Quality, options: ProbeOptions, advance: Callable[[int], None]) -> Probe:  # fmt: skip
    """Train a layer at each point of the grid and return the best.

    Args:
        targets: (N, A) zeros and ones, or (N,) classes 0..A-1, of the training rows.
        quality: from (N, A) probabilities of the validation rows to a number, the higher the better.
        advance: told of each finished point.
    """
    from threadpoolctl import threadpool_limits

    vectors = parts.train.matrix
    mean_D = vectors.mean(0)
    scale = float((vectors - mean_D).std()) or 1.0
    inputs, others = (vectors - mean_D) / scale, (parts.validation.matrix - mean_D) / scale
    best = Probe(None, mean_D, scale)
    with threadpool_limits(1):
        for hidden, rate, decay in itertools.product(options.hidden, options.rates, options.decays):
            layer, epoch, score = _fit(inputs, targets, others, quality, options, hidden=hidden, rate=rate, decay=decay)
            if best.layer is None or score > best.chosen["validation"]:
                best.layer = layer
                best.chosen = {"hidden": hidden, "rate": rate, "decay": decay, "epochs": epoch, "validation": score}
            advance(1)
    return best


def _fit(inputs: np.ndarray, targets: np.ndarray, others: np.ndarray, quality: Quality, options: ProbeOptions, *,
         hidden: int, rate: float, decay: float) -> tuple[Any, int, float]:  # fmt: skip
    """Return the layer at its best epoch, that epoch, and its score; stops when `patience` epochs brought nothing."""
    from sklearn.neural_network import MLPClassifier

    size = min(options.batch, len(inputs))
    # scikit-learn divides alpha by the size of the batch; times it, a decay means the same for every --batch
    layer = MLPClassifier((hidden,) if hidden else (), learning_rate_init=rate, alpha=decay * size, batch_size=size, random_state=options.seed)  # fmt: skip
    classes = np.arange(targets.shape[1] if targets.ndim == 2 else int(targets.max()) + 1)
    best, best_epoch, best_score = None, 0, -np.inf
    for epoch in range(1, options.epochs + 1):
        layer.partial_fit(inputs, targets, classes=classes)
        score = quality(layer.predict_proba(others))
        if score > best_score:
            best, best_epoch, best_score = copy.deepcopy(layer), epoch, score
        elif epoch - best_epoch >= options.patience:
            break
    return best, best_epoch, float(best_score)
