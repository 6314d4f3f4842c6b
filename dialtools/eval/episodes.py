"""Few-shot episodes of a job: drawn by seed, read from a file, written for other jobs."""

from __future__ import annotations

import json
from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np

from dialtools.errors import ConfigError, DataError
from dialtools.eval.options.labelled import LabelledOptions
from dialtools.metrics.episodes import Episode, sample
from dialtools.streams.atomic import atomic_file
from dialtools.streams.json_file import read_json
from dialtools.streams.tally import counted


class Episodes:
    """The episodes of each shot count, as the options say; those that were asked for are kept.

    The file is {"shots": {"1": [{"seed", "train_idx", "val_idx"}]}}, or several such by data set.

    Raises:
        OutputError: if the file to write exists, before any work is done.
        DataError: if the file to read is missing, or not such a file.
        ConfigError: if --episode-set must choose.
    """

    def __init__(self, options: LabelledOptions) -> None:
        self.options = options
        self.taken: dict[int, list[Episode]] = {}
        self._learnt: dict[int, list[int]] = {}  # rows, of classes that have too few
        self._uneven: dict[int, list[int]] = {}  # rows, of classes of a run that has other numbers

    @cached_property
    def _by_shots(self) -> dict[str, Any] | None:
        return _read_episodes(self.options) if self.options.episodes else None

    def take(self, labels: list[str], shots: int) -> list[Episode]:
        """Return the episodes of a shot count: from the file, or drawn by seed.

        Args:
            labels: those of the training rows.

        Raises:
            ConfigError: if the file has none of that count.
            DataError: if it names a row that is not there.
        """
        if self._by_shots is None:
            halves = ((rows + 1) // 2 for rows in Counter(labels).values())
            self._learnt[shots] = [half for half in halves if half < shots]
            seeds = range(self.options.seed, self.options.seed + self.options.runs)
            episodes = [sample(labels, shots, seed=seed) for seed in seeds]
        else:
            episodes = self._listed(self._by_shots, shots, rows=len(labels))
            self._uneven[shots] = _uneven(episodes, labels, shots)
        self.taken[shots] = episodes
        return episodes

    def _listed(self, by_shots: dict[str, Any], shots: int, *, rows: int) -> list[Episode]:
        runs = by_shots.get(str(shots))
        if not runs:
            known = ", ".join(by_shots) or "none"
            raise ConfigError(f"--episodes has no {shots}-shot runs; there are {known}")
        try:
            episodes = [_episode(run, number) for number, run in enumerate(runs)]
        except (KeyError, TypeError, AttributeError, OverflowError):
            raise DataError(
                f'{shots}-shot: each run needs "train_idx", a list of row numbers',
                where=self.options.episodes,
            ) from None
        for episode in episodes:
            train = episode.train
            if not len(train) or train.min() < 0 or train.max() >= rows:
                raise DataError(
                    f"{shots}-shot: rows must be 0 to {rows - 1}, the training rows",
                    where=self.options.episodes,
                )
        return episodes

    @property
    def notes(self) -> list[str]:
        """What a user should know: of single runs, and of classes that have too few rows."""
        alone = [f"{shots}-shot" for shots, runs in self.taken.items() if len(runs) == 1]
        told = f"{', '.join(alone)}: one run has no interval; others would draw other examples"
        single = [told] if alone else []
        foreign = [
            f"{shots}-shot: a run of --episodes has {min(drawn)} to {max(drawn)} rows of a class; "
            "its row numbers may be of other training rows"
            for shots, drawn in self._uneven.items()
            if drawn
        ]
        return [*single, *foreign] + [
            f"{shots}-shot: {counted(len(few), 'class')} with fewer than {2 * shots - 1} rows: "
            f"half of the rows of each are examples (at least {counted(min(few), 'row')}), "
            "the rest are kept for validation, as DSE draws"
            for shots, few in self._learnt.items()
            if few
        ]

    def export(self) -> None:
        """Write what was taken, if --save-episodes names a file."""
        path = self.options.save_episodes
        if not path or not self.taken:
            return
        shots = {
            str(count): [_run(episode) for episode in episodes]
            for count, episodes in self.taken.items()
        }
        with atomic_file(path, overwrite=self.options.overwrite) as temporary:
            temporary.write_text(json.dumps({"shots": shots}) + "\n", encoding="utf-8")


def _uneven(episodes: list[Episode], labels: list[str], shots: int) -> list[int]:
    """Return the rows of each class in the first run that has more or fewer than it would draw."""
    least = {name: min(shots, (rows + 1) // 2) for name, rows in Counter(labels).items()}
    for episode in episodes:
        drawn = Counter(labels[row] for row in episode.train.tolist())
        if not all(rows <= drawn[name] <= shots for name, rows in least.items()):
            return [drawn[name] for name in least]
    return []


def _episode(run: dict[str, Any], number: int) -> Episode:
    return Episode(run.get("seed", number), _rows(run["train_idx"]), _rows(run.get("val_idx", [])))


def _rows(listed: Any) -> np.ndarray:
    if not isinstance(listed, list) or not all(type(row) is int for row in listed):
        raise TypeError
    return np.asarray(listed, np.int64)


def _run(episode: Episode) -> dict[str, Any]:
    return {
        "seed": episode.seed,
        "train_idx": episode.train.tolist(),
        "val_idx": episode.val.tolist(),
    }


def _read_episodes(options: LabelledOptions) -> dict[str, Any]:
    """Return {shots: runs} of --episodes, and of its data set --episode-set if it holds several."""
    path = str(options.episodes)
    content = read_json(path)
    if not _holds_episodes(content):
        raise DataError(
            'expected {"shots": {"1": [{"train_idx": [...]}]}}, or several such by data set',
            where=path,
        )
    return _chosen_set(content, options.episode_set).get("shots", {})


def _holds_episodes(content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    sets = [content] if "shots" in content else [*content.values()]
    held = [part.get("shots", {}) if isinstance(part, dict) else None for part in sets]
    return bool(held) and all(isinstance(shots, dict) for shots in held)


def _chosen_set(content: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Return the episodes of one data set: the named one, or the only one."""
    if "shots" in content:
        if name is not None:
            raise ConfigError("--episode-set: the file of --episodes is of one set, without a name")
        return content
    if name is None and len(content) == 1:
        return next(iter(content.values()))
    if name not in content:
        raise ConfigError(f"--episode-set: choose from {', '.join(content)}")
    return content[name]
