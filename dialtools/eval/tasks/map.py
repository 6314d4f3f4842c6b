"""Embeddings on a plane: t-SNE or principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialtools.errors import DataError, MissingExtra
from dialtools.eval.options.plot import PlotOptions
from dialtools.eval.rows import rows_by_part
from dialtools.metrics.space import unit
from dialtools.streams.vectors import read_embeddings

EXACT_LIMIT = 20_000
"""Points above which openTSNE takes over from scikit-learn."""


@dataclass
class Map:
    """N points on a plane, their labels ("" without any) and texts."""

    points: np.ndarray
    labels: list[str]
    texts: list[str]
    title: str


def evaluate(options: PlotOptions) -> Map:
    """Return the map of the rows of an embedding file.

    Raises:
        DataError: if there are fewer than three rows, or rows of several parts and none is chosen.
    """
    source = read_embeddings(options.inputs)
    part = source
    if options.part:
        part = rows_by_part(source, split=options.split, part=options.part)[options.part]
    rows = np.arange(len(part))
    if options.most and len(part) > options.most:
        rows = np.sort(
            np.random.default_rng(options.seed).choice(len(part), options.most, replace=False)
        )
    if len(rows) < 3:
        raise DataError(f"{len(rows)} rows: a map has three or more", where=part.name)
    vectors = unit(part.vector(options.vectors) if options.vectors else part.matrix)[rows]
    chosen = part.select(rows)
    labels = [str(value) for value in chosen.columns.get(options.label, [""] * len(rows))]
    texts = [
        " / ".join(value)
        if isinstance(value, list) and all(isinstance(v, str) for v in value)
        else str(value)
        for value in chosen.columns.get(options.text, [""] * len(rows))
    ]
    return Map(plane(vectors, options), labels, texts, part.name)


def plane(vectors_ND: np.ndarray, options: PlotOptions) -> np.ndarray:
    """Return (N, 2) coordinates; the sign of a component is that of its largest entry."""
    from sklearn.decomposition import PCA

    if options.method == "pca":
        found = PCA(2, random_state=options.seed).fit_transform(vectors_ND)
        return found * np.sign(found[np.abs(found).argmax(0), [0, 1]])
    perplexity = min(options.perplexity, (len(vectors_ND) - 1) / 3)
    if len(vectors_ND) <= EXACT_LIMIT:
        from sklearn.manifold import TSNE

        return TSNE(
            2, perplexity=perplexity, random_state=options.seed, init="pca", metric="cosine"
        ).fit_transform(vectors_ND)
    try:
        import openTSNE
    except ImportError:
        raise MissingExtra(
            f"t-SNE of more than {EXACT_LIMIT:,} points needs openTSNE",
            hint="pip install 'dialtools[plot]', --most N, or --method pca",
        ) from None
    return np.asarray(
        openTSNE.TSNE(perplexity=perplexity, random_state=options.seed, metric="cosine").fit(
            vectors_ND
        )
    )
