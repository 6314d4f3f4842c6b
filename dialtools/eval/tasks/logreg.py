"""Few-shot classification by logistic regression, as MTEB has it (mteb 1 and 2).

Each run takes k rows a class and fits scikit-learn's LogisticRegression with 100 iterations at most
to the vectors as they are. Rows are the first k of each class in a shuffled order; a run shuffles
the order of the run before it again, with a generator of the same seed. N test rows, R runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dialtools.eval.labelled import Labelled
from dialtools.eval.options.intent import IntentOptions
from dialtools.eval.score import Score, of_runs, shares
from dialtools.metrics import counts

SEED, ITERATIONS = 42, 100
"""MTEB's; --seed is added."""
AVERAGES = ("macro", "weighted")


def scores(
    known: Labelled, asked: Labelled, options: IntentOptions, mark: str, facts: dict[str, Any]
) -> list[Score]:
    """Return accuracy and F1 in percent of each shot count."""
    names = sorted({*known.labels, *asked.labels})
    learn, y, found = known.classes(names), asked.classes(names), []
    for shots in options.shots:
        drawn = undersamples(known.labels, shots, runs=options.runs, seed=SEED + options.seed)
        guess_RN = np.stack(
            [
                predict(known.vectors[rows], learn[rows], asked.vectors, seed=SEED + options.seed)
                for rows in drawn
            ]
        )
        right_RN = guess_RN == y
        own = {"setting": f"{shots}-shot logreg{mark}", "n": len(y), **facts}
        found.append(
            of_runs(
                (100.0 * right_RN.mean(1)).tolist(),
                metric="accuracy",
                each=shares(right_RN.mean(0)),
                **own,
            )
        )
        each = {"truth": y.tolist(), "guess": guess_RN.tolist()}
        for average in AVERAGES:
            values = [
                100 * float(counts.class_f1(y, guess[None], average)(np.ones((1, len(y))))[0])
                for guess in guess_RN
            ]
            found.append(of_runs(values, metric=f"{average}-f1", each=each, **own))
    return found


def undersamples(
    labels: Sequence[str], shots: int, *, runs: int, seed: int
) -> Iterator[np.ndarray]:
    """Yield the rows of each run."""
    order = np.arange(len(labels))
    for _ in range(runs):
        np.random.RandomState(seed).shuffle(order)
        taken: dict[str, int] = {}
        rows = []
        for row in order.tolist():
            taken[labels[row]] = taken.get(labels[row], 0) + 1
            if taken[labels[row]] <= shots:
                rows.append(row)
        yield np.asarray(rows, np.int64)


def predict(
    train_MD: np.ndarray, classes_M: np.ndarray, test_ND: np.ndarray, *, seed: int
) -> np.ndarray:
    """Return (N,) the predicted classes."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    with (
        warnings.catch_warnings(),
        threadpool_limits(1),
    ):  # one thread: the same weights on any machine
        warnings.simplefilter("ignore")  # that 100 iterations were not enough is MTEB's choice
        return (
            LogisticRegression(max_iter=ITERATIONS, random_state=seed)
            .fit(train_MD, classes_M)
            .predict(test_ND)
        )
