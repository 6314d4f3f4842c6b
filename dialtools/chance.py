"""Randomness as an argument: seeded generators, a stable hash, splits by dialogue id."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def stable_hash(text: str, *, seed: int = 0) -> int:
    """Return 64 bits that depend on the text and the seed alone, on any machine, in any process."""
    digest = blake2b(
        text.encode("utf-8", "surrogatepass"),
        digest_size=8,
        key=seed.to_bytes(8, "little", signed=True),
    )
    return int.from_bytes(digest.digest(), "little")


def share(text: str, *, seed: int = 0) -> float:
    """Return a number in [0, 1) that depends on the text and the seed alone."""
    return (stable_hash(text, seed=seed) >> 11) / 2**53  # as a float has them: no 1 by rounding


def split_of(identity: str, parts: Mapping[str, float], *, seed: int = 0) -> str | None:
    """Return the part that a dialogue belongs to, or None if the shares leave it out.

    Args:
        parts: name -> share, e.g. {"train": 0.98, "dev": 0.02}; shares sum to 1 or less.
    """
    point, edge = share(identity, seed=seed), 0.0
    for name, size in parts.items():
        edge += size
        if point < edge:
            return name
    return None


def sample_of_rows(count: int, most: int, *, seed: int) -> np.ndarray:
    """Return all of N rows, or of more than `most` a sample, in order."""
    import numpy as np

    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))
