"""What changes between two embedding files: clusters of both together, and how far they are apart.

N rows of OLD, M of NEW, K clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dialtools.advance import Advance
from dialtools.chance import sample_of_rows
from dialtools.cluster.methods import Clusters, find
from dialtools.cluster.options import DriftOptions
from dialtools.cluster.rows import Rows, read_rows
from dialtools.cluster.summary import DIGITS, cluster_facts
from dialtools.corpora.splits import numbered_by_name
from dialtools.metrics import CORRECTIONS
from dialtools.metrics.two_samples import Energy, difference, energy_test, exact_p
from dialtools.streams.making import one_space
from dialtools.streams.tally import counted
from dialtools.streams.vectors import check_dimensions

SCHEMA = "dialtools.drift/1"
GROUP = "dialogue_id"
TENFOLD = 10
"""What has grown by this factor, of what is certain, is new; what has shrunk by it is gone."""
SAME = "same"
LONGER = 1.25
"""By this factor dialogues of one file are so much longer that it is said."""
TOLD = ("nearest", "words")
TESTED = ("old_dialogue_share", "new_dialogue_share")


class Drift:
    """Two files, what is clustered together, and what is found of it.

    Attributes:
        old, new: the rows of each file.
        both: the rows of the two, the old ones first.
        groups: (N + M,) the dialogue of each row, none of which is in both files; None if rows do
            not tell.
    """

    def __init__(self, options: DriftOptions) -> None:
        """Read the files.

        Raises:
            DataError: if their vectors are of two models, or differ in their dimensions.
        """
        self.options = options
        self.old, self.new = (read_rows([path], options) for path in options.inputs)
        check_dimensions(self.new.vectors, self.old.vectors.shape[1], where=self.new.name)
        space = one_space({}, self.old.metadata, where=self.old.name)
        one_space(space, self.new.metadata, where=self.new.name)
        self.both = _together(self.old, self.new)
        self.groups = _groups(self.old, self.new)
        self.clusters: Clusters
        self.energy: Energy

    def find(self, advance: Advance) -> None:
        """Find clusters in rows of both files, and how far the files are apart."""
        options, seed = self.options, self.options.seed
        self.clusters = find(
            self.both.vectors,
            options,
            seed=seed,
            advance=advance,
            where=self.both.name,
            among=self._sample(options.max_rows // 2),
        )
        rows = self._sample(options.max_tested)
        split = int((rows < len(self.old)).sum())
        groups = None
        if self.groups is not None:
            groups = np.unique(self.groups[rows], return_inverse=True)[1]
        self.energy = energy_test(
            self.both.vectors[rows[:split]],
            self.both.vectors[rows[split:]],
            permutations=options.permutations,
            seed=seed,
            groups=groups,
        )

    def _sample(self, most: int) -> np.ndarray:
        """Return rows of both, at most so many of each file."""
        seed = self.options.seed
        old, new = (sample_of_rows(len(rows), most, seed=seed) for rows in (self.old, self.new))
        return np.concatenate([old, new + len(self.old)])

    def records(self) -> list[dict[str, Any]]:
        """Return a record of the files, then one of each cluster, those that change most first."""
        return [self._of_all(), *self._of_clusters()]

    def _of_all(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "old": len(self.old),
            "new": len(self.new),
            "distance": round(self.energy.distance, DIGITS),
            "chance": round(self.energy.chance, DIGITS),
            "p": self.energy.p,
        }

    def _of_clusters(self) -> list[dict[str, Any]]:
        numbers = [*range(len(self.clusters)), *([-1] if self.clusters.noise else [])]
        rows_old, rows_new = (self._rows_in(numbers, side) for side in self._sides())
        (old, of_old), (new, of_new) = (self._units_in(numbers, side) for side in self._sides())
        low, high = difference(old, of_old, new, of_new)
        p = exact_p(old, of_old, new, of_new)
        adjusted = CORRECTIONS[self.options.correct].load()(p)
        about = [*cluster_facts(self.both, self.clusters), {}]
        records: list[dict[str, Any]] = []
        for k, number in enumerate(numbers):
            certain = adjusted[k] < self.options.alpha
            records.append(
                {
                    "schema": SCHEMA,
                    "cluster": number,
                    "verdict": verdict(old[k] / of_old, new[k] / of_new) if certain else SAME,
                    "old": int(rows_old[k]),
                    "new": int(rows_new[k]),
                    "old_share": round(rows_old[k] / len(self.old), DIGITS),
                    "new_share": round(rows_new[k] / len(self.new), DIGITS),
                    **self._of_dialogues(old[k] / of_old, new[k] / of_new),
                    "low": round(float(low[k]), DIGITS),
                    "high": round(float(high[k]), DIGITS),
                    "p": float(p[k]),
                    "adjusted_p": float(adjusted[k]),
                    **{name: about[number][name] for name in TOLD if name in about[number]},
                }
            )
        return sorted(records, key=lambda r: (r["p"], -abs(r["new_share"] - r["old_share"])))

    def _of_dialogues(self, old: float, new: float) -> dict[str, float]:
        """Return the shares that are tested, where they are not those of rows."""
        if self.groups is None:
            return {}
        shares = (round(float(share), DIGITS) for share in (old, new))
        return dict(zip(TESTED, shares, strict=True))

    def _sides(self) -> Iterator[slice]:
        yield slice(0, len(self.old))
        yield slice(len(self.old), None)

    def _rows_in(self, numbers: list[int], side: slice) -> np.ndarray:
        """Return (K,) the rows of a file in each cluster."""
        labels = self.clusters.labels[side]
        return np.array([(labels == number).sum() for number in numbers])

    def _units_in(self, numbers: list[int], side: slice) -> tuple[np.ndarray, int]:
        """Return (K,) what is counted in each cluster, rows or their dialogues, and all of it."""
        labels = self.clusters.labels[side]
        if self.groups is None:
            return self._rows_in(numbers, side), len(labels)
        groups = self.groups[side]
        met = [len(np.unique(groups[labels == number])) for number in numbers]
        return np.array(met), len(np.unique(groups))

    def notes(self) -> list[str]:
        """Say that texts lack, and that dialogues are too few to tell, or longer in one file."""
        lacking = next((rows.note for rows in (self.old, self.new) if rows.note), None)
        return [lacking, *self._lengths()] if lacking else self._lengths()

    def _lengths(self) -> list[str]:
        if self.groups is None:
            return []
        groups = [self.groups[side] for side in self._sides()]
        dialogues = [len(np.unique(rows)) for rows in groups]
        if _least_p(*dialogues) >= self.options.alpha:
            counts = f"{counted(dialogues[0], 'dialogue')} before, {dialogues[1]:,} after"
            return [f"{counts}: too few for any change to be certain (dialogue_id)"]
        old, new = (len(rows) / count for rows, count in zip(groups, dialogues, strict=True))
        if max(old, new) < LONGER * min(old, new):
            return []
        lengths = f"a dialogue has {old:.1f} rows before, {new:.1f} after"
        return [f"{lengths}: longer ones are in more clusters; --per dialogue takes first turns"]

    def closing_line(self, records: Sequence[dict[str, Any]]) -> str:
        """Return how many clusters have changed, and how far the files are apart."""
        found = [record["verdict"] for record in records[1:]]
        told = [f"{found.count(name)} {name}" for name in dict.fromkeys(found) if name != SAME]
        energy = self.energy
        changed = f": {', '.join(told)}" if told else ", none changed"
        return (
            f"{counted(len(self.clusters), 'cluster')}{changed}; distance {energy.distance:.4f}, "
            f"by chance {energy.chance:.4f} (p {energy.p:.3g})"
        )


def _least_p(old: int, new: int) -> float:
    """Return the least p-value that Fisher's exact test has of so many before and after."""
    return float(exact_p(np.array([old]), old, np.array([0]), new)[0])


def tested_shares(record: Mapping[str, Any]) -> tuple[float, float]:
    """Return the shares before and after that a record's interval and verdict are of."""
    names = TESTED if TESTED[0] in record else ("old_share", "new_share")
    return record[names[0]], record[names[1]]


def verdict(old: float, new: float) -> str:
    """Return what has certainly become of a cluster, by its two shares."""
    if new > old:
        return "new" if old * TENFOLD <= new else "grown"
    return "gone" if new * TENFOLD <= old else "shrunk"


def _together(old: Rows, new: Rows) -> Rows:
    """Return the rows of both files; texts only if both have them."""
    return Rows(
        vectors=np.concatenate([old.vectors, new.vectors]),
        texts=old.texts + new.texts if old.texts and new.texts else [],
        columns={},
        metadata={},
        name=f"{old.name}, {new.name}",
    )


def _groups(old: Rows, new: Rows) -> np.ndarray | None:
    """Return the number of each row's dialogue; a name that both files have is two dialogues."""
    names = [rows.columns.get(GROUP) for rows in (old, new)]
    if not names[0] or not names[1]:
        return None
    of_old, of_new = (np.asarray(numbered_by_name(listed or ())) for listed in names)
    return np.concatenate([of_old, of_new + of_old.max() + 1])
