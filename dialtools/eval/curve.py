"""Scores over the steps of training: each snapshot is scored as files of its vectors would be.

What embeds is handed in: there is no torch here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialtools.corpora.turns import Record
from dialtools.encoder.descent import beside_weights, of_weights
from dialtools.encoder.sidefile import SideFile
from dialtools.errors import DataError, ModelError
from dialtools.eval.options.curve import CurveOptions
from dialtools.eval.prepared import Prepared
from dialtools.streams.bytesio import refuse_missing
from dialtools.streams.chunks import read_records
from dialtools.streams.job import Job
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import Inputs, read_provenance
from dialtools.streams.resume import Piece, Work

Row = dict[str, Any]
"""A score record that tells its run and step."""
Embed = Callable[[Sequence[Record], Sequence[str]], Mapping[str, np.ndarray]]
"""Records, and names of their fields -> (N, D) vectors of each field."""


class Point(NamedTuple):
    """A snapshot: its run's name, its step, where it is, and digests of it.

    Attributes:
        weights, beside: digests of its weights, and of what else decides its vectors.
    """

    run: str
    step: int
    path: Path
    weights: str
    beside: str

    @property
    def key(self) -> str:
        """What its scores are kept under: the same model at the same step is scored once."""
        return f"step {self.step} {self.weights} {self.beside}".strip()


def find_points(folders: Sequence[str]) -> list[Point]:
    """Return the snapshots of all runs, those of a run by their steps; of a model itself.

    Raises:
        DataError: if a run has none, and is no model.
        ModelError: if one is no model directory.
    """
    return [
        Point(name, step, path, _weights(path), beside_weights(path))
        for name, folder in _names(folders).items()
        for step, path in sorted(_snapshots(folder).items())
    ]


def _names(folders: Sequence[str]) -> dict[str, Path]:
    """Return a name for each run: its folder's, or, where two are called alike, its path."""
    paths = list(dict.fromkeys(Path(folder) for folder in folders))
    short = [path.absolute().name for path in paths]
    return {
        name if short.count(name) == 1 else str(path): path
        for name, path in zip(short, paths, strict=True)
    }


def _snapshots(folder: Path) -> dict[int, Path]:
    refuse_missing([str(folder)])
    steps = {
        int(match[1]): path
        for path in (folder / "snapshots").glob("step-*")
        if (match := re.fullmatch(r"step-(\d+)", path.name))
    }
    if not steps and (folder / "modules.json").is_file():
        return {_steps(folder): folder}
    if not steps:
        raise DataError(
            "holds no snapshots", where=folder, hint="dial-train --snapshot-every N keeps them"
        )
    return steps


def _steps(model: Path) -> int:
    """Return how many steps dial-train says that it made; 0 of another's model."""
    counts = (read_provenance(model) or {}).get("counts")
    steps = counts.get("steps") if isinstance(counts, dict) else 0
    return steps if type(steps) is int else 0


def _weights(model: Path) -> str:
    """Return a digest of a model's weights: dial-train notes one."""
    told = SideFile.read(model / "dialtools.json").text("weights") or of_weights(model)
    if not told:
        raise ModelError("not a model directory: no weights", where=model)
    return told


def job_of(command: str, options: CurveOptions, points: Sequence[Point], precision: str) -> Job:
    """Return what a resumed job must share with the one it goes on from; snapshots may be others.

    Args:
        precision: what `auto` came to.
    """
    files = [path for path in (options.intent, options.oos, options.select) if path]
    facts = {"precision": precision, "snapshots": [point.key for point in points]}
    return Job(command, options, Inputs(files), facts=facts, pieces=("snapshots",))


@dataclass
class Curve:
    """The points of some runs, and the tasks that score them."""

    points: Sequence[Point]
    tasks: Sequence[Prepared]

    def take(self, work: Work, open_model: Callable[[Path], Embed]) -> Iterator[Piece]:
        """Yield each point once its scores are among the pieces of the job."""
        for point in self.points:
            fresh = point.key not in work.pieces
            if fresh:
                work.add(point.key, self._scores(open_model(point.path)))
            yield Piece(fresh, {"step": f"{point.step:,}"})

    def _scores(self, embed: Embed) -> list[Row]:
        return [
            score.record()
            for task in self.tasks
            for score in task.scores(embed(task.records, task.fields))
        ]

    def rows(self, work: Work) -> list[Row]:
        """Return the score records of all points."""
        inputs = work.job.inputs.described()
        return [
            {
                **record,
                "run": point.run,
                "step": point.step,
                "model": str(point.path),
                "inputs": inputs,
            }
            for point in self.points
            for record in work.pieces[point.key]
        ]


def title(row: Row) -> str:
    """Return what tells a score from the others of its snapshot."""
    return row["metric"] if row["task"] == "select" else f"{row['setting']} {row['metric']}"


def table_rows(rows: Sequence[Row], metrics: Sequence[str]) -> list[list[str]]:
    """Return a line for each step of each run: both, and the scores."""
    points: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        points.setdefault((row["run"], row["step"]), {})[title(row)] = row["value"]
    return [
        [run, f"{step:,}", *(f"{values[metric]:.2f}" for metric in metrics)]
        for (run, step), values in points.items()
    ]


def lines_of(rows: Sequence[Row], metrics: Sequence[str]) -> dict[tuple[str, str], np.ndarray]:
    """Return for each run and metric (K, 4) rows of step, value, low, high.

    NaN where there is no interval.
    """
    lines: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        if (metric := title(row)) in metrics:
            bounds = [row.get(name, np.nan) for name in ("low", "high")]
            points = lines.setdefault((row["run"], metric), [])
            points.append([row["step"], row["value"], *bounds])
    return {line: np.asarray(points, float) for line, points in lines.items()}


def read_rows(path: str) -> list[Row]:
    """Return the score records of a finished curve."""
    return [record for _, record in read_records([path], policy=Policy())]
