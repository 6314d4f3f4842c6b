"""Geometry of embeddings: uniformity, alignment, cosines, isotropy, margins (TaDSE 8.1)."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.eval.options.space import SpaceOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score
from dialtools.metrics import space
from dialtools.metrics.space import unit
from dialtools.streams.vectors import Embeddings, read_embeddings

LABELLED = ("alignment", "intra-cosine", "inter-cosine", "margin")


def evaluate(options: SpaceOptions) -> list[Score]:
    """Return the scores of each file, and of each part of it; not in percent.

    Raises:
        DataError: if there are fewer than two rows.
    """
    scores = []
    for path in options.inputs:
        source = read_embeddings([path])
        scores += [
            score
            for setting, part in rows_by_part(
                source, split=options.split, part=options.part
            ).items()
            for score in _scores(part, setting, options)
        ]
    return scores


def _scores(part: Embeddings, setting: str, options: SpaceOptions) -> list[Score]:
    rows = _rows(part, options)
    if len(rows) < 2:
        raise DataError(f"{len(rows)} rows: a space has two or more", where=part.name)
    vectors = unit(part.vector(options.vectors) if options.vectors else part.matrix)[rows]
    labels = part.columns.get(options.label)
    classes = np.unique([str(labels[i]) for i in rows], return_inverse=True)[1] if labels else None
    average, inside, across = space.cosines(vectors, classes)
    values = {
        "uniformity": space.uniformity(vectors),
        "average-cosine": average,
        "effective-rank": space.effective_rank(vectors),
        "isotropy": space.isotropy(vectors),
    }
    if classes is not None:
        values |= dict(
            zip(
                LABELLED,
                (space.alignment(vectors, classes), inside, across, inside - across),
                strict=True,
            )
        )
    nan = float("nan")
    return [
        Score("space", part.name, setting, metric, value, nan, nan, nan, 1, len(rows), options.seed)
        for metric, value in values.items()
        if value == value
    ]


def _rows(part: Embeddings, options: SpaceOptions) -> np.ndarray:
    if len(part) <= options.most:
        return np.arange(len(part))
    return np.sort(
        np.random.default_rng(options.seed).choice(len(part), options.most, replace=False)
    )
