"""A router: classes by some vectors of each, and how near a row must be to get its nearest class.

N rows, C classes, M vectors of classes, D dimensions. Its file is an embedding file, a row for each
of the M, with `label` and `threshold`; any reader of Parquet takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from dialtools.errors import DataError
from dialtools.metrics.classify import prototypes
from dialtools.metrics.space import unit
from dialtools.near.find import DIGITS
from dialtools.ranges import starts_of
from dialtools.shown import listed
from dialtools.streams.making import making, one_space
from dialtools.streams.sinks import writer
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import SUFFIX, Embeddings, embedding_batch

LABEL, THRESHOLD = "label", "threshold"
FACTS = "router"
"""The key of what its file tells beside the rows."""
CANCELLED = 1e-6
"""Length of a mean of unit vectors below which it is what rounding leaves of opposite ones."""
ALWAYS, NEVER = -1.0, inf
"""Thresholds that let all rows pass, and none."""


@dataclass
class Router:
    """What tells classes apart.

    Attributes:
        labels: C texts.
        vectors: (M, D) unit vectors, those of a class together, in the order of the labels.
        starts: (C,) where those of each class begin.
        nearest: how many of them count for a row; None: each class has one, its prototype.
        thresholds: (C,) the least score of a row that gets a class.
        none: what a row gets that is near nothing.
        space: what is known of the model of the vectors.
    """

    labels: list[str]
    vectors: np.ndarray
    starts: np.ndarray
    nearest: int | None
    thresholds: np.ndarray
    none: str
    space: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of_examples(
        cls,
        vectors_ND: np.ndarray,
        labels: list[str],
        *,
        nearest: int | None,
        none: str,
        where: str = "",
    ) -> Router:
        """Make one of N examples; classes stand in the order of their names.

        Args:
            where: what the examples are of, for messages.

        Raises:
            DataError: if the prototype of a class would be zeros.
        """
        names = sorted(set(labels))
        number = {name: i for i, name in enumerate(names)}
        classes_N = np.array([number[label] for label in labels], np.int64)
        unit_ND = unit(vectors_ND)
        if nearest is None:
            means_CD = prototypes(unit_ND, classes_N, len(names))
            _refuse_zeros(names, means_CD, where)
            vectors_MD = unit(means_CD)
            starts = np.arange(len(names))
        else:
            vectors_MD = unit_ND[np.argsort(classes_N, kind="stable")]
            starts = starts_of(np.bincount(classes_N))
        thresholds = np.full(len(names), ALWAYS)
        return cls(names, vectors_MD, starts, nearest, thresholds, none)

    def scores(self, vectors_ND: np.ndarray) -> np.ndarray:
        """Return (N, C) how near each row is to each class: cosines, rounded."""
        cosine_NM = (unit(vectors_ND) @ self.vectors.T).astype(np.float64)
        if self.nearest is not None:
            ends = [*self.starts[1:], len(self.vectors)]
            of_classes = (
                _mean_of_nearest(cosine_NM[:, start:end], self.nearest)
                for start, end in zip(self.starts, ends, strict=True)
            )
            cosine_NM = np.stack(list(of_classes), axis=1)
        return np.round(cosine_NM, DIGITS).clip(-1, 1)

    def save(self, path: str, *, facts: dict[str, Any], overwrite: bool) -> None:
        """Write it as Parquet, with facts of provenance."""
        from dialtools.streams.provenance import as_metadata

        own = {"nearest": self.nearest, "none": self.none}
        sizes = np.diff([*self.starts, len(self.vectors)])
        columns = {
            LABEL: np.repeat(np.array(self.labels, object), sizes).tolist(),
            THRESHOLD: np.repeat(self.thresholds, sizes),
        }
        with writer(
            path,
            format="parquet",
            overwrite=overwrite,
            metadata=as_metadata({**facts, **self.space, FACTS: own}),
            floats=True,
        ) as write:
            write(embedding_batch(columns, {SUFFIX: self.vectors}))

    @classmethod
    def load(cls, path: str) -> Router:
        """Read one.

        Raises:
            DataError: if it is none.
        """
        source = read_embeddings([path])
        facts = making(source.metadata)
        own, labels = facts.get(FACTS), source.columns.get(LABEL, [])
        if not isinstance(own, dict) or not _is_router(own, source):
            hint = "dialtools assign --save-router makes them"
            raise DataError("is no router", where=path, hint=hint)
        starts = _starts_of_runs(labels)
        return cls(
            [labels[start] for start in starts],
            source.matrix,  # scaled again, scores would differ in their last digit
            starts,
            own["nearest"],
            np.asarray(source.columns[THRESHOLD], np.float64)[starts],
            own["none"],
            one_space({}, source.metadata, where=source.name),
        )


def _refuse_zeros(names: list[str], means_CD: np.ndarray, where: str) -> None:
    """Refuse classes whose mean points nowhere, but for rounding: it is near to nothing."""
    lengths_C = np.linalg.norm(means_CD, axis=1)
    if lost := [name for name, length in zip(names, lengths_C, strict=True) if length < CANCELLED]:
        message = f"the examples of {listed(lost)} cancel each other: their mean is zeros"
        raise DataError(message, where=where, hint="--nearest N scores a class by its examples")


def _mean_of_nearest(cosine_NM: np.ndarray, count: int) -> np.ndarray:
    """Return (N,) the mean of the highest of each row, of all if there are fewer."""
    first = max(0, cosine_NM.shape[1] - count)
    return np.partition(cosine_NM, first, axis=1)[:, first:].mean(1)


def _is_router(own: dict[str, Any], source: Embeddings) -> bool:
    """Tell whether a file holds what `save` writes."""
    nearest, labels = own.get("nearest"), source.columns.get(LABEL, [None])
    thresholds = source.columns.get(THRESHOLD, [None])
    return (
        (nearest is None or (type(nearest) is int and nearest > 0))
        and isinstance(own.get("none"), str)
        and all(type(label) is str for label in labels)
        and all(type(least) is float and least == least for least in thresholds)
        and len(_starts_of_runs(labels)) == len(set(labels))  # those of a class stand together
        and list(source.vectors) == [SUFFIX]
        and np.allclose(unit(source.matrix), source.matrix, atol=1e-5)
    )


def _starts_of_runs(labels: list[Any]) -> np.ndarray:
    """Return where labels differ from those before them."""
    return np.flatnonzero([a != b for a, b in zip(labels, [None, *labels], strict=False)])
