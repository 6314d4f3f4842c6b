"""Options of `dialtools cluster`, and those of everything that finds clusters."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry, summaries
from dialtools.errors import ConfigError
from dialtools.metrics import CORRECTIONS
from dialtools.options import RunOptions, argument, option, restated
from dialtools.streams.options import (
    OutputOptions,
    RowLimitOptions,
    TableOutputOptions,
    VectorsOptions,
    column,
)
from dialtools.values import (
    at_least,
    bounded,
    count_or_bounds,
    file_with_suffix,
    fraction,
    name_list,
)

KMEANS, AGGLOMERATIVE, HDBSCAN = "kmeans", "agglomerative", "hdbscan"
METHODS = {
    KMEANS: Entry(
        "dialtools.cluster.methods:kmeans", "as many clusters as --clusters says, of all rows"
    ),
    AGGLOMERATIVE: Entry(
        "dialtools.cluster.methods:agglomerative", "joins clusters two by two, see --linkage"
    ),
    HDBSCAN: Entry("dialtools.cluster.methods:hdbscan", "dense regions, the rest is noise"),
}
WARD, AVERAGE = "ward", "average"
LINKAGES = (WARD, AVERAGE, "complete")
PER = ("row", "dialogue")
KEPT = ("id", "dialogue_id", "turn", "text")
"""Columns that say which row it is."""


@dataclass
class FindOptions:
    """How clusters are found; METHODS name the functions that take these."""

    method: str = option(KMEANS, choices=METHODS, help=summaries(METHODS))
    clusters: str = option(
        "5-50",
        metavar="N|LOW-HIGH",
        parse=count_or_bounds,
        help="number of clusters; of bounds, the number whose clusters are best apart (highest "
        "silhouette); not with hdbscan",
        goes_with=("method", (KMEANS, AGGLOMERATIVE)),
        not_with="distance",
    )
    restarts: int = option(
        10,
        parse=at_least(1, most=10_000),
        help="kmeans: number of starts; the best is kept",
        goes_with=("method", (KMEANS,)),
    )
    distance: float | None = option(
        None,
        parse=bounded(above=0, high=2),
        help="agglomerative: join clusters up to this cosine distance, instead of --clusters",
        shown="none",
        goes_with=("method", (AGGLOMERATIVE,)),
    )
    linkage: str | None = option(
        None,
        choices=LINKAGES,
        help="agglomerative: join clusters whose variance grows least (ward), or which are "
        "nearest by mean distance (average) or by largest distance (complete)",
        shown="ward; average with --distance",
        goes_with=("method", (AGGLOMERATIVE,)),
    )
    min_size: int = option(
        10,
        parse=at_least(2),
        help="hdbscan: minimum rows of a cluster",
        goes_with=("method", (HDBSCAN,)),
    )
    min_samples: int | None = option(
        None,
        parse=at_least(1),
        help="hdbscan: neighbours that make a region dense; fewer means less noise",
        shown="--min-size",
        goes_with=("method", (HDBSCAN,)),
    )
    max_rows: int = option(
        100_000,
        parse=at_least(2),
        help="find clusters on a sample of at most N rows; the others join the nearest centroid",
    )

    @property
    def span(self) -> tuple[int, int]:
        """The fewest and the most clusters; equal where the number is given."""
        low, _, high = self.clusters.partition("-")
        return int(low), int(high or low)

    @property
    def chosen_linkage(self) -> str:
        """What --linkage is where it is not given."""
        return self.linkage or (AVERAGE if self.distance else WARD)

    def check_linkage(self) -> None:
        """Refuse a distance that the linkage does not know.

        Raises:
            ConfigError: naming both.
        """
        if self.distance is not None and self.chosen_linkage == WARD:
            raise ConfigError("--distance is of cosines, which --linkage ward does not join by")


@dataclass
class RowOptions(RowLimitOptions):
    """Which vectors and texts are read, and what makes a row of them."""

    vectors: str | None = restated(VectorsOptions, "vectors")
    text: str | None = column(
        None, help="column of the texts", shown="what the vectors are of, else text"
    )
    per: str = option(
        "row",
        choices=PER,
        group="Input",
        help="dialogue: a row per dialogue, the mean of its first user turns (files of "
        "dial-embed --per turn)",
    )
    turns: int = option(
        1,
        parse=at_least(1),
        group="Input",
        help="--per dialogue: number of user turns",
        goes_with=("per", ("dialogue",)),
    )


@dataclass
class ClusterOptions(FindOptions, RowOptions, OutputOptions, RunOptions):
    """Options of `dialtools cluster`."""

    inputs: tuple[str, ...] = argument(help="embedding files to read as one; none or - is stdin")
    clusters: str = restated(FindOptions, "clusters")
    method: str = restated(FindOptions, "method")
    stability: int = option(
        0,
        parse=at_least(0, most=10_000),
        help="find clusters again in N samples of four fifths of the rows, and report how "
        "similar they are",
    )
    keep: tuple[str, ...] = option(
        KEPT,
        metavar="NAMES|all|none",
        parse=name_list,
        group="Output",
        help="columns to carry along; of the default ones, those that exist",
    )
    save_summary: str | None = option(
        None,
        metavar="FILE",
        parse=file_with_suffix(".jsonl", ".csv", ".md", ".tex"),
        group="Output",
        help="write a record per cluster (.jsonl, .csv), or a table of them (.md, .tex)",
        how=True,
    )
    table: bool = option(
        False,
        group="Output",
        help="print the table of clusters, instead of the rows on stdout",
        shown="when stdout is a terminal",
        how=True,
    )

    def __post_init__(self) -> None:
        self.check_linkage()
        of_rows = {f"--to {self.to}": self.to, "--keep": self.keep != KEPT}
        idle = next((flag for flag, given in of_rows.items() if given), None)
        if self.table and idle and self.output == "-":
            hint = "-o FILE writes the rows beside the table"
            raise ConfigError(f"{idle} is for rows, whose place --table takes", hint=hint)


@dataclass
class DriftOptions(FindOptions, RowOptions, TableOutputOptions, RunOptions):
    """Options of `dialtools drift`."""

    inputs: tuple[str, ...] = argument(
        metavar="OLD NEW",
        shown="OLD NEW",
        help="two embedding files, of before and after; - is stdin",
    )
    clusters: str = restated(FindOptions, "clusters")
    method: str = restated(FindOptions, "method")
    max_tested: int = option(
        2_000,
        parse=at_least(2, most=20_000),
        help="maximum rows per file for the energy distance; if there are more, a sample by --seed",
    )
    permutations: int = option(
        999,
        parse=at_least(1, most=1_000_000),
        help="permutations for the p-value of the energy distance, which is at least 1/(N+1)",
    )
    correct: str = option(
        "holm",
        choices=CORRECTIONS,
        help="correction of the p-values of all clusters: Holm, Benjamini-Hochberg, or none",
    )
    alpha: float = option(
        0.05,
        parse=fraction,
        help="mark a cluster as changed if its corrected p-value is below this",
    )

    def __post_init__(self) -> None:
        self.check_linkage()
        if self.print_config:
            return
        if len(self.inputs) != 2:
            hint = "e.g. dialtools drift before.parquet after.parquet"
            raise ConfigError("name two embedding files, OLD and NEW", hint=hint)
