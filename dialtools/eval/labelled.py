"""Labelled embeddings: training and test rows, classes as integers, episodes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.errors import ConfigError, DataError, OutputError, nearest
from dialtools.eval.options.labelled import IntentOptions, LabelledOptions, OosOptions
from dialtools.eval.parts import VALIDATION
from dialtools.metrics.episodes import Episode, sample
from dialtools.metrics.geometry import unit
from dialtools.streams.vectors import Embeddings, read_embeddings


@dataclass
class Labelled:
    """Vectors (N, D), of unit length where not said otherwise, and their labels as text."""

    vectors: np.ndarray
    labels: list[str]

    def classes(self, names: list[str]) -> np.ndarray:
        """Return (N,) the index of each label in `names`, -1 for others."""
        index = {name: i for i, name in enumerate(names)}
        return np.fromiter(
            (index.get(label, -1) for label in self.labels), np.int64, len(self.labels)
        )


def read(options: LabelledOptions) -> tuple[Labelled, Labelled, Embeddings]:
    """Return training rows, test rows, and the file they came from (for its metadata and validation rows)."""
    train, test, source = parts(options)
    return of(train, options.label), of(test, options.label), source


def parts(options: LabelledOptions) -> tuple[Embeddings, Embeddings, Embeddings]:
    """Return the embeddings of training rows, of test rows, and the file they came from.

    Raises:
        DataError: if a column is missing, a part is empty, or the parts differ in their dimensions.
    """
    if options.train and options.test:
        both = read_embeddings([options.train]), read_embeddings([options.test])
        source = both[0]
        train, test = both
    else:
        source = read_embeddings(options.inputs)
        train, test = (
            rows_of(source, options, value) for value in (options.train_split, options.test_split)
        )
    of_train, of_test = (next(iter(part.vectors.values())).shape[1] for part in (train, test))
    if of_train != of_test:
        raise DataError(f"training vectors have {of_train} dimensions, test vectors {of_test}")
    return train, test, source


def part_of(source: Embeddings, options: LabelledOptions, value: str) -> Labelled:
    """Return the rows whose split column has a value, labelled."""
    return of(rows_of(source, options, value), options.label)


def validation_split(source: Embeddings, options: IntentOptions | OosOptions) -> str | None:
    """Return the value of the split column for validation rows, as named or one of the usual; None if no row has it."""
    known = {*source.columns.get(options.split, ())} - {options.train_split, options.test_split}
    return next(
        (
            v
            for v in ((options.validation_split,) if options.validation_split else VALIDATION)
            if v in known
        ),
        None,
    )


def rows_of(source: Embeddings, options: LabelledOptions, value: str) -> Embeddings:
    """Return the rows whose split column has a value."""
    column = source.column(options.split)
    rows = np.asarray([i for i, own in enumerate(column) if own == value], np.int64)
    if not len(rows):
        known = sorted({str(v) for v in column})
        raise DataError(
            f"no row has {options.split} = {value!r}; there are {', '.join(known)}",
            where=source.name,
            hint=nearest(value, known),
        )
    return source.select(rows)


def without(part: Embeddings, label: str, value: str | None) -> Embeddings:
    """Return the rows of other labels."""
    if value is None:
        return part
    return part.select(
        np.asarray(
            [row for row, own in enumerate(part.column(label)) if str(own) != value], np.int64
        )
    )


def of(
    part: Embeddings, label: str, vectors: np.ndarray | None = None, *, scaled: bool = True
) -> Labelled:
    """Return rows with their labels; `vectors` may stand in for the ones of the file; scaled to unit length or as they are."""
    values = part.column(label)
    empty = next((i for i, value in enumerate(values) if value is None), None)
    if empty is not None:
        raise DataError(f"row {empty + 1} has no {label}", where=part.name)
    if not values:
        raise DataError("holds no rows", where=part.name)
    found = part.matrix if vectors is None else vectors
    return Labelled(unit(found) if scaled else found, [str(value) for value in values])


def episodes(
    labels: list[str], shots: int, options: LabelledOptions, loaded: dict[str, Any] | None
) -> list[Episode]:
    """Return the episodes of a shot count: from the file, or drawn by seed.

    Raises:
        ConfigError: if the file has none of that count.
    """
    if loaded is None:
        return [sample(labels, shots, seed=options.seed + run) for run in range(options.runs)]
    found = loaded.get("shots", {}).get(str(shots))
    if not found:
        raise ConfigError(
            f"--episodes has no {shots}-shot runs; there are {', '.join(loaded.get('shots', {}))}"
        )
    try:
        runs = [
            Episode(
                r.get("seed", i),
                np.asarray(r["train_idx"], np.int64),
                np.asarray(r.get("val_idx", []), np.int64),
            )
            for i, r in enumerate(found)
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(
            f'{shots}-shot: each run needs "train_idx", a list of row numbers',
            where=options.episodes,
        ) from None
    for run in runs:
        if not len(run.train) or run.train.min() < 0 or run.train.max() >= len(labels):
            raise DataError(
                f"{shots}-shot: rows must be 0 to {len(labels) - 1}, the training rows",
                where=options.episodes,
            )
    return runs


def load_episodes(options: LabelledOptions) -> dict[str, Any] | None:
    """Read --episodes: {"shots": {"1": [{"seed", "train_idx", "val_idx"}]}}, or several such by data set.

    Raises:
        DataError: if it is missing or not JSON. ConfigError: if --episode-set must choose.
    """
    if not options.episodes:
        return None
    try:
        content = json.loads(Path(options.episodes).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(error.strerror or str(error), where=options.episodes) from None
    except ValueError as error:
        raise DataError(f"not JSON: {error}", where=options.episodes) from None
    if not isinstance(content, dict) or not all(
        isinstance(v, dict) for k, v in content.items() if "shots" not in content or k == "shots"
    ):
        raise DataError(
            'expected {"shots": {"1": [{"train_idx": [...]}]}}, or several such by data set',
            where=options.episodes,
        )
    if "shots" in content:
        return content
    if options.episode_set is None and len(content) == 1:
        return next(iter(content.values()))
    if options.episode_set not in content:
        raise ConfigError(f"--episode-set: choose from {', '.join(content)}")
    return content[options.episode_set]


def export(options: LabelledOptions, drawn: dict[int, list[Episode]]) -> None:
    """Write the drawn episodes for --episodes of another run."""
    if not options.export_episodes:
        return
    path = Path(options.export_episodes)
    if path.exists() and not options.overwrite:
        raise OutputError("exists already", where=path, hint="--overwrite replaces it")
    shots = {
        str(k): [
            {"seed": e.seed, "train_idx": e.train.tolist(), "val_idx": e.val.tolist()} for e in runs
        ]
        for k, runs in drawn.items()
    }
    path.write_text(json.dumps({"shots": shots}) + "\n", encoding="utf-8")
