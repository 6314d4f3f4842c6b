"""Intent classification: prototypes, nearest neighbours, regression (DSE 4.2.2; TaDSE; MTEB)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import logreg, mixed, sanity
from dialtools.eval.episodes import Episodes
from dialtools.eval.identity import item_digests
from dialtools.eval.labelled import Labelled, labelled_rows, note_on_absent, without_label
from dialtools.eval.options.intent import METHODS, IntentOptions
from dialtools.eval.rows import read_parts
from dialtools.eval.score import Score, Scored, of_queries, of_runs, shares
from dialtools.metrics.classify import majority, prototypes
from dialtools.metrics.nearest import nearest_rows
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import check_one_length
from dialtools.streams.vectors import Embeddings


@dataclass
class Trial:
    """What a classifier learns from, what it tells, and how its scores are called.

    Attributes:
        known, asked: the rows to learn from and those to tell, as vectors with labels.
        episodes: which of the known rows a few-shot run may see.
        setting: what settings end in; names the lambda that vectors were mixed with.
        facts: what all scores share.
    """

    known: Labelled
    asked: Labelled
    options: IntentOptions
    episodes: Episodes
    setting: str
    facts: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """The classes that can be learnt."""
        return sorted(set(self.known.labels))


def evaluate(options: IntentOptions) -> Scored:
    """Return accuracies, and F1 of a regression, in percent."""
    episodes = Episodes(options)
    parts = read_parts(options)
    if options.method == "logreg":  # it sees vectors as they are
        check_one_length(parts)
    name = options.name or parts.train.name
    weight, chosen = None, {}

    if options.sweep_compress:
        learn, choose = mixed.rows_to_choose_on(parts, options)
        # a file's episodes are of all training rows: of fewer, others are drawn
        tried = episodes if len(parts.validation) else Episodes(replace(options, episodes=None))

        def accuracy(weight: float) -> float:
            scores = _scores(learn, choose, options, weight, tried, name)
            return fmean(score.value for score in scores if score.metric == "accuracy")

        weight, accuracies = mixed.best(options.sweep_compress, accuracy)
        validation = {f"{weight:g}": value for weight, value in accuracies.items()}
        chosen = {"lambda": weight, "validation": validation}

    scores = _scores(parts.train, parts.test, options, weight, episodes, name)
    episodes.export()
    for score in scores:
        score.chosen = chosen
    notes = [
        *sanity.notes(scores[0].data, scores[0].data["unlearnt"]),
        *episodes.notes,
        *_idle(options, parts.train, parts.test, scores[0].data["train"]),
    ]
    return Scored(scores, parts.train.metadata, notes)


def _idle(
    options: IntentOptions, train: Embeddings, test: Embeddings, known: dict[str, Any]
) -> list[str]:
    """Return what options ask for and the rows do not have.

    Args:
        known: how many rows there are to learn from, and of the smallest class (`sanity.balance`).
    """
    labels = [*train.column(options.label), *test.column(options.label)]
    notes = note_on_absent("--without", options.without, labels)
    if options.method == "knn" and max(options.k) > known["rows"]:
        few = counted(known["rows"], "training row")
        notes.append(f"--k {max(options.k):,}: there are {few}")
    if options.method == "logreg" and (most := max(options.shots)) > known["smallest"]:
        notes.append(f"{most}-shot: of classes with fewer rows all are examples")
    return notes


def _scores(
    train: Embeddings,
    test: Embeddings,
    options: IntentOptions,
    weight: float | None,
    episodes: Episodes,
    name: str,
) -> list[Score]:
    """Return the scores of test rows, their vectors mixed by a weight, if any."""
    train = without_label(train, options.label, options.without)
    test = without_label(test, options.label, options.without)
    known, asked = (_vectors(part, options, weight) for part in (train, test))
    if options.template_references:
        known = mixed.with_templates(known, train)

    trial = Trial(
        known=known,
        asked=asked,
        options=options,
        episodes=episodes,
        setting="" if weight is None else f", lambda {weight:g}",
        facts={
            "task": "intent",
            "dataset": name,
            "seed": options.seed,
            "items": item_digests(test.columns, also=(options.label,)),
        },
    )
    if len(trial.names) < 2:
        raise DataError(f"{counted(len(trial.names), 'class')} to learn: nothing to tell apart")
    scores = METHODS[options.method].load()(trial)
    sanity.check(scores, train, test, known.labels[: len(train)], asked.labels)
    scores[0].data["unlearnt"] = dict(sanity.unlearnt(known.labels, asked.labels))
    return scores


def _vectors(part: Embeddings, options: IntentOptions, weight: float | None) -> Labelled:
    # the regression of MTEB sees vectors as they are
    return labelled_rows(
        part,
        options.label,
        None if weight is None else mixed.mixture(part, weight),
        scaled=options.method != "logreg",
    )


def prototype_scores(trial: Trial) -> list[Score]:
    """Return the accuracy of each shot count: the class whose mean has the largest dot product."""
    known = trial.known
    scores = []
    for shots in trial.options.shots:
        runs = [run.train for run in trial.episodes.take(known.labels, shots)]
        facts = {"setting": f"{shots}-shot{trial.setting}", **trial.facts}
        scores.append(prototype_accuracy(known, trial.asked, trial.names, runs, **facts))
    return scores


def prototype_accuracy(
    known: Labelled, asked: Labelled, names: list[str], runs: Iterable[np.ndarray], **facts: Any
) -> Score:
    """Return the accuracy over runs, each of which sees some rows of `known`."""
    classes_N = asked.classes(names)
    right_RN = np.stack([prototype_hits(known, asked, names, rows, classes_N) for rows in runs])
    return of_runs(
        (100.0 * right_RN.mean(1)).tolist(),
        metric="accuracy",
        n=len(classes_N),
        each=shares(right_RN.mean(0)),
        **facts,
    )


def neighbour_scores(trial: Trial) -> list[Score]:
    """Return the accuracy of each number of neighbours: the class that most of them have."""
    classes_N = trial.asked.classes(trial.names)
    most = min(max(trial.options.k), len(trial.known.labels))
    nearest_NK = nearest_rows(trial.asked.vectors, trial.known.vectors, most)
    near_NK = trial.known.classes(trial.names)[nearest_NK]
    return [
        of_queries(
            100.0 * (majority(near_NK[:, :k]) == classes_N),
            metric="accuracy",
            setting=f"{k}-nearest{trial.setting}",
            **trial.facts,
        )
        for k in trial.options.k
    ]


def regression_scores(trial: Trial) -> list[Score]:
    """Return the scores of logistic regression on a few rows a class, as MTEB draws them."""
    return logreg.scores(trial.known, trial.asked, trial.options, trial.setting, trial.facts)


def prototype_hits(
    train: Labelled, test: Labelled, names: list[str], rows: np.ndarray, classes_N: np.ndarray
) -> np.ndarray:
    """Return (N,) whether a row's class is that whose mean has the largest dot product with it.

    As in DSE 4.2.2.

    Args:
        rows: the training rows that the means are of.
        classes_N: the class of each test row, an index into `names`.
    """
    means_CD = prototypes(train.vectors[rows], train.classes(names)[rows], len(names))
    return (test.vectors @ means_CD.T).argmax(1) == classes_N
