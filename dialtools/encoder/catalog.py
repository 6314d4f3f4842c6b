"""The poolings by name: (hidden_NTD, mask_NT) -> (N, D)."""

from __future__ import annotations

from dialtools.catalog import Entry

_HOME = "dialtools.encoder.pooling"
POOLINGS = {
    "mean": Entry(f"{_HOME}:mean", "the average of the real tokens"),
    "cls": Entry(f"{_HOME}:first", "the first token"),
    "max": Entry(f"{_HOME}:maximum", "the largest value of each dimension"),
    "last": Entry(f"{_HOME}:last", "the last real token, for decoders"),
}
USUAL_POOLING = "mean"
"""Of a model that does not say."""
