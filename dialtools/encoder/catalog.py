"""The poolings by name: (hidden_NTD, mask_NT) -> (N, D)."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry


@dataclass(frozen=True)
class PoolingEntry(Entry):
    """A pooling: of the last layer's token vectors, as a rule.

    Attributes:
        layers: of whose average instead; 1 is the first, -1 the last.
        pooler: the model's own layer follows: tanh(W h + b).
    """

    layers: tuple[int, ...] = ()
    pooler: bool = False


_HOME = "dialtools.encoder.pooling"
POOLINGS = {
    "mean": PoolingEntry(f"{_HOME}:mean", "the average of the real tokens"),
    "cls": PoolingEntry(f"{_HOME}:first", "the first token"),
    "cls-pooler": PoolingEntry(
        f"{_HOME}:first", "the first token through the model's pooler", pooler=True
    ),
    "first-last-avg": PoolingEntry(
        f"{_HOME}:mean", "the average of the tokens in the first and the last layer", layers=(1, -1)
    ),
    "last2-avg": PoolingEntry(
        f"{_HOME}:mean", "the same of the last two layers (BERT-flow)", layers=(-2, -1)
    ),
    "max": PoolingEntry(f"{_HOME}:maximum", "the largest value of each dimension"),
    "last": PoolingEntry(f"{_HOME}:last", "the last real token, for decoders"),
}
USUAL_POOLING = "mean"
"""Of a model that does not say."""
