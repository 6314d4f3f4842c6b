"""Semantic similarity: do cosines of two texts order them as people do? N rows."""

from __future__ import annotations

import numpy as np

from dialtools.corpora import fields
from dialtools.errors import DataError
from dialtools.eval.identity import about
from dialtools.eval.options.sts import StsOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score, Scored, of_statistic, shares
from dialtools.metrics.counts import Spearman, pearson
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import SUFFIX, Embeddings


def ordering(series_N: np.ndarray) -> list[int]:
    """Return what Spearman's correlation sees of a series: its order, in whole numbers."""
    return np.unique(series_N, return_inverse=True)[1].tolist()


def standing(series_N: np.ndarray) -> list[float | int | None]:
    """Return what Pearson's correlation sees of a series: how far from the mean, in deviations."""
    return shares((series_N - series_N.mean()) / series_N.std())


DIGITS = 12
"""Of a cosine: what follows is noise, and tells a text beside itself from another beside itself."""
METRICS = {"spearman": Spearman, "pearson": pearson}
KEPT = {"spearman": ordering, "pearson": standing}
"""What records keep of a series."""


def evaluate(options: StsOptions) -> Scored:
    """Return correlations of cosine and annotated score, times 100, of each part and of all."""
    source = read_embeddings(options.files, limit=options.limit)
    parts = rows_by_part(source, split=options.split, part=options.part)
    if len(parts) > 1:
        parts["all" if "all" not in parts else "all parts"] = source
    scores = [score for setting, part in parts.items() for score in _scores(part, setting, options)]
    return Scored(scores, source.metadata)


def _scores(part: Embeddings, setting: str, options: StsOptions) -> list[Score]:
    """Return both correlations of a part.

    Raises:
        DataError: if all its cosines, or all its scores, are equal.
    """
    cosine_N, gold_N = cosines(part, options), annotated(part, options)
    for series_N, what in ((cosine_N, "cosines"), (gold_N, f"values of {options.score}")):
        if len(np.unique(series_N)) < 2:
            rows = " of ".join(filter(None, (counted(len(part), "row"), setting)))
            raise DataError(f"{rows}: no two {what} differ, no correlation", where=part.name)
    facts = about("sts", part, setting, options, also=(options.score,)) | {"n": len(part)}
    scores = []
    for metric, correlation in METRICS.items():
        kept = KEPT[metric]
        each = {"x": kept(cosine_N), "y": kept(gold_N)}
        scores.append(
            of_statistic(correlation(cosine_N, gold_N), metric=metric, each=each, **facts)
        )
    return scores


def cosines(part: Embeddings, options: StsOptions) -> np.ndarray:
    """Return (N,) the cosine of the two texts of each row.

    Raises:
        DataError: if the file does not have vectors of two texts.
    """
    names = [f"{text}_{SUFFIX}" for text in options.texts] or list(part.vectors)
    if len(names) != 2:
        raise DataError(
            f"has vectors of {counted(len(names), 'text')}: {', '.join(names)}",
            where=part.name,
            hint="dial-embed --field text1,text2 embeds two, --texts A,B names them",
        )
    first, second = (unit(part.vector(name).astype(np.float64)) for name in names)
    return np.round(np.einsum("nd,nd->n", first, second), DIGITS)


def annotated(part: Embeddings, options: StsOptions) -> np.ndarray:
    """Return (N,) the annotated scores.

    Raises:
        DataError: if one is no number.
    """
    return np.asarray(part.column(options.score, fields.number), np.float64)
