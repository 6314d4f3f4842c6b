"""Ids of hashes, numbered as they come."""

from __future__ import annotations

import numpy as np


class HashIndex:
    """Ids of 64-bit keys in sorted runs, merged as they grow: 12 bytes a key, lookups in bulk."""

    def __init__(self) -> None:
        self.runs: list[tuple[np.ndarray, np.ndarray]] = []
        self.size = 0

    def ids(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the id of each key, new ones numbered in order, and the mask of the new.

        Args:
            keys: distinct.
        """
        ids = self.find(keys)
        new = ids < 0
        ids[new] = np.arange(self.size, self.size + int(new.sum()), dtype=np.int32)
        self._insert(keys[new], ids[new])
        return ids, new

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the id of each key, -1 for one that has none."""
        ids = np.full(len(keys), -1, np.int32)
        for run_keys, run_ids in self.runs:
            at = np.minimum(np.searchsorted(run_keys, keys), len(run_keys) - 1)
            hit = run_keys[at] == keys
            ids[hit] = run_ids[at[hit]]
        return ids

    def add(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the id of each key, of which some may be equal, and where the new ones first are.

        Those are in the order of their ids, which is that in which they came.
        """
        distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        ids, new = self.ids(distinct[order])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return ids[rank[place]], first[order][new]

    def _insert(self, keys: np.ndarray, ids: np.ndarray) -> None:
        if not len(keys):
            return
        self.size += len(keys)
        self.runs.append((keys, ids))
        # each run is at least four times the next: few runs to search, each key moved seldom
        while len(self.runs) > 1 and len(self.runs[-2][0]) < 4 * len(self.runs[-1][0]):
            last_keys, last_ids = self.runs.pop()
            keys, ids = self.runs.pop()
            merged = (np.concatenate([last_keys, keys]), np.concatenate([last_ids, ids]))
            self.runs.append(merged)
        keys, ids = self.runs[-1]
        order = np.argsort(keys)
        self.runs[-1] = (keys[order], ids[order])
