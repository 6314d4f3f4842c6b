"""Files that hold vectors of texts and of their templates: mixed by a lambda that validation rows choose (TaDSE eq. 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialtools.chance import share
from dialtools.errors import DataError
from dialtools.eval import labelled
from dialtools.eval.labelled import Labelled
from dialtools.eval.options.labelled import IntentOptions
from dialtools.metrics.geometry import unit
from dialtools.streams.vectors import Embeddings, read_embeddings

TEXT, TEMPLATE = "text_embedding", "template_embedding"
HELD_OUT = 0.1


def real(part: Embeddings, options: IntentOptions) -> Embeddings:
    """Return the rows that nobody made, unless --synthetic wants all."""
    if options.synthetic or not any(part.columns.get("synthetic") or ()):
        return part
    return part.select(
        np.asarray([i for i, made in enumerate(part.columns["synthetic"]) if not made], np.int64)
    )


def mixture(part: Embeddings, weight: float) -> np.ndarray:
    """Return lambda t + (1 - lambda) u of unit vectors (N, D)."""
    return weight * unit(part.vector(TEMPLATE)) + (1 - weight) * unit(part.vector(TEXT))


def with_templates(known: Labelled, part: Embeddings) -> Labelled:
    """Return training rows and, once for each label, the templates of theirs."""
    templates = unit(part.vector(TEMPLATE))
    _, first = np.unique(
        np.column_stack(
            [
                np.unique(known.labels, return_inverse=True)[1],
                np.unique(templates, axis=0, return_inverse=True)[1].ravel(),
            ]
        ),
        axis=0,
        return_index=True,
    )
    rows = np.sort(first)
    return Labelled(
        np.concatenate([known.vectors, templates[rows]]),
        known.labels + [known.labels[i] for i in rows],
    )


def validation(
    source: Embeddings, train: Embeddings, options: IntentOptions
) -> tuple[Embeddings, Embeddings]:
    """Return the rows to learn from and those to choose on: of --validation, of the split column, or a tenth held out.

    Raises:
        DataError: if there are none.
    """
    if options.validation:
        return train, real(read_embeddings([options.validation]), options)
    if options.inputs and (split := labelled.validation_split(source, options)):
        return train, real(labelled.rows_of(source, options, split), options)
    held = np.fromiter(
        (share(str(i), seed=options.seed) < HELD_OUT for i in range(len(train))), bool, len(train)
    )
    if held.all() or not held.any():
        raise DataError(f"{len(train)} training rows: none to choose lambda on", where=source.name)
    return train.select(np.nonzero(~held)[0]), train.select(np.nonzero(held)[0])


def best(
    weights: tuple[float, ...], accuracy: Callable[[float], float]
) -> tuple[float, dict[float, float]]:
    """Return the lambda of the highest accuracy (of equal ones the smallest), and the accuracy of each."""
    found = {weight: accuracy(weight) for weight in weights}
    return min(found, key=lambda weight: (-found[weight], weight)), found
