"""Weights chosen on validation files: each candidate of a grid is scored, the best is taken.

The rule: the highest mean over the files of score minus the start's score; of equals the smaller
weights, by their sum, then from the last model on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.streams.sinks import json_line

TABLE = "merge-candidates.jsonl"
DIGITS = 9
"""Of a gain: sums of the same scores in another order are equal."""

Weights = tuple[float, ...]
Scores = Mapping[str, float]


@dataclass(frozen=True)
class Candidate:
    """Weights of the models, in their order, and the score of each file, in percent."""

    weights: Weights
    scores: Scores

    def gain(self, start: Scores) -> float:
        """Return the mean over the files of the score minus the start's, in points."""
        gains = [score - start[file] for file, score in self.scores.items()]
        return round(float(np.mean(gains)), DIGITS)


def candidates(grid: Sequence[float], models: int) -> list[Weights]:
    """Return all weights to try, the start as it is first."""
    start = (0.0,) * models
    return [start, *(each for each in product(sorted(grid), repeat=models) if any(each))]


def best(scored: Sequence[Candidate]) -> Candidate:
    """Return the candidate that the rule takes; the first is the start."""
    start = scored[0].scores
    return min(scored, key=lambda c: (-c.gain(start), sum(c.weights), c.weights[::-1]))


def score_all(
    every: Sequence[Weights],
    make: Callable[[Path, Weights], None],
    score: Callable[[Path], Scores],
    folder: Path,
) -> Iterator[Candidate]:
    """Yield each candidate once it is scored.

    Args:
        make: writes the model of some weights into an empty folder.
        score: of a model directory, by the name of the file.
        folder: where candidates stand, one at a time.
    """
    for weights in every:
        folder.mkdir()
        try:
            make(folder, weights)
            yield Candidate(weights, score(folder))
        finally:
            shutil.rmtree(folder)


def table(scored: Sequence[Candidate], names: Sequence[str], chosen: Candidate) -> bytes:
    """Return the candidates as JSON lines, in the order in which they were tried."""
    start = scored[0].scores
    rows: list[dict[str, Any]] = [
        {
            "weights": [
                {"model": name, "weight": weight}
                for name, weight in zip(names, candidate.weights, strict=True)
            ],
            "scores": candidate.scores,
            "gain": candidate.gain(start),
            "chosen": candidate is chosen,
        }
        for candidate in scored
    ]
    return b"".join(map(json_line, rows))
