"""A transform on its way: fitted to what is asked for, applied to batches of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.embed import transforms
from dialtools.embed.options import KINDS, EmbedOptions
from dialtools.embed.to_response import fit_to_response
from dialtools.errors import ConfigError, DataError
from dialtools.metrics.space import unit
from dialtools.shown import listed
from dialtools.streams.atomic import refuse_existing
from dialtools.streams.making import making, options_of
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import SUFFIX, batch_matrix, embedding_batch


class Transform:
    """What --transform asks for; nothing, if it does not."""

    def __init__(self, options: EmbedOptions, space: dict[str, Any], *, overwrite: bool) -> None:
        """Load the transform, or fit it to --fit-on.

        Args:
            overwrite: --save-transform may replace a file.

        Raises:
            ConfigError: if it is for vectors of another model.
        """
        self.options = options
        self.space = space
        self.overwrite = overwrite
        self.fitted: transforms.Fitted | None = None
        self.note = ""
        self.one_sided = transforms.one_sided(options.transform)
        if options.save_transform:
            refuse_existing(options.save_transform, overwrite=overwrite)
        if options.transform and options.transform not in KINDS:
            self.fitted, _ = transforms.load(options.transform, space)
        elif options.fit_on:
            self._fit(self._vectors_of(options.fit_on), source=options.fit_on)

    @property
    def waits(self) -> bool:
        """Whether it is to be fitted to the input."""
        return bool(self.options.transform) and self.fitted is None

    def fit(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Fit it to the vectors of the input."""
        self._fit(map(_matrices, batches), source=", ".join(self.options.inputs) or "-")

    def check_fields(self, fields: Sequence[str]) -> None:
        """Refuse fields whose vectors it cannot be fitted to, or applied to.

        Raises:
            ConfigError: if there are too few, or too many.
        """
        if self.one_sided and len(fields) not in ((2,) if self.waits else (1, 2)):
            wanted = "a context and a response" if self.waits else "contexts, and responses or none"
            raise ConfigError(
                f"--transform to-response is for {wanted}, not for {listed(fields)}",
                hint="--field context,response",
            )

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its vectors transformed, scaled to length 1 again if they were.

        Raises:
            DataError: if the transform is for vectors of another length, or gives infinite ones.
        """
        if self.fitted is None:
            return batch
        vectors = _matrices(batch)
        for name in [*vectors][: 1 if self.one_sided else None]:
            vectors[name] = self._changed(vectors[name], self.fitted)
        made = embedding_batch({}, vectors, float16=self.options.dtype == "float16")
        columns = {name: (made if name in vectors else batch)[name] for name in batch.schema.names}
        return pa.RecordBatch.from_pydict(columns)

    def _changed(self, matrix_ND: np.ndarray, fitted: transforms.Fitted) -> np.ndarray:
        if matrix_ND.shape[1] != fitted.width:
            wants = f"is for vectors of {fitted.width} dimensions, not {matrix_ND.shape[1]}"
            raise DataError(wants, where=self.options.transform)
        changed_NK = fitted(matrix_ND)
        if not np.isfinite(changed_NK).all():
            raise DataError("makes vectors that are not finite", where=self.options.transform)
        return unit(changed_NK) if self.space["normalize"] else changed_NK

    def _fit(self, parts: Iterable[Mapping[str, np.ndarray]], *, source: str) -> None:
        options = self.options
        kind = options.transform or ""
        if self.one_sided:
            sides = (_sides(part, source) for part in parts)
            self.fitted, choice = fit_to_response(sides, seed=options.seed)
            self.note = str(choice)
        else:
            each = (vectors_ND for part in parts for vectors_ND in part.values())
            self.fitted = transforms.fit(
                kind, each, dimensions=options.dimensions, seed=options.seed
            )

    def save(self) -> None:
        """Write what was fitted, if --save-transform asks for it."""
        options = self.options
        if not options.save_transform or self.fitted is None:
            return
        facts = {
            "kind": options.transform,
            **self.space,
            "model": options.model,
            "fitted_on": options.fit_on or ", ".join(options.inputs) or "-",
            "dimensions": options.dimensions,
            "seed": options.seed,
        }
        transforms.save(options.save_transform, self.fitted, facts, overwrite=self.overwrite)

    def _vectors_of(self, path: str) -> Iterable[Mapping[str, np.ndarray]]:
        """Return the vectors of an embedding file, in one part.

        Raises:
            ConfigError: if they are of another model, or transformed or cut already.
        """
        source = read_embeddings([path])
        facts = making(source.metadata)
        hint = "--fit-on takes Parquet or Arrow that dial-embed wrote with this --model"
        if "weights" not in facts:
            raise ConfigError("does not tell which model its vectors are of", where=path, hint=hint)
        if difference := transforms.difference(facts, self.space):
            raise ConfigError(f"its vectors are of {difference}", where=path, hint=hint)
        options = options_of(facts)
        if options.get("transform") or options.get("dimensions"):
            raise ConfigError("its vectors are transformed already, or cut", where=path)
        return [source.vectors]


def _sides(vectors: Mapping[str, np.ndarray], source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of contexts, and those of responses.

    Raises:
        DataError: if there are not those of two fields.
    """
    if len(vectors) != 2:
        raise DataError(
            f"has vectors of {counted(len(vectors), 'field')}, not of contexts and responses",
            where=source,
            hint="dial-embed --field context,response makes both",
        )
    contexts_ND, responses_ND = vectors.values()
    return contexts_ND, responses_ND


def _matrices(batch: pa.RecordBatch) -> dict[str, np.ndarray]:
    return {name: batch_matrix(batch, name) for name in batch.schema.names if name.endswith(SUFFIX)}
