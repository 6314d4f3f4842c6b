"""Small embedding files, and score records found again by what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]
Published = Callable[[str], list[Record]]

# `model` too, where the embedding file tells it
FIELDS = {"schema", "task", "dataset", "setting", "metric", "inputs"} | {
    *("value", "low", "high", "std", "runs", "n", "seed")
}


def write(path: Path, rows: Sequence[Record], **vectors: np.ndarray) -> Path:
    """Write an embedding file as JSON Lines: the fields of `rows`, and a vector of each matrix."""
    with path.open("w") as out:
        for i, row in enumerate(rows):
            out.write(
                json.dumps(
                    {**row, **{name: matrix[i].tolist() for name, matrix in vectors.items()}}
                )
                + "\n"
            )
    return path


def write_npy(path: Path, rows: Sequence[Record], matrix_ND: np.ndarray) -> Path:
    """Write an embedding file as a bare matrix with its columns beside it."""
    np.save(path, matrix_ND)
    Path(f"{path}.columns.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def halves(files: Sequence[Path]) -> list[object]:
    """Return the flags that name a training and a test file."""
    return ["--train", files[0], "--test", files[1]]


def score(records: Sequence[Record], metric: str, setting: str | None = None) -> Record:
    """Return the one record of a metric, in a setting if several have it."""
    found = [r for r in records if r["metric"] == metric and setting in (None, r["setting"])]
    assert len(found) == 1, (
        f"{metric}, {setting}: there are {[(r['metric'], r['setting']) for r in records]}"
    )
    return found[0]


def unit(matrix_ND: np.ndarray) -> np.ndarray:
    return matrix_ND / np.linalg.norm(matrix_ND, axis=1, keepdims=True)


class Toy:
    """Noisy clusters on a sphere: `each` rows of each class, as many to test on, mixed."""

    def __init__(
        self, names: Sequence[str], each: int = 12, dimension: int = 8, noise: float = 0.9
    ) -> None:
        draw = np.random.default_rng(5)
        centres = draw.normal(size=(len(names), dimension))
        self.label = {}
        self.vectors = {}
        for split in ("train", "test"):
            kind = draw.permutation(np.repeat(np.arange(len(names)), each))
            rows = centres[kind] + noise * draw.normal(size=(len(kind), dimension))
            self.label[split] = [names[k] for k in kind]
            self.vectors[split] = rows.astype(
                np.float32
            )  # not of unit length: the command must see to that

    def write(self, folder: Path) -> tuple[Path, Path]:
        return tuple(
            write(folder / f"{s}.jsonl", self.rows(s), embedding=self.vectors[s])
            for s in ("train", "test")
        )

    def rows(self, split: str) -> list[Record]:
        return [
            {"text": f"{split} {i}", "label": label} for i, label in enumerate(self.label[split])
        ]
