"""dial-eval cluster - do clusters of texts tell their labels?

  dial-eval cluster clinc150.parquet --part test --without oos
  dial-eval cluster --clusters 5-50 --method agglomerative banking77.parquet
  dial-eval cluster --protocol mteb --part test banking77.parquet
  dial-eval cluster --protocol induce --clusters 5-50 banking77.parquet

--protocol rows clusters the rows of each part as dialtools cluster does (unit
vectors; as many clusters as labels, or --clusters) and compares: NMI by the
mean of the entropies (V-measure), the adjusted Rand index, accuracy after the
best one-to-one matching of clusters with labels, and DSTC11 track 2's
precision (rows with the commonest label of their cluster), recall (rows in
the commonest cluster of their label), F1 and example coverage (rows whose
label is the commonest of some cluster). With --clusters 5-50 that is its task
1, but for how the number is chosen: here by the silhouette of cosines over
the bounds, there by that of Euclidean distances in a random search.

--protocol induce is its task 2: training rows are clustered, logistic
regression (balanced classes, 100 iterations at most) learns the clusters,
each distinct row once, and the classes it gives the test rows are compared
with their labels. There the rows are turns in which an intent was detected,
and the classifier has vectors of one fixed model; here all are of one file.

--protocol mteb is that of mteb's AbsTaskClustering (2.x): draws of 16,384
rows with replacement, mini-batch k-means (512 rows, one start, as many
clusters as labels) on vectors as they are, V-measure; seed 42, to which
--seed is added. Its tasks draw from 4 % of the documents, or from a number of
them; --share 0.04 does.

Intervals are over runs (Student's t): those of other seeds, or draws, on the
same rows. Where nothing is drawn (agglomerative, hdbscan) there is one run,
and the interval is of a bootstrap of the rows. Noise is a cluster as others.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry, summaries
from dialtools.cluster.options import KMEANS, FindOptions
from dialtools.errors import ConfigError
from dialtools.eval.options.base import PartOptions, SplitOptions
from dialtools.options import option, restated
from dialtools.streams.options import VectorsOptions
from dialtools.values import count_or_bounds, either, fraction, number_of_runs

LABELS = "labels"
INDUCE, MTEB = "induce", "mteb"
PROTOCOLS = {
    "rows": Entry("dialtools.eval.tasks.cluster:of_rows", "clusters and labels of the same rows"),
    INDUCE: Entry(
        "dialtools.eval.tasks.cluster:of_induced", "clusters of training rows, learnt, on test rows"
    ),
    MTEB: Entry("dialtools.eval.tasks.cluster:of_draws", "mini-batch k-means on draws"),
}


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
        help="how many; of bounds the number with the highest silhouette; labels: as there are",
    )
    runs: int = option(
        10, metavar="N", parse=number_of_runs, help="runs with seeds seed, seed+1, ..., or draws"
    )
    share: float = option(
        1.0,
        metavar="X",
        parse=fraction,
        help="mteb: of the rows, those that draws are of",
        goes_with=("protocol", (MTEB,)),
    )
    label: str = option("label", metavar="NAME", group="Input", help="column of the labels")
    vectors: str | None = restated(VectorsOptions, "vectors")
    part: str | None = restated(PartOptions, "part")
    without: str | None = option(
        None, metavar="LABEL", group="Input", help="leave out rows of this label, e.g. oos"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_linkage()
        if self.protocol != INDUCE and self.train:
            raise ConfigError(f"--train and --test go with --protocol {INDUCE}")
        if self.protocol == INDUCE and self.part:
            raise ConfigError("--part goes with the other protocols", hint="see --test-split")
        if self.protocol == MTEB and (self.method != KMEANS or self.clusters != LABELS):
            raise ConfigError("--protocol mteb is of k-means, with as many clusters as labels")
