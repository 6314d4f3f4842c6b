"""Semantic compression: an utterance's vector drawn towards that of its template (TaDSE eq. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dialtools.advance import silent
from dialtools.embed.fields import NEAREST_TEMPLATE, vector_name
from dialtools.embed.options import EmbedOptions
from dialtools.embed.shard import Settings, encode_turns
from dialtools.encoder.alignment import load_alignment
from dialtools.encoder.folder import model_folder
from dialtools.errors import ConfigError, DataError
from dialtools.metrics.nearest import nearest_rows
from dialtools.metrics.space import unit
from dialtools.streams.chunks import read_records
from dialtools.streams.policy import Policy
from dialtools.streams.tally import counted
from dialtools.streams.vectors import SUFFIX, batch_matrix, embedding_batch

if TYPE_CHECKING:
    from torch import nn

    from dialtools.encoder.encoder import Encoder
    from dialtools.encoder.token_vectors import TokenVectors
    from dialtools.encoder.word_vectors import WordVectors

MAKER = "dial-augment makes them"

TEXT, TEMPLATE = f"text_{SUFFIX}", f"template_{SUFFIX}"


def vector_names(options: EmbedOptions, fields: Sequence[str]) -> list[str]:
    """Return the columns of vectors that a run writes."""
    if not options.with_templates:
        return [vector_name(name, fields) for name in fields]
    return [TEXT, TEMPLATE] if options.compress is None else [SUFFIX]


class Compression:
    """lambda t' + (1 - lambda) u, of unit vectors; without a lambda, both of them.

    The mixture is as long as it comes, as in the paper, unless --normalize asks for length 1.

    t' is the nearest of the given templates by cosine, which needs no annotation of the text, or
    the mean of several, scaled to length 1, or the record's own. A model with an alignment layer
    applies it to templates, as it was learnt: before its centre is taken off.
    """

    def __init__(
        self,
        options: EmbedOptions,
        encoder: Encoder | TokenVectors | WordVectors,
        settings: Settings,
    ) -> None:
        """Encode the templates, unless it is a dry run.

        Raises:
            ConfigError: if --align is asked of a model without the layer, or of cut vectors.
            DataError: if the file has no templates.
        """
        self.options = options
        self.names: list[str] = []
        taken = options.with_templates and options.align is not False
        self.layer = _layer(options, encoder.dimension) if taken else None
        self.center = None if options.head or self.layer is None else encoder.center
        if self.layer is not None and settings.dimensions:
            raise ConfigError(
                "--dimensions: the model's alignment layer takes whole vectors",
                hint="--no-align leaves it out",
            )
        if options.templates:
            self.names = _templates(options.templates)
        if self.names and not options.dry_run:
            items = [((name,), None) for name in self.names]
            center = settings.center if self.layer is None else None
            plain = replace(settings, normalize=False, center=center)
            self.templates = self._aligned(encode_turns(encoder, items, plain, silent).vectors)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its vectors mixed, or with both of text and template side by side."""
        if not self.options.with_templates:
            return batch
        names = [name for name in batch.schema.names if name.endswith(SUFFIX)]
        text_ND = unit(batch_matrix(batch, names[0]))
        columns = {name: batch[name] for name in batch.schema.names if name not in names}
        if self.options.own_templates:
            text_ND = self._centred(text_ND)
            template_ND = self._aligned(batch_matrix(batch, names[1]))
        else:
            near_NK = nearest_rows(text_ND, self.templates, self.options.nearest_templates)
            template_ND = unit(self.templates[near_NK].mean(1))
            columns[NEAREST_TEMPLATE] = pa.array([self.names[i] for i in near_NK[:, 0]])
        vectors = self._mixed(text_ND, template_ND)
        made = embedding_batch({}, vectors, float16=self.options.dtype == "float16")
        return pa.RecordBatch.from_pydict(columns | {name: made[name] for name in vectors})

    def _mixed(self, text_ND: np.ndarray, template_ND: np.ndarray) -> dict[str, np.ndarray]:
        share = self.options.compress
        if share is None:
            return {TEXT: text_ND, TEMPLATE: template_ND}
        mixed_ND = share * template_ND + (1 - share) * text_ND
        return {SUFFIX: unit(mixed_ND) if self.options.normalize else mixed_ND}

    def _aligned(self, vectors_ND: np.ndarray) -> np.ndarray:
        if self.layer is not None:
            import torch

            with torch.no_grad():
                vectors_ND = self.layer(torch.from_numpy(np.ascontiguousarray(vectors_ND))).numpy()
        return self._centred(unit(vectors_ND))

    def _centred(self, unit_ND: np.ndarray) -> np.ndarray:
        """Return unit vectors less the centre that is left to the layer, of length 1 again."""
        return unit_ND if self.center is None else unit(unit_ND - self.center)

    def note(self) -> str:
        """Return what the closing line says of it."""
        if self.options.own_templates:
            return "with the templates of the records themselves"
        return f"with the nearest of {counted(len(self.names), 'template')}" if self.names else ""


def _layer(options: EmbedOptions, dimension: int) -> nn.Module | None:
    """Return the model's alignment layer; a file of word vectors has none.

    Raises:
        ConfigError: if it is asked for, and not there.
    """
    is_file = Path(options.model).is_file()
    layer = None if is_file else load_alignment(model_folder(options.model), dimension)
    if options.align and layer is None:
        raise ConfigError(
            f"{options.model} has no alignment layer",
            hint="dial-train --method tadse --align makes one",
        )
    return layer


def _templates(path: str) -> list[str]:
    """Return the distinct templates of a file of records, in its order.

    Raises:
        DataError: if there is none.
    """
    records = (record for _, record in read_records([path], policy=Policy(maker=MAKER)))
    templates = (record.get("template") for record in records)
    distinct = dict.fromkeys(template for template in templates if isinstance(template, str))
    if not distinct:
        raise DataError('no record has a "template"', where=path, hint=MAKER)
    return list(distinct)
