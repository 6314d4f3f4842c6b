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

SEED = 42
"""MTEB's; --seed is added."""
ITERATIONS = 100
"""MTEB's."""
AVERAGES = ("macro", "weighted")


def scores(
    known: Labelled, asked: Labelled, options: IntentOptions, mark: str, facts: dict[str, Any]
) -> list[Score]:
    """Return accuracy and F1 in percent of each shot count.

    Args:
        mark: what settings end in.
        facts: what all scores share.
    """
    names = sorted({*known.labels, *asked.labels})
    learnt_M, truth_N = known.classes(names), asked.classes(names)
    seed = SEED + options.seed
    measured: list[Score] = []
    for shots in options.shots:
        drawn = undersamples(known.labels, shots, runs=options.runs, seed=seed)
        guesses = [
            predict(known.vectors[rows], learnt_M[rows], asked.vectors, seed=seed) for rows in drawn
        ]
        run_facts = {"setting": f"{shots}-shot logreg{mark}", "n": len(truth_N), **facts}
        measured += _scores_of_runs(truth_N, np.stack(guesses), run_facts)
    return measured


def _scores_of_runs(
    truth_N: np.ndarray, guess_RN: np.ndarray, facts: dict[str, Any]
) -> list[Score]:
    right_RN = guess_RN == truth_N
    accuracies = (100.0 * right_RN.mean(1)).tolist()
    measured = [of_runs(accuracies, metric="accuracy", each=shares(right_RN.mean(0)), **facts)]
    each = {"truth": truth_N.tolist(), "guess": guess_RN.tolist()}
    everyone = np.ones((1, len(truth_N)))
    for average in AVERAGES:
        statistics = [counts.class_f1(truth_N, guess_N[None], average) for guess_N in guess_RN]
        values = [100 * statistic(everyone)[0] for statistic in statistics]
        measured.append(of_runs(values, metric=f"{average}-f1", each=each, **facts))
    return measured


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
    train_MD: np.ndarray,
    classes_M: np.ndarray,
    test_ND: np.ndarray,
    *,
    seed: int,
    class_weight: str | None = None,
) -> np.ndarray:
    """Return (N,) the predicted classes.

    Args:
        class_weight: `balanced`: rows of rare classes count more, as in scikit-learn.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    settings: dict[str, Any] = {"random_state": seed, "class_weight": class_weight}
    model = LogisticRegression(max_iter=ITERATIONS, **settings)
    # one thread: the same weights on any machine
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # that 100 iterations were not enough is MTEB's choice
        return model.fit(train_MD, classes_M).predict(test_ND)
