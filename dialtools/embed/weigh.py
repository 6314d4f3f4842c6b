"""A model that averages its tokens by how rare they are in a log: counted, and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.advance import Advance
from dialtools.embed.derived import save
from dialtools.embed.derived_options import WeighOptions
from dialtools.embed.model import Model
from dialtools.embed.own_shards import OwnShards
from dialtools.embed.shard import Settings
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.sequences import flat_sequences
from dialtools.encoder.sidefile import as_json
from dialtools.encoder.stated import plain
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.token_weights import by_rarity
from dialtools.errors import ConfigError, DataError
from dialtools.streams.policy import Policy


def load_weighable(options: WeighOptions) -> Encoder:
    """Load --model, without a centre and weights that it has.

    Raises:
        ConfigError: if it is no average of tokens that could be weighed.
    """
    encoder = load_encoder(options.model, trust_remote_code=options.trust_remote_code)
    if isinstance(encoder, StaticEncoder):
        raise ConfigError(
            f"--model {options.model}: a static encoder has its weights in its vectors",
            hint="dial-train --model TRANSFORMER --encoder static weighs tokens by their rank",
        )
    if plain(encoder.pooling) != "mean":
        raise ConfigError(f"--model {options.model}: pooling {encoder.pooling} has no weights")
    encoder.center = encoder.token_weights = None
    return encoder


def token_counts(
    encoder: Encoder, options: WeighOptions, policy: Policy, advance: Advance
) -> tuple[np.ndarray, int]:
    """Return (V,) how often each token stands in the texts as they are embedded, and their number.

    Tokens around and between turns are counted, and none that is cut off at the longest length.

    Raises:
        DataError: if there is no text.
    """
    settings = Settings(
        encoder.max_length, normalize=True, batch_tokens=0, precision="", float16_round=False
    )
    own = OwnShards(Model(encoder, settings), options.embedding(), policy, advance)
    counts_V = np.zeros(encoder.backbone.get_input_embeddings().num_embeddings, np.int64)
    texts = 0
    for shard in own.shards():
        items = own.embedder.items(shard)
        (ids, _), _, _ = flat_sequences(encoder, items, encoder.max_length)
        counts_V += np.bincount(ids, minlength=len(counts_V))
        texts += len(items)
        advance(len(items))
    if not texts:
        raise DataError("no texts to count the tokens of")
    return counts_V, texts


def lightest(encoder: Encoder, count: int = 5) -> str:
    """Return the tokens that count least, and what they count: a look at what the log has most."""
    assert encoder.token_weights is not None
    most = min(count, len(encoder.token_weights))
    weights, ids = encoder.token_weights.topk(most, largest=False)
    names = encoder.tokenizer.convert_ids_to_tokens(ids.tolist())
    pairs = zip(names, weights.tolist(), strict=True)
    return ", ".join(f"{as_json(name)} {weight:.2f}" for name, weight in pairs)


def write_weighed(
    directory: Path,
    encoder: Encoder,
    options: WeighOptions,
    counts_V: np.ndarray,
    texts: int,
    provenance: Mapping[str, Any],
) -> None:
    """Write the model with weights.

    Args:
        directory: exists and is empty.
        counts_V: of its tokens.
        texts: in how many texts.
    """
    encoder.token_weights = by_rarity(counts_V, options.half_at)
    how = (
        f"`{options.model}`, whose vector of a text is the average of its tokens with\n"
        f"weights a / (a + p), p being a token's share of {texts:,} texts and a = "
        f"{options.half_at:g}. Its own weights\nare unchanged."
    )
    title = "A dialogue encoder whose rare tokens count more"
    save(directory, encoder, model=options.model, provenance=provenance, title=title, how=how)
