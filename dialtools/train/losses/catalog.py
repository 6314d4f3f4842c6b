"""The losses by name: (anchor_ND, positive_ND, temperature, excluded) -> (N,) nats."""

from __future__ import annotations

from dialtools.catalog import Entry

_HOME = "dialtools.train.losses"
LOSSES = {
    "hard-negative": Entry(
        f"{_HOME}.hard_negative:hard_negative", "2(N-1) negatives, the nearest weighing most (DSE)"
    ),
    "nt-xent": Entry(f"{_HOME}.nt_xent:nt_xent", "2(N-1) negatives alike (SimCLR)"),
    "info-nce": Entry(f"{_HOME}.info_nce:info_nce", "anchors against positives, both ways"),
    "simcse": Entry(f"{_HOME}.info_nce:one_way", "anchors against positives, one way (SimCSE)"),
    "dot": Entry(f"{_HOME}.info_nce:one_way", "the same on raw dot products (TOD-BERT)"),
}
RAW = ("dot",)
"""Losses that take vectors as they are; all others take unit vectors."""
