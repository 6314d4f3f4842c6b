"""A transform on its way: fitted to what is asked for, applied to batches of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from dialtools.embed import transforms
from dialtools.embed.options import KINDS, EmbedOptions
from dialtools.embed.sink import matrix
from dialtools.errors import ConfigError
from dialtools.metrics.space import unit
from dialtools.streams.atomic import refuse_existing
from dialtools.streams.vectors import SUFFIX, read_embeddings

if TYPE_CHECKING:
    import pyarrow as pa


class Transform:
    """What --transform asks for; nothing, if it does not."""

    def __init__(self, options: EmbedOptions, space: dict[str, Any]) -> None:
        self.options, self.space = options, space
        self.fitted: transforms.Fitted | None = None
        if options.save_transform:
            refuse_existing(options.save_transform, overwrite=options.overwrite)
        if options.transform and options.transform not in KINDS:
            self.fitted, _ = transforms.load(options.transform, space)
        elif options.fit_on:
            self._fit(self._vectors_of(options.fit_on), options.fit_on)

    @property
    def waits(self) -> bool:
        """Whether it is to be fitted to the input."""
        return bool(self.options.transform) and self.fitted is None

    def fit(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Fit it to the vectors of the input."""
        self._fit(
            (part for batch in batches for part in _matrices(batch).values()),
            ", ".join(self.options.inputs) or "-",
        )

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its vectors transformed, scaled to length 1 again if they were."""
        if self.fitted is None:
            return batch
        import pyarrow as pa

        from dialtools.streams.vectors import embedding_batch

        vectors = {name: self.fitted(part) for name, part in _matrices(batch).items()}
        vectors = {
            name: unit(part) if self.space["normalize"] else part for name, part in vectors.items()
        }
        done = embedding_batch({}, vectors, float16=self.options.dtype == "float16")
        columns = {
            name: done[name] if name in vectors else batch[name] for name in batch.schema.names
        }
        return pa.RecordBatch.from_pydict(columns)

    def _fit(self, parts: Iterable[np.ndarray], source: str) -> None:
        options, kind = self.options, self.options.transform or ""
        self.fitted = transforms.fit(kind, parts, dimensions=options.dimensions, seed=options.seed)
        if options.save_transform and not options.dry_run:
            about = {
                "kind": kind,
                **self.space,
                "model": options.model,
                "fitted_on": source,
                "dimensions": options.dimensions,
                "seed": options.seed,
            }
            transforms.save(options.save_transform, self.fitted, about, overwrite=options.overwrite)

    def _vectors_of(self, path: str) -> Iterator[np.ndarray]:
        source = read_embeddings([path])
        about: dict[str, Any] = orjson.loads(source.metadata.get("dialtools", "{}"))
        hint = "--fit-on takes Parquet or Arrow that dial-embed wrote with this --model"
        if "weights" not in about:
            raise ConfigError("does not tell which model its vectors are of", where=path, hint=hint)
        if differs := transforms.differs(about, self.space):
            raise ConfigError(f"its vectors are of {differs}", where=path, hint=hint)
        if (about.get("options") or {}).get("transform"):
            raise ConfigError("its vectors are transformed already", where=path)
        return iter(source.vectors.values())


def _matrices(batch: pa.RecordBatch) -> dict[str, np.ndarray]:
    return {name: matrix(batch, name) for name in batch.schema.names if name.endswith(SUFFIX)}
