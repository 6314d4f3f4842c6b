"""Out-of-scope detection with a prototype for what is out of scope (DSE 4.2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import sanity
from dialtools.eval.episodes import Episodes
from dialtools.eval.identity import item_digests
from dialtools.eval.labelled import Labelled, labelled_rows
from dialtools.eval.options.oos import OosOptions
from dialtools.eval.rows import read_parts
from dialtools.eval.score import Each, Score, Scored, of_runs, shares
from dialtools.metrics.classify import prototypes
from dialtools.metrics.detection import MEASURES, Detection, dense_ranks
from dialtools.shown import listed, quoted

THRESHOLDS = {"mean-std": -1.0, "mean": 0.0, "mean+std": 1.0}
"""Standard deviations of the test scores above their mean."""

Shares = np.ndarray | dict[str, np.ndarray]
"""What each test row adds to a metric: (N,) numbers, or several such by name (`eval.each`)."""


def evaluate(options: OosOptions) -> Scored:
    """Return DSE's four metrics and their mean at each threshold, and numbers that need none.

    AUROC, AUPR and FPR at 95 % recall; in percent.
    """
    episodes = Episodes(options)
    parts = read_parts(options)
    train, test = (labelled_rows(part, options.label) for part in (parts.train, parts.test))
    validation = labelled_rows(parts.validation, options.label) if len(parts.validation) else None
    for part, name in ((train, "training"), (test, "test"), (validation, "validation")):
        if part is not None:
            check_both_kinds(part.labels, name, options.oos_label)
    names = [*sorted(set(train.labels) - {options.oos_label}), options.oos_label]
    facts = {
        "task": "oos",
        "dataset": options.name or parts.train.name,
        "seed": options.seed,
        "n": len(test.labels),
        "items": item_digests(parts.test.columns, also=(options.label,)),
    }

    scores: list[Score] = []
    for shots in options.shots:
        drawn = episodes.take(train.labels, shots)
        runs = [one_run(train, test, validation, names, episode.train) for episode in drawn]
        scores += scores_of_runs(runs, f"{shots}-shot", facts)
    episodes.export()
    sanity.check(scores, parts.train, parts.test, train.labels, test.labels)
    lost = sanity.unlearnt([*train.labels, options.oos_label], test.labels)
    notes = [*sanity.notes(scores[0].data, lost), *episodes.notes]
    return Scored(scores, parts.train.metadata, notes)


def check_both_kinds(labels: Sequence[str], name: str, oos_label: str) -> None:
    """Raise DataError unless some rows of a part are out of scope, and some are not."""
    out = sum(label == oos_label for label in labels)
    if not out:
        there = f"there are {listed(sorted(set(labels)))}"
        hint = f"some {name} rows must be out of scope; --oos-label says how they are labelled"
        raise DataError(f"no {name} row is labelled {quoted(oos_label)}; {there}", hint=hint)
    if out == len(labels):
        raise DataError(f"every {name} row is labelled {oos_label!r}: none is in scope")


def scores_of_runs(
    runs: list[dict[tuple[str, str], Shares]], setting: str, facts: dict[str, Any]
) -> list[Score]:
    """Return the scores of each threshold, or of none."""
    scores = []
    for kind, metric in runs[0]:
        by_run = [run[kind, metric] for run in runs]
        scores.append(
            of_runs(
                [100 * _value(metric, run) for run in by_run],
                setting=f"{setting} {kind}".strip(),
                metric=metric,
                each=_of_all_runs(by_run),
                **facts,
            )
        )
    return scores


def one_run(
    train: Labelled, test: Labelled, validation: Labelled | None, names: list[str], rows: np.ndarray
) -> dict[tuple[str, str], Shares]:
    """Return {(threshold, metric): what each test row adds} of one episode.

    Scores are similarities to prototypes, each row divided by its length as the reference does ("",
    and "raw" without).

    Args:
        names: the classes; the last is what is out of scope.
        rows: the training rows of the episode.
    """
    means_CD = prototypes(train.vectors[rows], train.classes(names)[rows], len(names))
    figures: dict[tuple[str, str], Shares] = {}
    for kind, normalised in (("", True), ("raw ", False)):
        verdict = _verdict(test, means_CD, names, normalised=normalised)
        thresholds = {
            name: verdict.best.mean() + sigmas * verdict.best.std()
            for name, sigmas in THRESHOLDS.items()
        }
        if validation is not None:
            known = _verdict(validation, means_CD, names, normalised=normalised)
            thresholds["validation"] = chosen_threshold(known)
        for name, threshold in thresholds.items():
            for metric, shares_N in at_threshold(verdict, threshold).items():
                figures[f"{kind}{name}", metric] = shares_N
        ranking = {"out": verdict.classes == verdict.oos, "rank": dense_ranks(-verdict.known)}
        figures |= dict.fromkeys(((kind.strip(), metric) for metric in MEASURES), ranking)
    return figures


class Verdict(NamedTuple):
    """What prototypes say of N rows.

    Attributes:
        classes: (N,) their true classes.
        best, guess: (N,) the highest score, and whose it is.
        known: (N,) the highest score of a class that is in scope.
        oos: the class of what is out of scope.
    """

    classes: np.ndarray
    best: np.ndarray
    guess: np.ndarray
    known: np.ndarray
    oos: int


def _verdict(
    part: Labelled, means_CD: np.ndarray, names: list[str], *, normalised: bool
) -> Verdict:
    """Return what prototypes say; that of out of scope competes too, as in the reference."""
    scores_NC = part.vectors @ means_CD.T
    if normalised:
        lengths_N1 = np.linalg.norm(scores_NC, axis=1, keepdims=True)
        scores_NC = scores_NC / np.maximum(lengths_N1, 1e-12)
    return Verdict(
        classes=part.classes(names),
        best=scores_NC.max(1),
        guess=scores_NC.argmax(1),
        known=scores_NC[:, :-1].max(1),
        oos=len(names) - 1,
    )


def at_threshold(verdict: Verdict, threshold: float) -> dict[str, Shares]:
    """Return what each row adds to the four metrics of DSE, and to their mean.

    It is 1, 0, or NaN where a row does not count.
    """
    assigned_N = np.where(verdict.best > threshold, verdict.guess, verdict.oos)
    out_N = verdict.classes == verdict.oos
    right_N = (assigned_N == verdict.classes).astype(float)
    binary_N = ((assigned_N == verdict.oos) == out_N).astype(float)
    return {
        "accuracy": right_N,
        "in-accuracy": np.where(out_N, np.nan, right_N),
        "oos-accuracy": binary_N,
        "oos-recall": np.where(out_N, right_N, np.nan),
        "average": {"right": right_N, "binary": binary_N, "out": out_N},
    }


def _value(metric: str, figure: Shares) -> float:
    """Return the share that a metric of one run is; NaN where no row counts."""
    if isinstance(figure, np.ndarray):
        return float(np.nanmean(figure)) if not np.isnan(figure).all() else math.nan
    out_N = figure["out"].astype(bool)
    if metric in MEASURES:
        return float(Detection(metric, [figure["rank"]], out_N)(np.ones((1, len(out_N))))[0])
    right_N, binary_N = figure["right"], figure["binary"]
    means = [right_N.mean(), right_N[~out_N].mean(), binary_N.mean(), right_N[out_N].mean()]
    return float(np.mean(means))


def _of_all_runs(by_run: list[Shares]) -> Each:
    """Return the mean over runs of what each row adds, or its rank in each."""
    named = [run for run in by_run if isinstance(run, dict)]
    if not named:
        return shares(np.mean(np.asarray(by_run), axis=0))
    if "rank" in named[0]:
        return {
            "out": named[0]["out"].astype(int).tolist(),
            "rank": [run["rank"].tolist() for run in named],
        }
    return {name: shares(np.mean([run[name] for run in named], axis=0)) for name in named[0]}


def chosen_threshold(verdict: Verdict) -> float:
    """Return the threshold with the best mean of the four metrics on validation rows.

    It is one of 200 quantiles of their scores.
    """

    def average(threshold: float) -> float:
        return _value("average", at_threshold(verdict, threshold)["average"])

    tried = np.unique(np.quantile(verdict.best, np.linspace(0, 1, 201)))
    return float(max(tried, key=average))
