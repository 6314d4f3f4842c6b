"""Geometry of embeddings: uniformity, alignment, cosines, isotropy, margins (TaDSE 8.1)."""

from __future__ import annotations

import numpy as np

from dialtools.chance import sample_of_rows
from dialtools.errors import DataError
from dialtools.eval.labelled import numbers
from dialtools.eval.options.space import SpaceOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score
from dialtools.metrics import space
from dialtools.metrics.space import unit
from dialtools.streams.making import model_named
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import Embeddings


def evaluate(options: SpaceOptions) -> list[Score]:
    """Return the scores of each file, and of each part of it; not in percent.

    Raises:
        DataError: if there are fewer than two rows, or no column of labels of the name given.
    """
    scores = []
    for path in options.files:
        source = read_embeddings([path], limit=options.limit)
        parts = rows_by_part(source, split=options.split, part=options.part)
        for setting, part in parts.items():
            scores += _scores(part, setting, options)
    return scores


def _scores(part: Embeddings, setting: str, options: SpaceOptions) -> list[Score]:
    rows = sample_of_rows(len(part), options.max_rows, seed=options.seed)
    if len(rows) < 2:
        raise DataError(f"{counted(len(rows), 'row')}: a space has two or more", where=part.name)
    vectors_ND = unit(part.chosen(options.vectors)[1])[rows]
    labels = part.column_if(options.label, usual=SpaceOptions.label)
    classes_N = numbers([labels[row] for row in rows]) if labels else np.full(len(rows), -1)
    return [
        Score(
            task="space",
            dataset=options.name or part.name,
            setting=setting,
            metric=metric,
            value=value,
            n=len(rows),
            seed=options.seed,
            model=model_named(part.metadata),
        )
        for metric, value in measures(vectors_ND, classes_N).items()
        if value == value
    ]


def measures(vectors_ND: np.ndarray, classes_N: np.ndarray) -> dict[str, float]:
    """Return what is known of a space, and of the rows that have a class; NaN is unknown.

    Args:
        classes_N: -1 for a row without one.
    """
    labelled = classes_N >= 0
    own_KD, classes_K = vectors_ND[labelled], classes_N[labelled]
    inside, across = space.cosines(own_KD, classes_K)
    return {
        "uniformity": space.uniformity(vectors_ND),
        "average-cosine": space.mean_cosine(vectors_ND),
        "effective-rank": space.effective_rank(vectors_ND),
        "isotropy": space.isotropy(vectors_ND),
        "alignment": space.alignment(own_KD, classes_K),
        "intra-cosine": inside,
        "inter-cosine": across,
        "margin": inside - across,
    }
