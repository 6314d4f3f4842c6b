"""Intent classification: few-shot prototypes, nearest neighbours, few-shot logistic regression (METHODS 3.3, 6.6; MTEB)."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import labelled, sanity
from dialtools.eval.identity import identity
from dialtools.eval.labelled import Labelled
from dialtools.eval.options.labelled import IntentOptions
from dialtools.eval.score import Score, of_queries, of_runs, shares
from dialtools.eval.tasks import logreg, mixed
from dialtools.metrics.classify import majority, nearest_rows, prototypes
from dialtools.streams.vectors import Embeddings


def evaluate(options: IntentOptions) -> tuple[list[Score], dict[str, str]]:
    """Return accuracies (and F1 of a regression) in percent, and the metadata of the embedding file."""
    train, test, source = labelled.parts(options)
    train = mixed.real(train, options)
    weight, chosen = None, {}
    if options.sweep_compress:
        known, asked = mixed.validation(source, train, options)
        weight, found = mixed.best(
            options.sweep_compress,
            lambda w: float(
                np.mean(
                    [s.value for s in _scores(known, asked, options, w) if s.metric == "accuracy"]
                )
            ),
        )
        chosen = {"lambda": weight, "validation": {f"{w:g}": value for w, value in found.items()}}
    scores = _scores(train, test, options, weight, name=source.name, export=True)
    for score in scores:
        score.chosen = chosen
    return scores, source.metadata


def _scores(
    train: Embeddings,
    test: Embeddings,
    options: IntentOptions,
    weight: float | None,
    *,
    name: str = "",
    export: bool = False,
) -> list[Score]:
    train, test = (labelled.without(part, options.label, options.without) for part in (train, test))
    known, asked = (
        labelled.of(
            part,
            options.label,
            None if weight is None else mixed.mixture(part, weight),
            scaled=options.method != "logreg",
        )
        for part in (train, test)
    )
    if options.template_references:
        known = mixed.with_templates(known, train)
    names = sorted(set(known.labels))
    if len(names) < 2 or not asked.labels:
        raise DataError(
            f"{len(names)} class to learn, {len(asked.labels)} rows to test: nothing to tell apart"
        )
    mark = "" if weight is None else f", lambda {weight:g}"
    facts = {
        "task": "intent",
        "dataset": options.name or name,
        "seed": options.seed,
        "items": identity(test.columns, also=(options.label,)),
    }
    method = {"prototype": _prototypes, "knn": _neighbours, "logreg": _regression}[options.method]
    scores = method(known, asked, names, options, mark, facts, export)
    sanity.check(scores, train, test, known.labels[: len(train)], asked.labels)
    return scores


def _prototypes(
    known: Labelled,
    asked: Labelled,
    names: list[str],
    options: IntentOptions,
    mark: str,
    facts: dict,
    export: bool,
) -> list[Score]:
    y, loaded, drawn, scores = asked.classes(names), labelled.load_episodes(options), {}, []
    for shots in options.shots:
        drawn[shots] = labelled.episodes(known.labels, shots, options, loaded)
        right_RN = np.stack(
            [prototype_hits(known, asked, names, episode.train, y) for episode in drawn[shots]]
        )
        scores.append(
            of_runs(
                (100.0 * right_RN.mean(1)).tolist(),
                metric="accuracy",
                setting=f"{shots}-shot{mark}",
                n=len(y),
                each=shares(right_RN.mean(0)),
                **facts,
            )
        )
    if export:
        labelled.export(options, drawn)
    return scores


def _neighbours(
    known: Labelled,
    asked: Labelled,
    names: list[str],
    options: IntentOptions,
    mark: str,
    facts: dict,
    _export: bool,
) -> list[Score]:
    most, y = min(max(options.neighbours), len(known.labels)), asked.classes(names)
    near = known.classes(names)[nearest_rows(asked.vectors, known.vectors, most)]
    told = ((k, majority(near[:, :k]) == y) for k in options.neighbours)
    return [
        of_queries(100.0 * right, metric="accuracy", setting=f"{k}-nearest{mark}", **facts)
        for k, right in told
    ]


def _regression(
    known: Labelled,
    asked: Labelled,
    _names: list[str],
    options: IntentOptions,
    mark: str,
    facts: dict,
    _export: bool,
) -> list[Score]:
    return logreg.scores(known, asked, options, mark, facts)


def prototype_hits(
    train: Labelled, test: Labelled, names: list[str], rows: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Return (N,) whether the class whose mean has the largest dot product is the row's own (METHODS 3.3)."""
    means_CD = prototypes(train.vectors[rows], train.classes(names)[rows], len(names))
    return (test.vectors @ means_CD.T).argmax(1) == y
