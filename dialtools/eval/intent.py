"""Few-shot intent classification by prototypes, and by nearest neighbours (METHODS 3.3, 6.6)."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import labelled, mixed
from dialtools.eval.labelled import Labelled
from dialtools.eval.options import IntentOptions
from dialtools.eval.score import Score, of_queries, of_runs
from dialtools.metrics.classify import majority, nearest_rows, prototypes
from dialtools.streams.vectors import Embeddings


def evaluate(options: IntentOptions) -> tuple[list[Score], dict[str, str]]:
    """Return accuracies in percent, and the metadata of the embedding file."""
    train, test, source = labelled.parts(options)
    train = mixed.real(train, options)
    weight, chosen = None, {}
    if options.sweep_compress:
        known, asked = mixed.validation(source, train, options)
        weight, found = mixed.best(options.sweep_compress, lambda w: float(np.mean([s.value for s in _scores(known, asked, options, w)])))  # fmt: skip
        chosen = {"lambda": weight, "validation": {f"{w:g}": value for w, value in found.items()}}
    scores = _scores(train, test, options, weight, name=source.name, export=True)
    for score in scores:
        score.chosen = chosen
    return scores, source.metadata


def _scores(train: Embeddings, test: Embeddings, options: IntentOptions, weight: float | None, *, name: str = "", export: bool = False) -> list[Score]:  # fmt: skip
    known, asked = (labelled.of(part, options.label, None if weight is None else mixed.mixture(part, weight)) for part in (train, test))  # fmt: skip
    if options.template_references:
        known = mixed.with_templates(known, train)
    if options.without:
        known, asked = known.without(options.without), asked.without(options.without)
    names = sorted(set(known.labels))
    if len(names) < 2 or not asked.labels:
        raise DataError(f"{len(names)} class to learn, {len(asked.labels)} rows to test: nothing to tell apart")
    mark = "" if weight is None else f", lambda {weight:g}"
    facts = {"task": "intent", "dataset": options.name or name, "metric": "accuracy", "seed": options.seed}
    y = asked.classes(names)
    if options.method == "knn":
        return _neighbours(known, asked, names, y, options, mark, facts)
    loaded, drawn, scores = labelled.load_episodes(options), {}, []
    for shots in options.shots:
        drawn[shots] = labelled.episodes(known.labels, shots, options, loaded)
        accuracy = [prototype_accuracy(known, asked, names, episode.train, y) for episode in drawn[shots]]
        scores.append(of_runs(accuracy, setting=f"{shots}-shot{mark}", n=len(y), **facts))
    if export:
        labelled.export(options, drawn)
    return scores


def _neighbours(known: Labelled, asked: Labelled, names: list[str], y: np.ndarray, options: IntentOptions, mark: str, facts: dict) -> list[Score]:  # fmt: skip
    most = min(max(options.neighbours), len(known.labels))
    near = known.classes(names)[nearest_rows(asked.vectors, known.vectors, most)]
    told = ((k, majority(near[:, :k]) == y) for k in options.neighbours)
    return [of_queries(100.0 * right, setting=f"{k}-nearest{mark}", **facts) for k, right in told]


def prototype_accuracy(train: Labelled, test: Labelled, names: list[str], rows: np.ndarray, y: np.ndarray) -> float:
    """Return the accuracy in percent of the class whose mean has the largest dot product (METHODS 3.3)."""
    means_CD = prototypes(train.vectors[rows], train.classes(names)[rows], len(names))
    return 100.0 * float(((test.vectors @ means_CD.T).argmax(1) == y).mean())
