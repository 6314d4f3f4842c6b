"""Out-of-scope detection with a prototype for what is out of scope (METHODS 3.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialtools.errors import DataError
from dialtools.eval import sanity
from dialtools.eval.episodes import Episodes
from dialtools.eval.identity import identity
from dialtools.eval.labelled import Labelled, labelled_rows
from dialtools.eval.options.oos import OosOptions
from dialtools.eval.rows import read_parts
from dialtools.eval.score import Scored, of_runs, shares
from dialtools.metrics.classify import false_alarms_at_recall, placements, prototypes

THRESHOLDS = {"mean-std": -1.0, "mean": 0.0, "mean+std": 1.0}
Found = Any
"""What each test row adds to a metric: (N,) numbers, or several such by name (`each`)."""
FOUR = ("accuracy", "in-accuracy", "oos-accuracy", "oos-recall")


def evaluate(options: OosOptions) -> Scored:
    """Return DSE's four metrics and their mean at each threshold, AUROC, and FPR at 95 % recall.

    In percent.
    """
    episodes = Episodes(options)
    parts = read_parts(options)
    train, test = (labelled_rows(part, options.label) for part in (parts.train, parts.test))
    for part, name in ((train, "training"), (test, "test")):
        if options.oos_label not in part.labels:
            raise DataError(
                f"no {name} row is labelled {options.oos_label!r}",
                hint="name the label with --oos-label",
            )
    validation = labelled_rows(parts.validation, options.label) if len(parts.validation) else None
    names = [*sorted(set(train.labels) - {options.oos_label}), options.oos_label]
    facts: dict[str, Any] = {
        "task": "oos",
        "dataset": options.name or parts.train.name,
        "seed": options.seed,
        "n": len(test.labels),
        "items": identity(parts.test.columns, also=(options.label,)),
    }

    scores = []
    for shots in options.shots:
        drawn = episodes.take(train.labels, shots)
        runs = [one_run(train, test, validation, names, episode.train) for episode in drawn]
        for kind, metric in runs[0]:
            found = [run[kind, metric] for run in runs]
            values = [100 * _value(one) for one in found]
            scores.append(
                of_runs(
                    values,
                    setting=f"{shots}-shot {kind}".strip(),
                    metric=metric,
                    each=_each(found),
                    **facts,
                )
            )
    episodes.export()
    sanity.check(scores, parts.train, parts.test, train.labels, test.labels)
    return Scored(scores, parts.train.metadata, [sanity.note_on_rows(scores[0].data)])


def one_run(
    train: Labelled, test: Labelled, validation: Labelled | None, names: list[str], rows: np.ndarray
) -> dict[tuple[str, str], Found]:
    """Return {(threshold, metric): what each test row adds} of one episode.

    The last name is the out-of-scope class.

    Scores are similarities to prototypes, each row divided by its length as the reference does ("",
    and "raw" without).
    """
    means_CD = prototypes(train.vectors[rows], train.classes(names)[rows], len(names))
    figures: dict[tuple[str, str], Found] = {}
    for kind in ("", "raw "):
        y, best, guess = _scored(test, means_CD, names, normalised=not kind)
        thresholds = {
            name: best.mean() + sigmas * best.std() for name, sigmas in THRESHOLDS.items()
        }
        if validation is not None:
            thresholds["validation"] = chosen_threshold(
                *_scored(validation, means_CD, names, normalised=not kind), len(names) - 1
            )
        for name, threshold in thresholds.items():
            found = four(y, best, guess, threshold, len(names) - 1)
            figures |= {(f"{kind}{name}", metric): own for metric, own in found.items()}
        out = y == len(names) - 1
        figures[kind.strip(), "auroc"] = {"placement": placements(-best, out), "out": out}
        figures[kind.strip(), "fpr-at-95-recall"] = np.where(
            out, np.nan, false_alarms_at_recall(-best, out)
        )
    return figures


def _scored(
    part: Labelled, means_CD: np.ndarray, names: list[str], *, normalised: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (N,) classes, best scores and guesses.

    The out-of-scope prototype competes too, as in the reference.
    """
    scores_NC = part.vectors @ means_CD.T
    if normalised:
        scores_NC = scores_NC / np.maximum(np.linalg.norm(scores_NC, axis=1, keepdims=True), 1e-12)
    return part.classes(names), scores_NC.max(1), scores_NC.argmax(1)


def four(
    y: np.ndarray, best: np.ndarray, guess: np.ndarray, threshold: float, oos: int
) -> dict[str, Found]:
    """Return what each row adds to the four metrics of DSE, and to their mean.

    It is 1, 0, or NaN where a row does not count.
    """
    said, out = np.where(best > threshold, guess, oos), y == oos
    right, binary = (said == y).astype(float), ((said == oos) == out).astype(float)
    each = (right, np.where(out, np.nan, right), binary, np.where(out, right, np.nan))
    return {
        **dict(zip(FOUR, each, strict=True)),
        "average": {"right": right, "binary": binary, "out": out},
    }


def _value(found: Found) -> float:
    """Return the share that a metric of one run is."""
    if isinstance(found, np.ndarray):
        return float(np.nanmean(found)) if not np.isnan(found).all() else float("nan")
    out = found["out"].astype(bool)
    if "placement" in found:
        return (
            float(found["placement"][out].mean()) if out.any() and not out.all() else float("nan")
        )
    right = found["right"]
    return float(
        np.mean([right.mean(), right[~out].mean(), found["binary"].mean(), right[out].mean()])
    )


def _each(found: list[Found]) -> Any:
    """Return the mean over runs of what each row adds."""
    if isinstance(found[0], np.ndarray):
        return shares(np.mean(found, axis=0))
    return {name: shares(np.mean([run[name] for run in found], axis=0)) for name in found[0]}


def chosen_threshold(y: np.ndarray, best: np.ndarray, guess: np.ndarray, oos: int) -> float:
    """Return the threshold with the best mean of the four metrics on validation rows.

    It is one of 200 quantiles of their scores.
    """
    tried = np.unique(np.quantile(best, np.linspace(0, 1, 201)))
    return float(max(tried, key=lambda t: _value(four(y, best, guess, t, oos)["average"])))
