"""What may be done to finished vectors, all alike: centring, all-but-the-top, whitening, a flow.

A transform is fitted once and kept in a file.
N rows, D dimensions in, K out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import orjson

from dialtools.embed.options import KINDS, TO_RESPONSE
from dialtools.errors import ConfigError, DataError
from dialtools.streams.atomic import atomic_file
from dialtools.streams.bytesio import open_file
from dialtools.streams.making import options_of
from dialtools.streams.tally import counted

SCHEMA = "dialtools.transform/1"
SMALLEST = 1e-6
"""Of the largest variance: directions below it are noise, which whitening would blow up.

They are left at 0.
"""
ROUNDING = 1e-12
"""Of the mean square of vectors: a variance below it is what sums of equal ones leave."""


class Fitted(Protocol):
    """A transform that is fitted; `width` is D."""

    @property
    def width(self) -> int: ...

    def __call__(self, vectors_ND: np.ndarray) -> np.ndarray:
        """Return (N, K) float32."""
        ...

    def tensors(self) -> dict[str, np.ndarray]:
        """Return what a file of it holds."""
        ...


@dataclass
class Moments:
    """Mean and covariance of rows that come in parts, in float64."""

    n: int = 0
    total: np.ndarray = field(default_factory=lambda: np.zeros(()))
    products: np.ndarray = field(default_factory=lambda: np.zeros(()))

    def add(self, vectors_ND: np.ndarray) -> None:
        rows_ND = vectors_ND.astype(np.float64)
        self.n += len(rows_ND)
        self.total = self.total + rows_ND.sum(0)
        self.products = self.products + rows_ND.T @ rows_ND

    @property
    def mean(self) -> np.ndarray:
        return self.total / self.n

    def scatter(self) -> np.ndarray:
        """Return the (D, D) sums of products of the rows less their mean."""
        products = self.products - self.n * np.outer(self.mean, self.mean)
        return (products + products.T) / 2

    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the variances, largest first, and (D, D) their directions as columns."""
        variance, directions = np.linalg.eigh(self.scatter() / self.n)
        return np.maximum(variance[::-1], 0), directions[:, ::-1]


@dataclass
class Affine:
    """y = (x - mean) matrix."""

    mean: np.ndarray
    matrix: np.ndarray

    @property
    def width(self) -> int:
        return len(self.mean)

    def __call__(self, vectors_ND: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # told where it is used
            return ((vectors_ND - self.mean) @ self.matrix).astype(np.float32)

    def tensors(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "matrix": self.matrix}


def center(moments: Moments) -> Affine:
    """Take the mean off."""
    return Affine(moments.mean, np.eye(len(moments.mean)))


def all_but_the_top(moments: Moments) -> Affine:
    """Take off the mean and the directions of most variance, one in a hundred.

    Mu and Viswanath 2018.
    """
    top = moments.spectrum()[1][:, : max(1, len(moments.mean) // 100)]
    return Affine(moments.mean, np.eye(len(moments.mean)) - top @ top.T)


def whiten(moments: Moments, dimensions: int | None) -> Affine:
    """Make no direction matter more than another, and keep the first K.

    y = (x - mean) U S^(-1/2), where cov = U S Uᵀ.
    """
    variance, directions = moments.spectrum()
    kept = min(dimensions or len(variance), len(variance))
    safe = variance > SMALLEST * variance.max()
    scale = np.where(safe, 1 / np.sqrt(np.where(safe, variance, 1)), 0)
    return Affine(moments.mean, (directions * scale)[:, :kept])


FLOW_ROWS = 200_000  # held in memory: 600 MB at 768 dimensions


def fit(kind: str, parts: Iterable[np.ndarray], *, dimensions: int | None, seed: int) -> Fitted:
    """Fit a transform to vectors that come in parts.

    Raises:
        DataError: if there are fewer than two distinct vectors; if a flow's have one dimension.
    """
    moments = Moments()
    kept: list[np.ndarray] = []
    for part in parts:
        if kind == "flow" and moments.n < FLOW_ROWS:
            kept.append(part[: FLOW_ROWS - moments.n])
        if len(part):
            moments.add(part)
    if not moments.n:
        raise DataError("no vectors to fit to")
    if moments.spectrum()[0][0] <= ROUNDING * np.trace(moments.products) / moments.n:
        raise DataError(f"{counted(moments.n, 'vector')}, all equal: nothing to fit {kind} to")
    if kind == "flow":
        if len(moments.mean) < 2:
            raise DataError("vectors of one dimension: a flow couples two or more")
        from dialtools.embed.flow import fit_flow

        return fit_flow(np.concatenate(kept), seed=seed)
    if kind == "whiten":
        return whiten(moments, dimensions)
    return {"center": center, "top": all_but_the_top}[kind](moments)


def save(path: str, fitted: Fitted, facts: dict[str, Any], *, overwrite: bool) -> None:
    """Write a transform as safetensors.

    Args:
        facts: what it is, and whose vectors it is for.
    """
    from safetensors.numpy import save_file

    tensors = {name: np.ascontiguousarray(value) for name, value in fitted.tensors().items()}
    metadata = {"dialtools": json.dumps({"schema": SCHEMA, **facts})}
    with atomic_file(path, overwrite=overwrite) as temporary:
        save_file(tensors, str(temporary), metadata=metadata)


def difference(facts: dict[str, Any], space: dict[str, Any]) -> str | None:
    """Return how vectors differ from those of `space` (model, pooling, length), if they do.

    Args:
        facts: what a file of a transform, or of embeddings, tells of its vectors.
    """
    if facts.get("weights") != space["weights"]:
        return f"another model ({facts.get('model') or options_of(facts).get('model')})"
    if facts.get("pooling") != space["pooling"]:
        return f"another pooling ({facts.get('pooling')}, not {space['pooling']})"
    if facts.get("head") != space.get("head"):
        return f"another head ({facts.get('head')}, not {space.get('head')})"
    if facts.get("normalize") == space["normalize"]:
        return None
    if facts.get("normalize"):
        return "length 1, unlike these"
    return "any length, unlike these of length 1"


def load(path: str, space: dict[str, Any]) -> tuple[Fitted, dict[str, Any]]:
    """Read a transform and what it is.

    Args:
        space: weights, pooling and normalize of the vectors that it shall be applied to.

    Raises:
        DataError: if the file is none. ConfigError: if it was fitted to vectors of another space.
    """
    open_file(path).close()  # of one that may not be read safetensors tells something else
    facts, tensors = _read(path)
    if unlike := difference(facts, space):
        raise ConfigError(
            f"fitted to vectors of {unlike}",
            where=path,
            hint="fit it anew: --transform KIND --fit-on FILE",
        )
    return _fitted(facts, tensors, path), facts


def kind_of(transform: str | None) -> str:
    """Return the kind that --transform names, itself or by a file; nothing of what is no file."""
    if not transform or transform in KINDS:
        return transform or ""
    try:
        return str(_read(transform)[0].get("kind") or "")
    except DataError:
        return ""


def one_sided(transform: str | None) -> bool:
    """Tell whether a kind, or a file, changes contexts alone; what is no file of one does not."""
    return kind_of(transform) == TO_RESPONSE


def _read(path: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what a file of a transform tells of it, and its tensors.

    Raises:
        DataError: if the file is none.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            facts = orjson.loads((file.metadata() or {}).get("dialtools", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError):
        facts = {}
        tensors = {}
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        raise DataError(
            "not a fitted transform",
            where=path,
            hint=f"--transform takes {', '.join(KINDS)}, or a file of --save-transform",
        )
    return facts, tensors


def _fitted(facts: dict[str, Any], tensors: dict[str, np.ndarray], path: str) -> Fitted:
    """Return the transform of a file's tensors.

    Raises:
        DataError: if they are not those of its kind. ModelError: of a flow.
    """
    if facts.get("kind") == "flow":
        from dialtools.embed.flow import FittedFlow

        return FittedFlow.of(tensors, path)
    shapes = {name: value.shape for name, value in tensors.items()}
    match shapes:
        case {"mean": (rows,), "matrix": (same, _)} if rows == same and len(shapes) == 2:
            return Affine(**tensors)
    raise DataError("does not hold the mean and the matrix of a transform", where=path)
