"""Semantic similarity: do cosines of two texts order them as people do? (METHODS 5.6)"""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.eval.identity import identity
from dialtools.eval.options.likeness import StsOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score, shares
from dialtools.metrics.correlation import pearson, spearman, with_interval
from dialtools.metrics.space import unit
from dialtools.streams.vectors import SUFFIX, Embeddings, read_embeddings

METRICS = {"spearman": spearman, "pearson": pearson}
KEPT = {
    "spearman": lambda series: np.unique(series, return_inverse=True)[1].tolist(),
    "pearson": shares,
}
"""What records keep of a series: of Spearman's the order, in whole numbers."""


def evaluate(options: StsOptions) -> tuple[list[Score], dict[str, str]]:
    """Return correlations of cosine and annotated score, times 100, of each part and of all; and the file's metadata."""
    source = read_embeddings(options.inputs)
    found = rows_by_part(source, split=options.split, part=options.part)
    if len(found) > 1:
        found["all"] = source
    facts = {
        "task": "sts",
        "dataset": options.name or source.name,
        "seed": options.seed,
        "runs": 1,
        "std": float("nan"),
    }
    scores = []
    for setting, part in found.items():
        cosine, gold = cosines(part, options), annotated(part, options)
        for values, what in ((cosine, "cosines"), (gold, f"values of {options.score}")):
            if len(np.unique(values)) < 2:
                raise DataError(
                    f"the {what} of its {len(values)} rows are equal: no correlation",
                    where=part.name,
                )
        for metric, correlation in METRICS.items():
            value, low, high = (
                100 * v for v in with_interval(correlation, cosine, gold, seed=options.seed)
            )
            scores.append(
                Score(
                    setting=setting,
                    metric=metric,
                    value=value,
                    low=low,
                    high=high,
                    n=len(part),
                    each={"x": KEPT[metric](cosine), "y": KEPT[metric](gold)},
                    items=identity(part.columns, also=(options.score,)),
                    **facts,
                )
            )
    return scores, source.metadata


def cosines(part: Embeddings, options: StsOptions) -> np.ndarray:
    """Return (N,) the cosine of the two texts of each row.

    Raises:
        DataError: if the file does not have vectors of two texts.
    """
    names = [f"{text}_{SUFFIX}" for text in options.texts] or list(part.vectors)
    if len(names) != 2:
        raise DataError(
            f"has vectors of {len(names)} texts: {', '.join(names)}",
            where=part.name,
            hint="dial-embed --field text1,text2 embeds two, --texts A,B names them",
        )
    first, second = (unit(part.vector(name).astype(np.float64)) for name in names)
    return np.einsum("nd,nd->n", first, second)


def annotated(part: Embeddings, options: StsOptions) -> np.ndarray:
    """Return (N,) the annotated scores.

    Raises:
        DataError: if one is no number.
    """
    values = part.column(options.score)
    try:
        gold = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        gold = np.asarray([np.nan])
    if not np.isfinite(gold).all():
        odd = next(
            i
            for i, v in enumerate(values)
            if isinstance(v, bool) or not isinstance(v, int | float) or v != v
        )
        raise DataError(
            f"row {odd + 1}: {options.score}: expected a number, got {values[odd]!r}",
            where=part.name,
        )
    return gold
