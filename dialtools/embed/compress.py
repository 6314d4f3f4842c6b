"""Semantic compression: an utterance's vector drawn towards that of its template (TaDSE eq. 5)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dialtools.embed.options import EmbedOptions
from dialtools.embed.shard import Settings, encode_turns
from dialtools.embed.sink import matrix
from dialtools.encoder.alignment import load_alignment
from dialtools.errors import ConfigError, DataError
from dialtools.metrics.classify import nearest_rows
from dialtools.metrics.space import unit
from dialtools.streams.chunks import read_records
from dialtools.streams.policy import Policy
from dialtools.streams.vectors import SUFFIX, embedding_batch

if TYPE_CHECKING:
    import pyarrow as pa

TEXT, TEMPLATE = f"text_{SUFFIX}", f"template_{SUFFIX}"


class Compression:
    """lambda t' + (1 - lambda) u, of unit vectors; without a lambda, both of them.

    t' is the nearest of the given templates by cosine, which needs no annotation of the text, or
    the record's own. A model with an alignment layer applies it to templates.
    """

    def __init__(self, options: EmbedOptions, encoder: Any, settings: Settings) -> None:
        self.options, self.names = options, list[str]()
        directory = Path(options.model)
        layer = load_alignment(directory, encoder.dimension) if directory.is_dir() else None
        if options.align and layer is None:
            raise ConfigError(
                f"{options.model} has no alignment layer",
                hint="dial-train --method tadse --align makes one",
            )
        self.layer = None if options.align is False else layer
        if options.templates:
            records = read_records([options.templates], policy=Policy())
            self.names = list(
                dict.fromkeys(
                    r["template"] for _, r in records if isinstance(r.get("template"), str)
                )
            )
            if not self.names:
                raise DataError(
                    'no record has a "template"',
                    where=options.templates,
                    hint="dial-augment makes them",
                )
            plain = encode_turns(
                encoder,
                [((name,), None) for name in self.names],
                replace(settings, normalize=False),
                lambda n: None,
            )
            self.templates = self._aligned(plain.vectors)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its vectors mixed, or with those of texts and templates side by side."""
        if not (self.options.templates or self.options.own_templates):
            return batch
        import pyarrow as pa

        vectors = [name for name in batch.schema.names if name.endswith(SUFFIX)]
        text = unit(matrix(batch, vectors[0]))
        columns = {name: batch[name] for name in batch.schema.names if name not in vectors}
        if self.options.own_templates:
            template = self._aligned(matrix(batch, vectors[1]))
        else:
            near = nearest_rows(text, self.templates, 1)[:, 0]
            template, columns["nearest_template"] = (
                self.templates[near],
                pa.array([self.names[i] for i in near]),
            )
        share = self.options.compress
        found = (
            {TEXT: text, TEMPLATE: template}
            if share is None
            else {SUFFIX: share * template + (1 - share) * text}
        )
        made = embedding_batch({}, found, float16=self.options.dtype == "float16")
        return pa.RecordBatch.from_pydict(columns | {name: made[name] for name in found})

    def _aligned(self, vectors_ND: np.ndarray) -> np.ndarray:
        if self.layer is not None:
            with torch.no_grad():
                vectors_ND = self.layer(torch.from_numpy(np.ascontiguousarray(vectors_ND))).numpy()
        return unit(vectors_ND)

    def told(self) -> str:
        """Return what the closing line says of it."""
        if self.options.own_templates:
            return "; with the templates of the records themselves"
        return f"; with the nearest of {len(self.names):,} templates" if self.names else ""
