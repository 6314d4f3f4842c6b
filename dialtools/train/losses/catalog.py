"""The losses by name: (anchor_ND, positive_ND, temperature, excluded, negative_MD) -> (N,) nats."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry


@dataclass(frozen=True)
class LossEntry(Entry):
    """A loss over unit vectors, or with `raw` over vectors as they leave the head."""

    raw: bool = False


_HOME = "dialtools.train.losses"
LOSSES = {
    "hard-negative": LossEntry(
        f"{_HOME}.hard_negative:hard_negative", "2(N-1) negatives, the nearest weighing most (DSE)"
    ),
    "nt-xent": LossEntry(f"{_HOME}.nt_xent:nt_xent", "2(N-1) negatives alike (SimCLR)"),
    "info-nce": LossEntry(f"{_HOME}.info_nce:info_nce", "anchors against positives, both ways"),
    "simcse": LossEntry(f"{_HOME}.info_nce:one_way", "anchors against positives, one way (SimCSE)"),
    "dot": LossEntry(
        f"{_HOME}.info_nce:one_way", "the same on raw dot products (TOD-BERT)", raw=True
    ),
}
