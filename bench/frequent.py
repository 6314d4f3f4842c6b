"""Are the frequent responses the errors? Selection by how often the right response was said.

python bench/frequent.py PAIRS.arrow VECTORS.parquet NAME=SCORES.jsonl[,SCORES.jsonl...] ...

PAIRS are those trained on, VECTORS what `dial-eval select` scored (any model's: only its responses
count), SCORES its files, one a seed. A row a band of frequencies, of top-10 in percent.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
from side_by_side import SCRIPTS

BANDS = {"never": 0, "1 to 9 times": 1, "10 to 99": 10, "100 and more": 100}
METRIC = "top-10"


def counts(pairs: str) -> dict[str, int]:
    """Return how often each response of pairs was said, as dial-freq folds and counts them."""
    command = [SCRIPTS / "dial-freq", "-q", "--no-rank", pairs]
    told = subprocess.run(command, check=True, capture_output=True).stdout
    return {row["text"]: row["count"] for row in map(orjson.loads, told.splitlines())}


def folded(text: str) -> str:
    return " ".join(text.lower().split())


def items(path: str, dataset: str) -> np.ndarray:
    """Return (N,) what each query of a data set adds to the score, in percent."""
    rows: list[dict[str, Any]] = list(map(orjson.loads, Path(path).read_bytes().splitlines()))
    found = [row for row in rows if row["task"] == "select" and row["metric"] == METRIC]
    wanted = [row for row in found if len(found) == 1 or row["dataset"] == dataset]
    return 100 * np.array(wanted[0]["each"], np.float64)


def main() -> None:
    pairs, vectors, *models = sys.argv[1:]
    count = counts(pairs)
    texts = pq.read_table(vectors, columns=["response"])["response"].to_pylist()
    times_N = np.array([count.get(folded(text), 0) for text in texts])
    dataset = {"select-1": "1 turn", "select-3": "3 turns"}.get(Path(vectors).stem, "")
    scores: dict[str, np.ndarray] = {}
    for model in models:
        name, _, files = model.partition("=")
        scores[name] = np.mean([items(file, dataset) for file in files.split(",")], axis=0)
    table(times_N, scores)


def table(times_N: np.ndarray, scores: dict[str, np.ndarray]) -> None:
    """Print a row a band: its queries, and of each model top-10 and its share of the errors."""
    asked = len(next(iter(scores.values())))
    band_N = np.searchsorted(list(BANDS.values()), times_N[:asked], side="right") - 1
    print("| the right response was trained on | queries |", " | ".join(scores), "|")
    print("| --- " * (2 + len(scores)) + "|")
    for band, name in enumerate(BANDS):
        here = band_N == band
        if not here.any():
            continue
        cells = [cell(score_N, here) for score_N in scores.values()]
        print(f"| {name} | {here.sum()} ({here.mean():.0%}) |", " | ".join(cells), "|")


def cell(score_N: np.ndarray, here: np.ndarray) -> str:
    errors = (100 - score_N)[here].sum() / (100 - score_N).sum()
    return f"{score_N[here].mean():.1f} ({errors:.0%} of errors)"


if __name__ == "__main__":
    main()
