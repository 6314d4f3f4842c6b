"""What a log without labels adds to a few examples of each class, over draws of the examples.

python bench/unlabelled.py TRAIN TEST [OTHER] [--shots 1,2,5,10] [--draws 10]

TRAIN, TEST and OTHER are embedding files of one model, the first two with a `label`. The examples
are rows of TRAIN; the log is all its other rows, as `dialtools assign --unlabelled` takes them,
then the same among three times as many rows of OTHER. Prints the accuracy of the nearest prototype
on TEST, and what the log adds to it: means of the draws, and their deviation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dialtools.metrics.classify import prototypes
from dialtools.metrics.space import unit
from dialtools.near.unlabelled import refined
from dialtools.streams.vector_files import read_embeddings

OUT_OF_SCOPE = "oos"


def labelled(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, D) unit vectors, and (N,) labels; rows out of scope are left out."""
    part = read_embeddings([str(path)])
    labels = np.array(part.columns["label"])
    inside = labels != OUT_OF_SCOPE
    return unit(part.matrix)[inside], labels[inside]


def drawn(labels_N: np.ndarray, shots: int, seed: int) -> np.ndarray:
    """Return the rows of so many examples of each label."""
    draw = np.random.default_rng(seed)
    own = (np.flatnonzero(labels_N == label) for label in np.unique(labels_N))
    return np.concatenate([draw.choice(rows, shots, replace=False) for rows in own])


def gains(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    other_OD: np.ndarray | None,
    shots: int,
    seed: int,
) -> Iterator[float]:
    """Yield the accuracy of the examples alone, and what each log adds, in points."""
    (train_ND, labels_N), (test_TD, labels_T) = train, test
    names, classes_N = np.unique(labels_N, return_inverse=True)
    rows = drawn(labels_N, shots, seed)
    log_LD = np.delete(train_ND, rows, axis=0)
    start_CD = unit(prototypes(train_ND[rows], classes_N[rows], len(names)))

    def accuracy(prototypes_CD: np.ndarray) -> float:
        return 100 * float((names[(test_TD @ prototypes_CD.T).argmax(1)] == labels_T).mean())

    alone = accuracy(start_CD)
    yield alone
    logs = [log_LD]
    if other_OD is not None:
        draw = np.random.default_rng(seed)
        logs.append(np.concatenate([log_LD, draw.choice(other_OD, 3 * len(log_LD))]))
    for log in logs:
        moved_CD, _, _ = refined(start_CD, np.full(len(names), shots), lambda: [log])  # noqa: B023
        yield accuracy(moved_CD) - alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--shots", default="1,2,5,10")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    train, test = labelled(options.train), labelled(options.test)
    other = unit(read_embeddings([str(options.other)]).matrix) if options.other else None
    print("| examples of each | alone | with the log | among three times as many others |")
    print("| --- | ---: | ---: | ---: |")
    for shots in map(int, options.shots.split(",")):
        found = [[*gains(train, test, other, shots, seed)] for seed in range(options.draws)]
        columns = np.array(found).T
        told = [f"{each.mean():.1f} ± {each.std(ddof=1):.1f}" for each in columns]
        print("|", " | ".join([str(shots), *told]), "|")


if __name__ == "__main__":
    main()
