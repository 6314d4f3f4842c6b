"""Few-shot intent classification by prototypes, and by nearest neighbours (METHODS 3.3, 6.6)."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import labelled
from dialtools.eval.options import IntentOptions
from dialtools.eval.score import Score, of_queries, of_runs
from dialtools.metrics.classify import majority, nearest_rows, prototypes


def evaluate(options: IntentOptions) -> tuple[list[Score], dict[str, str]]:
    """Return accuracies in percent, and the metadata of the embedding file."""
    train, test, source = labelled.read(options)
    if options.without:
        train, test = train.without(options.without), test.without(options.without)
    names = sorted(set(train.labels))
    if len(names) < 2 or not test.labels:
        raise DataError(f"{len(names)} class to learn, {len(test.labels)} rows to test: nothing to tell apart")
    facts = {"task": "intent", "dataset": options.name or source.name, "metric": "accuracy", "seed": options.seed}
    y = test.classes(names)
    if options.method == "knn":
        rows = nearest_rows(test.vectors, train.vectors, min(options.neighbours, len(train.labels)))
        guess = majority(train.classes(names)[rows])
        return [of_queries(100.0 * (guess == y), setting=f"{options.neighbours}-nearest", **facts)], source.metadata
    loaded, drawn, scores = labelled.load_episodes(options), {}, []
    for shots in options.shots:
        drawn[shots] = labelled.episodes(train.labels, shots, options, loaded)
        accuracy = [prototype_accuracy(train, test, names, episode.train, y) for episode in drawn[shots]]
        scores.append(of_runs(accuracy, setting=f"{shots}-shot", n=len(y), **facts))
    labelled.export(options, drawn)
    return scores, source.metadata


def prototype_accuracy(train: labelled.Labelled, test: labelled.Labelled, names: list[str], rows: np.ndarray, y: np.ndarray) -> float:  # fmt: skip
    """Return the accuracy in percent of the class whose mean has the largest dot product (METHODS 3.3)."""
    means_CD = prototypes(train.vectors[rows], train.classes(names)[rows], len(names))
    return 100.0 * float(((test.vectors @ means_CD.T).argmax(1) == y).mean())
