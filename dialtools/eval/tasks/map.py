"""Embeddings on a plane: t-SNE or principal components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialtools.chance import sample_of_rows
from dialtools.corpora.fields import shown_text
from dialtools.errors import DataError, MissingExtra
from dialtools.eval.options.plot import PlotOptions
from dialtools.eval.rows import rows_by_part
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings

EXACT_LIMIT = 20_000
"""Points above which openTSNE takes over from scikit-learn."""


@dataclass
class Map:
    """N points on a plane, their labels ("" without any), texts and kinds, which have shapes."""

    points: np.ndarray
    labels: list[str]
    texts: list[str]
    kinds: list[str]
    title: str

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each point."""
        rows = zip(self.points.tolist(), self.labels, self.texts, strict=True)
        for (x, y), label, text in rows:
            yield {"x": x, "y": y, "label": label, "text": text}


def evaluate(options: PlotOptions) -> Map:
    """Return the map of the rows of an embedding file.

    Raises:
        DataError: if there are fewer than three rows, or the vectors have one dimension, or are all
            the same.
    """
    source = read_embeddings(options.inputs, limit=options.limit)
    part = source
    if options.part:
        part = rows_by_part(source, split=options.split, part=options.part)[options.part]
    rows = sample_of_rows(len(part), options.max_rows or len(part), seed=options.seed)
    if len(rows) < 3:
        raise DataError(f"{counted(len(rows), 'row')}: a map has three or more", where=part.name)
    vectors_ND = unit(part.chosen(options.vectors)[1])[rows]
    _check_spread(vectors_ND, part.name)
    chosen = part.select(rows)
    nothing = [""] * len(rows)

    def shown(values: Iterable[Any]) -> list[str]:
        return list(map(shown_text, values))

    return Map(
        points=plane(vectors_ND, options),
        labels=shown(chosen.column_if(options.label, usual=PlotOptions.label) or nothing),
        texts=shown(chosen.column_if(options.text, usual=PlotOptions.text) or nothing),
        kinds=shown(chosen.column(options.shape)) if options.shape else nothing,
        title=part.name,
    )


def _check_spread(vectors_ND: np.ndarray, path: str) -> None:
    if vectors_ND.shape[1] < 2:
        raise DataError("vectors of one dimension: a map has two", where=path)
    if np.ptp(vectors_ND, axis=0).max() < np.finfo(np.float32).eps:
        raise DataError("all rows have the same vector: there is nothing to map", where=path)


def plane(vectors_ND: np.ndarray, options: PlotOptions) -> np.ndarray:
    """Return (N, 2) coordinates; the sign of a component is that of its largest entry."""
    from sklearn.decomposition import PCA

    if options.method == "pca":
        points_N2 = PCA(2, random_state=options.seed).fit_transform(vectors_ND)
        return points_N2 * np.sign(points_N2[np.abs(points_N2).argmax(0), [0, 1]])
    # t-SNE wants fewer neighbours than there are others; three times as many are looked at
    perplexity = min(options.perplexity, (len(vectors_ND) - 1) / 3)
    if len(vectors_ND) <= EXACT_LIMIT:
        from sklearn.manifold import TSNE

        exact = TSNE(
            2, perplexity=perplexity, random_state=options.seed, init="pca", metric="cosine"
        )
        return exact.fit_transform(vectors_ND)
    try:
        import openTSNE
    except ImportError:
        raise MissingExtra(
            f"t-SNE of more than {EXACT_LIMIT:,} points needs openTSNE",
            hint="pip install 'dialtools[plot]', --max-rows N, or --method pca",
        ) from None
    fast = openTSNE.TSNE(
        perplexity=perplexity,  # pyright: ignore[reportArgumentType]  (any number)
        random_state=options.seed,
        metric="cosine",
    )
    return np.asarray(fast.fit(vectors_ND))
