"""A model that takes the mean of a log's vectors off its own: measured, and written."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.advance import Advance
from dialtools.embed.derived import save
from dialtools.embed.derived_options import CenterOptions
from dialtools.embed.model import Model
from dialtools.embed.own_shards import OwnShards
from dialtools.encoder.center import EQUAL
from dialtools.encoder.descent import layers_behind
from dialtools.encoder.folder import model_folder
from dialtools.encoder.loading import load_encoder
from dialtools.errors import DataError
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import Inputs
from dialtools.streams.tally import counted


def mean_vector(
    model: Model, options: CenterOptions, policy: Policy, advance: Advance
) -> tuple[np.ndarray, int]:
    """Return the (D,) float32 mean of the unit vectors of texts, and how many they are.

    A centre that the model has is left out: its new one takes the place of it.

    Raises:
        DataError: if there are no two texts whose vectors differ.
    """
    bare = replace(model, settings=replace(model.settings, center=None))
    own = OwnShards(bare, options.embedding(), policy, advance)
    total_D, texts = np.zeros(model.dimension), 0
    for shard in own.shards():
        vectors_ND = own.embedder.tokenised(shard)(advance).vectors
        total_D += vectors_ND.sum(0, dtype=np.float64)
        texts += len(vectors_ND)
    if not texts:
        raise DataError("no texts to take the mean of")
    center_D = total_D / texts
    if np.linalg.norm(center_D) > 1 - EQUAL:
        raise DataError(
            f"{counted(texts, 'vector')}, all equal: nothing is left without their mean"
        )
    return center_D.astype(np.float32), texts


def write_centred(
    directory: Path,
    options: CenterOptions,
    center_D: np.ndarray,
    texts: int,
    provenance: Mapping[str, Any],
    *,
    made_of: Inputs,
) -> None:
    """Write the model with a centre.

    Raises:
        DataError: if it is no longer the one that the centre was measured with.

    Args:
        directory: exists and is empty.
        made_of: the files of the model that the centre was measured with.
        texts: of whose vectors the centre is the mean.
    """
    encoder = load_encoder(options.model, trust_remote_code=options.trust_remote_code)
    made_of.check()
    encoder.center = center_D
    length = float(np.linalg.norm(center_D))
    how = (
        f"`{options.model}`, whose unit vectors have the mean of {texts:,} vectors of\n"
        f"texts taken off (length {length:.2f}), and are scaled to length 1 again. "
        "Its weights are unchanged."
    )
    title = "A centred dialogue encoder"
    save(directory, encoder, model=options.model, provenance=provenance, title=title, how=how)
    for layer in layers_behind(model_folder(options.model)):  # they take vectors with their mean
        shutil.copyfile(layer, directory / layer.name)
