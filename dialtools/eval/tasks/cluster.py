"""Do clusters tell labels? N rows, K labels, R runs; protocols of DSTC11's track 2 and of MTEB.

The protocols were written after the public code of the track (sitod.metric, sitod.evaluate) and of
mteb 2 (abstasks.clustering); see the page in `eval/options/cluster.py` for what differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import numpy as np

from dialtools.advance import Advance, silent
from dialtools.catalog import lookup
from dialtools.cluster.methods import find
from dialtools.cluster.options import KMEANS
from dialtools.errors import DataError
from dialtools.eval.identity import about
from dialtools.eval.labelled import Labelled, labelled_rows, note_on_absent, without_label
from dialtools.eval.logreg import predict
from dialtools.eval.options.cluster import LABELS, PROTOCOLS, ClusterOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import BELOW_ZERO, Score, Scored, of_runs, shares
from dialtools.metrics.clusterings import MEASURES, contingency, nmi, one_to_one
from dialtools.metrics.resample import of_resampled_tables, over_resamples
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import check_one_space, read_embeddings
from dialtools.streams.vectors import Embeddings, check_dimensions

MTEB_SEED = 42
DRAWN, BATCH = 16_384, 512
"""Rows of a draw, and of a batch of mini-batch k-means."""


class Truth(NamedTuple):
    """Labelled rows, and the number of each row's label, in the order of the labels' names."""

    part: Embeddings
    vectors: np.ndarray
    labels: np.ndarray

    @property
    def kinds(self) -> int:
        return int(self.labels.max()) + 1


def evaluate(options: ClusterOptions, advance: Advance = silent) -> Scored:
    """Return how well clusters tell labels, in percent, by the protocol that is asked for.

    Args:
        advance: called with 1 for each finished run and interval.
    """
    return lookup(PROTOCOLS, options.protocol, kind="protocol")(options, advance)


def of_rows(options: ClusterOptions, advance: Advance) -> Scored:
    """Cluster the rows of each part, and compare with their labels."""
    scores, source = [], read_embeddings(options.files, limit=options.limit)
    notes = _note_on_without(options, source)
    for setting, truth in _parts(source, options):
        found = []
        for asked, seed in _runs(options, truth.kinds):
            found.append(find(truth.vectors, asked, seed=seed, where=source.name).labels)
            advance(1)
        name = f"{setting} {options.method}".strip()
        scores += _scores(found, truth, name, options, advance)
        notes.append(_note(name, found, truth))
    return Scored(scores, source.metadata, notes)


def of_induced(options: ClusterOptions, advance: Advance) -> Scored:
    """Cluster training rows, learn the clusters, and compare what test rows get with their labels.

    Raises:
        DataError: if there are no training or test rows, or vectors differ in their dimensions.
    """
    learnt, tested = _both(options)
    train = _truth(learnt, options)
    test = _truth(tested, options)
    check_dimensions(test.vectors, train.vectors.shape[1], where=tested.name)
    found, clusters = [], []
    for asked, seed in _runs(options, train.kinds):
        labels = find(train.vectors, asked, seed=seed, where=learnt.name).labels
        clusters.append(labels)
        found.append(_classified(train.vectors, labels, test.vectors, seed=seed))
        advance(1)
    name = f"induced {options.method}"
    scores = _scores(found, test, name, options, advance)
    notes = [*_note_on_without(options, learnt, tested), _note(name, clusters, train)]
    return Scored(scores, learnt.metadata, notes)


def of_draws(options: ClusterOptions, advance: Advance) -> Scored:
    """Cluster draws of the rows of each part as mteb does; V-measure."""
    scores, source = [], read_embeddings(options.files, limit=options.limit)
    for setting, truth in _parts(source, options, scaled=False):
        values = []
        for table in _draws(truth, options):
            values.append(100 * nmi(table))
            advance(1)
        facts = _facts(truth, f"{setting} mteb".strip(), options)
        scores.append(of_runs(values, metric="v-measure", **facts))
    return Scored(scores, source.metadata, _note_on_without(options, source))


def _draws(truth: Truth, options: ClusterOptions) -> Iterator[np.ndarray]:
    """Yield the table of each draw; one generator draws documents, then rows, as there."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    seed = MTEB_SEED + options.seed
    draw, rows = Random(seed), np.arange(len(truth.labels))
    if options.share < 1:
        rows = np.array(draw.sample(range(len(rows)), k=max(1, int(options.share * len(rows)))))
    labels, vectors = truth.labels[rows], truth.vectors[rows]
    kinds = len(np.unique(labels))
    if kinds < 2:
        what = f"--share {options.share:g} leaves {counted(len(rows), 'row')} of one label"
        raise DataError(what, where=truth.part.name)
    # a power of two changes no digit and no cluster, and squares do not overflow
    vectors = np.ldexp(vectors, -np.frexp(np.abs(vectors).max())[1])
    settings: dict[str, Any] = {"batch_size": BATCH, "n_init": 1, "random_state": seed}
    model = MiniBatchKMeans(kinds, **settings)
    for _ in range(options.runs):
        drawn = draw.choices(range(len(rows)), k=DRAWN)
        with threadpool_limits(1):  # the same clusters on any machine
            yield contingency(model.fit_predict(vectors[drawn]), labels[drawn])


def _parts(
    source: Embeddings, options: ClusterOptions, *, scaled: bool = True
) -> Iterator[tuple[str, Truth]]:
    """Yield each part and its name."""
    for name, part in rows_by_part(source, split=options.split, part=options.part).items():
        yield name, _truth(part, options, scaled=scaled)


def _both(options: ClusterOptions) -> tuple[Embeddings, Embeddings]:
    """Return the rows to learn from and to be tested on, of two files or of the splits of one."""
    limit = options.limit
    if options.train and options.test:
        train, test = (read_embeddings([f], limit=limit) for f in (options.train, options.test))
        check_one_space([train, test])
        return train, test
    source = read_embeddings(options.files, limit=limit)
    names = (options.train_split, options.test_split)
    source.column(options.split)
    train, test = (rows_by_part(source, split=options.split, part=p)[p] for p in names)
    return train, test


def _truth(part: Embeddings, options: ClusterOptions, *, scaled: bool = True) -> Truth:
    """Return rows with their labels.

    Raises:
        DataError: if none is left, or they are of one label.
    """
    kept = without_label(part, options.label, options.without)
    _, chosen = kept.chosen(options.vectors)
    rows: Labelled = labelled_rows(kept, options.label, chosen, scaled=scaled)
    names, numbers = np.unique(rows.labels, return_inverse=True)
    if len(names) < 2:
        raise DataError(f"all rows are labelled {rows.labels[0]!r}", where=part.name)
    return Truth(kept, rows.vectors.astype(np.float32), numbers)


def _runs(options: ClusterOptions, kinds: int) -> Iterator[tuple[ClusterOptions, int]]:
    """Yield options and seed of each run; one where nothing is drawn."""
    asked = replace(options, clusters=str(kinds)) if options.clusters == LABELS else options
    for run in range(options.runs if options.method == KMEANS else 1):
        yield asked, options.seed + run


def _classified(
    train_ND: np.ndarray, labels_N: np.ndarray, test_MD: np.ndarray, *, seed: int
) -> np.ndarray:
    """Return (M,) the clusters of test rows by regression on those of training rows."""
    inside = np.flatnonzero(labels_N >= 0)
    once = {(int(labels_N[row]), train_ND[row].tobytes()): row for row in reversed(inside)}
    rows = np.sort(np.fromiter(once.values(), np.int64, len(once)))
    if len(np.unique(labels_N[rows])) < 2:
        return np.zeros(len(test_MD), np.int64)
    return predict(train_ND[rows], labels_N[rows], test_MD, seed=seed, class_weight="balanced")


def _scores(
    found: list[np.ndarray],
    truth: Truth,
    setting: str,
    options: ClusterOptions,
    advance: Advance,
) -> list[Score]:
    """Return all measures over the runs; intervals are of other runs on other rows."""
    tables = [contingency(labels, truth.labels) for labels in found]
    facts = _facts(truth, setting, options)
    counts = [_clusters(labels) for labels in found]
    facts["data"] = {"clusters": float(np.mean(counts)), "labels": truth.kinds}
    if noise := float(np.mean([(labels < 0).mean() for labels in found])):
        facts["data"]["noise"] = round(noise, 6)
    right_RN = [  # whether a row's cluster stands for its label, one for one
        one_to_one(table)[np.unique(labels, return_inverse=True)[1]] == truth.labels
        for labels, table in zip(found, tables, strict=True)
    ]
    resampled = of_resampled_tables(tables[0], MEASURES.values(), seed=options.seed)
    scores = []
    for (name, measure), again_B in zip(MEASURES.items(), resampled, strict=True):
        each = shares(np.mean(right_RN, axis=0)) if name == "accuracy" else []
        values = [100 * measure(table) for table in tables]
        least = -1.0 if name in BELOW_ZERO else 0.0
        ends = over_resamples(again_B, values[0] / 100, len(truth.labels), least=least)
        low, high = (100 * end for end in ends)
        reach = values[0] - low, high - values[0]
        score = of_runs(values, reach, metric=name, each=each, **facts)
        scores.append(replace(score, low=low, high=high) if len(tables) == 1 else score)
        advance(1)
    return scores


def _facts(truth: Truth, setting: str, options: ClusterOptions) -> dict[str, Any]:
    facts = about("cluster", truth.part, setting, options, also=(options.label,))
    return {**facts, "n": len(truth.labels)}


def _clusters(labels_N: np.ndarray) -> int:
    """Return how many clusters there are; noise, below 0, is none."""
    return len(np.unique(labels_N[labels_N >= 0]))


def _note_on_without(options: ClusterOptions, *parts: Embeddings) -> list[str]:
    labels = [label for part in parts for label in part.column(options.label)]
    return note_on_absent("--without", options.without, labels)


def _note(setting: str, found: list[np.ndarray], truth: Truth) -> str:
    """Say how many clusters there were."""
    counts = [_clusters(labels) for labels in found]
    number = f"{min(counts)} to " * (min(counts) < max(counts)) + counted(max(counts), "cluster")
    noise = np.mean([(labels < 0).mean() for labels in found])
    said = f"; {noise:.1%} noise" if noise else ""
    return f"{setting}: {number}, {truth.kinds} labels{said}"
