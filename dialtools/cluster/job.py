"""What `dialtools cluster` does: read vectors, find clusters, tell each row's and what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.advance import Advance
from dialtools.cluster.methods import Clusters, find
from dialtools.cluster.options import KEPT, ClusterOptions
from dialtools.cluster.rows import Rows, read_rows
from dialtools.cluster.stability import Stability, stability
from dialtools.cluster.summary import DIGITS, summary
from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams.carried import scalars
from dialtools.streams.schemas import NO_COLUMN, column_of
from dialtools.streams.sinks import json_line
from dialtools.streams.tally import anew, counted

CLUSTER, DISTANCE, PROBABILITY = "cluster", "distance", "probability"


class Clustering:
    """One run over embedding files."""

    def __init__(self, options: ClusterOptions) -> None:
        """Read the rows, and look at the columns that are asked for before any work."""
        self.options = options
        self.rows: Rows = read_rows(options.files, options)
        self.columns = self.rows.kept(options.keep, KEPT)
        self.clusters: Clusters
        self.stability: Stability | None = None
        self._anew = ""

    def find(self, advance: Advance) -> None:
        """Find the clusters, then how sure they are."""
        options, rows = self.options, self.rows
        self.clusters = find(
            rows.vectors, options, seed=options.seed, advance=advance, where=rows.name
        )
        if options.stability:
            self.stability = stability(
                rows.vectors,
                self.clusters,
                options,
                options.stability,
                seed=options.seed,
                advance=advance,
            )

    def payloads(self, *, lines: bool) -> Iterator[Any]:
        """Yield the rows with their clusters: JSON lines, or Arrow batches.

        Raises:
            DataError: if a column does not fit a table.
        """
        found = self._found()
        self._anew = anew(self.columns, found)
        columns = {**self.columns, **found}
        if lines:
            records = (
                {name: value for name, value in zip(columns, row, strict=True) if value is not None}
                for row in zip(*columns.values(), strict=True)
            )
            return map(json_line, records)
        try:
            table = {name: column_of(scalars(values)) for name, values in columns.items()}
            return iter([pa.RecordBatch.from_pydict(table)])
        except NO_COLUMN as error:
            message = f"its columns do not fit one table: {first_line(error)}"
            raise DataError(message, hint="--to jsonl, or --keep fewer") from None

    def _found(self) -> dict[str, Any]:
        """Return the columns of what was found; noise has no distance."""
        clusters = self.clusters
        found: dict[str, Any] = {
            CLUSTER: clusters.labels.tolist(),
            DISTANCE: _numbers(clusters.distance),
        }
        if clusters.probability is not None:
            found[PROBABILITY] = _numbers(clusters.probability)
        return found

    def summary(self) -> list[dict[str, Any]]:
        """Return a record of all, of each cluster, and of the noise."""
        return summary(self.rows, self.clusters, self.stability)

    def counts(self) -> dict[str, Any]:
        """Return what provenance tells."""
        counts: dict[str, Any] = {
            "rows": len(self.rows),
            "clusters": len(self.clusters),
            "noise": self.clusters.noise,
        }
        if self.stability:
            counts["stability"] = self.stability.overall()[0]
        return counts

    def closing_line(self) -> str:
        """Return what was found."""
        rows, clusters = self.rows, self.clusters
        facts = [f"{counted(len(rows), 'row')}, {counted(len(clusters), 'cluster')}"]
        if clusters.noise:
            facts.append(f"{clusters.noise / len(rows):.1%} noise")
        if self.stability:
            facts.append(f"stability {self.stability.overall()[0]:.2f}")
        if rows.left_out:
            facts.append(f"{counted(rows.left_out, 'dialogue')} without a turn of the user")
        asked = {("all",): rows.lacking, KEPT: KEPT}.get(self.options.keep, ())
        facts += [f"no {n}: {rows.lacking[n]} has none" for n in asked if n in rows.lacking]
        return "; ".join(facts) + self._anew


def _numbers(values_N: np.ndarray) -> list[float | None]:
    """Return numbers rounded, NaN as None."""
    return [value if value == value else None for value in np.round(values_N, DIGITS).tolist()]
