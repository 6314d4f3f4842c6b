"""Vectors of texts and templates, mixed by a lambda that validation rows choose (TaDSE eq. 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialtools.errors import DataError
from dialtools.eval.labelled import Labelled
from dialtools.eval.options.intent import IntentOptions
from dialtools.eval.rows import Held, Parts, hold_out
from dialtools.metrics.space import unit
from dialtools.streams.vectors import Embeddings

TEXT, TEMPLATE = "text_embedding", "template_embedding"
HELD_OUT = 0.1
"""Share of the training rows to choose lambda on, where there are no validation rows."""


def mixture(part: Embeddings, weight: float) -> np.ndarray:
    """Return lambda t + (1 - lambda) u of unit vectors (N, D)."""
    return weight * unit(part.vector(TEMPLATE)) + (1 - weight) * unit(part.vector(TEXT))


def with_templates(known: Labelled, part: Embeddings) -> Labelled:
    """Return training rows and, once for each label, the templates of theirs."""
    templates = unit(part.vector(TEMPLATE))
    label_N = np.unique(known.labels, return_inverse=True)[1]
    template_N = np.unique(templates, axis=0, return_inverse=True)[1].ravel()
    both_N2 = np.column_stack([label_N, template_N])
    rows = np.sort(np.unique(both_N2, axis=0, return_index=True)[1])
    return Labelled(
        np.concatenate([known.vectors, templates[rows]]),
        known.labels + [known.labels[row] for row in rows],
    )


def rows_to_choose_on(parts: Parts[Embeddings], options: IntentOptions) -> Held:
    """Return the rows to learn from, and those to choose lambda on: validation rows, or a tenth.

    Raises:
        DataError: if there are none.
    """
    train = parts.train
    if len(parts.validation):
        return Held(train, parts.validation)
    # texts of one utterance each: no row belongs to another, so that each goes by its number
    held = hold_out(train, range(len(train)), HELD_OUT, seed=options.seed)
    if not len(held.train) or not len(held.validation):
        raise DataError(f"{len(train)} training rows: none to choose lambda on", where=train.name)
    return held


def best(
    weights: tuple[float, ...], accuracy: Callable[[float], float]
) -> tuple[float, dict[float, float]]:
    """Return the lambda of the highest accuracy, of equal ones the smallest; and each one's."""
    accuracies = {weight: accuracy(weight) for weight in weights}
    return min(accuracies, key=lambda weight: (-accuracies[weight], weight)), accuracies
