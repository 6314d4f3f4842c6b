"""dial-eval cluster - do clusters of texts match their labels?

  dial-eval cluster clinc150.parquet --part test --without oos
  dial-eval cluster --clusters 5-50 --method agglomerative banking77.parquet
  dial-eval cluster --protocol mteb --part test banking77.parquet
  dial-eval cluster --protocol induce --clusters 5-50 banking77.parquet

There are three protocols:
  rows    cluster the rows of each part and compare with their labels
  induce  cluster training rows, learn the clusters, classify test rows
  mteb    cluster random draws of rows, as MTEB does

Intervals are over runs (other seeds) and over rows (other texts of the same
kind); over rows alone where nothing is random (agglomerative, hdbscan).
Protocol mteb's are Student's t over its draws. Noise counts as a
cluster like any other.

Protocol rows:

Clusters unit vectors as dialtools cluster does, into as many clusters as
there are labels, or into --clusters. Scores:
  nmi        NMI by the mean of the entropies (V-measure)
  ari        the adjusted Rand index
  accuracy   after the best one-to-one matching of clusters with labels
  precision  rows with the commonest label of their cluster
  recall     rows in the commonest cluster of their label
  f1         of precision and recall
  coverage   rows whose label is the commonest of some cluster

The last four are those of DSTC11 track 2. Of labels that are equally common
in a cluster, coverage takes the last by name. With --clusters 5-50 this is
its task 1, except for how the number of clusters is chosen: here by the
silhouette of cosines over the bounds, there by that of Euclidean distances in
a random search.

Protocol induce:

This is task 2 of DSTC11 track 2. It clusters the training rows and trains
logistic regression on the clusters (balanced classes, at most 100 iterations,
each distinct row once). The classes predicted for the test rows are compared
with their labels. In DSTC11 the rows are turns in which an intent was
detected, and the classifier has vectors of one fixed model. Here all vectors
are of one file.

Protocol mteb:

This is mteb's AbsTaskClustering (2.x). It draws 16,384 rows with replacement,
clusters the vectors as they are with mini-batch k-means (512 rows, one start,
as many clusters as labels) and reports V-measure. The seed is 42, to which
--seed is added. MTEB's tasks draw from 4 % of the documents (--share 0.04),
or from a number of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry, summaries
from dialtools.cluster.options import KMEANS, FindOptions
from dialtools.errors import ConfigError
from dialtools.eval.options.base import PartOptions, SplitOptions
from dialtools.options import option, restated
from dialtools.streams.options import VectorsOptions, column
from dialtools.values import composed, count_or_bounds, either, fraction, number_of_runs

LABELS = "labels"
INDUCE, MTEB = "induce", "mteb"
PROTOCOLS = {
    "rows": Entry(
        "dialtools.eval.tasks.cluster:of_rows", "compare clusters and labels of the same rows"
    ),
    INDUCE: Entry(
        "dialtools.eval.tasks.cluster:of_induced",
        "learn clusters of training rows, test them on test rows",
    ),
    MTEB: Entry("dialtools.eval.tasks.cluster:of_draws", "mini-batch k-means on draws of rows"),
}
OF_MTEB, OF_INDUCE = ("protocol", (MTEB,)), ("protocol", (INDUCE,))


@dataclass
class ClusterOptions(FindOptions, SplitOptions):
    """Options of `dial-eval cluster`."""

    protocol: str = option("rows", choices=PROTOCOLS, help=summaries(PROTOCOLS))
    clusters: str = restated(
        FindOptions,
        "clusters",
        default=LABELS,
        metavar="N|LOW-HIGH|labels",
        parse=either({LABELS: LABELS}, count_or_bounds),
        help=(
            "number of clusters; of bounds, the number whose clusters are best apart (highest "
            "silhouette); labels: as many as there are labels"
        ),
    )
    restarts: int = restated(FindOptions, "restarts", not_with=OF_MTEB)
    max_rows: int = restated(FindOptions, "max_rows", not_with=OF_MTEB)
    runs: int = option(
        10,
        parse=number_of_runs,
        help="number of runs (seeds seed, seed+1, ...), or of draws",
        goes_with=("method", (KMEANS,)),
    )
    share: float = option(
        1.0, parse=fraction, help="mteb: draw from this share of the rows", goes_with=OF_MTEB
    )
    label: str = column("label", help="column of the labels")
    vectors: str | None = restated(VectorsOptions, "vectors")
    part: str | None = restated(PartOptions, "part")
    train: str | None = restated(SplitOptions, "train", goes_with=OF_INDUCE)
    test: str | None = restated(SplitOptions, "test")
    split: str = restated(SplitOptions, "split")
    train_split: str = restated(SplitOptions, "train_split", goes_with=OF_INDUCE)
    test_split: str = restated(SplitOptions, "test_split", goes_with=OF_INDUCE)
    without: str | None = option(
        None,
        metavar="LABEL",
        parse=composed,
        group="Input",
        help="leave out rows with this label, e.g. oos",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_linkage()
        if self.protocol == INDUCE and self.part:
            raise ConfigError("--part goes with the other protocols", hint="see --test-split")
        if self.protocol == MTEB and (self.method != KMEANS or self.clusters != LABELS):
            raise ConfigError("--protocol mteb is of k-means, with as many clusters as labels")
