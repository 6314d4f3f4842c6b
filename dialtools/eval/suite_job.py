"""A suite run over folders of embedding files, one for each model: a job of data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialtools.errors import ConfigError, DataError
from dialtools.eval.options.base import SOURCES, protocol
from dialtools.eval.options.suite import SuiteOptions
from dialtools.eval.score import SCHEMA, Score
from dialtools.eval.suite import AVERAGE, Dataset, Row, Suite
from dialtools.eval.tasks.catalog import TASKS
from dialtools.options import Layer, resolve, specs
from dialtools.shown import listed
from dialtools.streams.job import Job
from dialtools.streams.provenance import Inputs, describe
from dialtools.streams.resume import Piece, Work
from dialtools.streams.vector_files import holds_vectors

SUFFIXES = (
    ".parquet",
    ".arrow",
    ".arrows",
    ".feather",
    ".jsonl",
    ".jsonl.gz",
    ".jsonl.zst",
    ".npy",
    ".fbin",
)
"""Of embedding files, in the order in which they are looked for."""


@dataclass(frozen=True)
class Place:
    """A data set of a suite in the folder of a model.

    Attributes:
        number: of the data set in its suite.
        files: its embedding files that are there, by their stems.
        missing: what of it is not there, or "".
    """

    folder: str
    number: int
    dataset: Dataset
    files: Mapping[str, str]
    missing: str

    @property
    def inputs(self) -> list[str]:
        """All files that its scores come from: those, and the ones that its options name."""
        named = (str(value) for key, value in self.dataset.options.items() if key in SOURCES)
        return [*self.files.values(), *named]

    @property
    def key(self) -> str:
        """What its scores are kept under."""
        return f"{self.folder}: set {self.number}, {self.dataset.task} {self.dataset.name}"


@dataclass
class Result:
    """The scores of a suite.

    Attributes:
        values: {folder: {row: number}}, averages among them.
    """

    scores: list[Score] = field(default_factory=list)
    values: dict[str, dict[Row, float]] = field(default_factory=dict)


def find_places(suite: Suite, folders: Sequence[str]) -> list[Place]:
    """Return where each data set of the suite lies, for each folder.

    Raises:
        DataError: if there is no such folder, or none of the data sets is in one.
    """
    if missing := next((folder for folder in folders if not Path(folder).is_dir()), None):
        raise DataError("no such folder", where=missing)
    places = []
    for folder in folders:
        here = [_place(folder, *numbered) for numbered in enumerate(suite.sets, 1)]
        if all(place.missing for place in here):
            stems = dict.fromkeys(dataset.file for dataset in suite.sets)
            raise DataError(
                f"no data set of {suite.title} is here",
                where=folder,
                hint=f"looked for {', '.join(stems)} with {', '.join(SUFFIXES)}",
            )
        places += here
    return places


def plan(places: Sequence[Place]) -> dict[str, str]:
    """Return what would be scored, and what is missing, by these names."""
    scored, missing = (
        listed(place.key for place in places if bool(place.missing) is lacks)
        for lacks in (False, True)
    )
    return {"scores": scored} | ({"missing": missing} if missing else {})


def _place(folder: str, number: int, dataset: Dataset) -> Place:
    files: dict[str, str] = {}
    missing = ""
    for stem in dataset.stems:
        usual = (Path(folder, f"{stem}{suffix}") for suffix in SUFFIXES)
        named = [path for path in usual if path.is_file()]
        file = next((str(path) for path in named if holds_vectors(str(path))), None)
        if file is not None:
            files[stem] = file
        elif not missing:
            records = [f"{path.name} holds records, no embeddings" for path in named]
            missing = records[0] if records else f"no {stem}.parquet, .arrow, .jsonl or .npy"
    return Place(folder, number, dataset, files, missing)


def job_of(
    command: str, options: SuiteOptions, suite: Suite, places: Sequence[Place], *, seed: int | None
) -> Job:
    """Return what a resumed job must share with the one it goes on from.

    Args:
        seed: of all tasks; None: the suite says, or nobody.
    """
    files = [file for place in places if not place.missing for file in place.inputs]
    inputs = Inputs([suite.name, *dict.fromkeys(files)])
    return Job(command, options, inputs, facts={"seed": seed})


def take(suite: Suite, places: Sequence[Place], work: Work, *, seed: int | None) -> Iterator[Piece]:
    """Yield each data set once its scores are among the pieces of the job.

    Args:
        seed: as `job_of` has it.

    Raises:
        ConfigError: if its task has no score that the suite names.
    """
    for place in places:
        fresh = not place.missing and place.key not in work.pieces
        if fresh:
            scores = _scores(suite, place, seed)
            work.add(place.key, [score.record() for score in scores])
        yield Piece(fresh)


def result_of(suite: Suite, places: Sequence[Place], work: Work) -> Result:
    """Return the scores that the job has, and their averages."""
    result = Result()
    for place in places:
        values = result.values.setdefault(place.folder, {})
        if not place.missing:
            scores = [Score.from_record(record) for record in work.pieces[place.key]]
            values.update(zip(place.dataset.rows(), (s.value for s in scores), strict=True))
            result.scores += scores
    for values in result.values.values():
        values.update(suite.averages(values))
    return result


def _scores(suite: Suite, place: Place, seed: int | None) -> list[Score]:
    """Run a task with the options of its set, and return the scores that the suite names."""
    dataset, task = place.dataset, TASKS[place.dataset.task]
    files = {flag: place.files[stem] for flag, stem in dataset.files.items()}
    values = {
        "inputs": (place.files[dataset.file],),
        "name": dataset.name,
        **dataset.options,
        **({} if seed is None else {"seed": seed}),
        **files,
    }
    source = f"{suite.name}: {dataset.name}"
    _refuse_foreign(dataset.options, task.options_class(), source)
    options, _ = resolve(task.options_class(), [Layer(source, values)])
    scores = task.load()(options).scores
    inputs = [describe(path) for path in place.inputs]
    wanted = [_score_of(row, scores, where=suite.name) for row in dataset.rows()]
    for score in wanted:
        score.model, score.inputs, score.options = place.folder, inputs, protocol(options)
    return wanted


def _refuse_foreign(chosen: Mapping[str, Any], options_class: type, where: str) -> None:
    """Raise ConfigError for an option of how a run goes: a suite says what is scored, and no more.

    A suite file comes from others, as data do: what is written, and where, is the user's to say.
    """
    for spec in specs(options_class):
        if spec.key in chosen and spec.how:
            hint = "a suite sets what changes scores; gates and outputs are the command's"
            raise ConfigError(f"a suite may not set {spec.key!r}", where=where, hint=hint)


def _score_of(row: Row, scores: Sequence[Score], *, where: str) -> Score:
    for score in scores:
        if score.metric == row.metric and row.setting in ("", score.setting):
            return score
    known = dict.fromkeys(f"{score.setting} {score.metric}" for score in scores)
    raise ConfigError(
        f"{row.dataset}: {row.task} has no {row.setting} {row.metric}".replace("  ", " "),
        where=where,
        hint=f"there are {', '.join(known)}",
    )


def records(
    suite: Suite, result: Result, *, published: bool, each: bool = True
) -> list[dict[str, Any]]:
    """Return score records: those measured, their averages, and the paper's, which name it."""
    measured = [score.record(each=each) for score in result.scores]
    averages = [
        _record(row, value, folder)
        for folder, values in result.values.items()
        for row, value in values.items()
        if row.dataset == AVERAGE
    ]
    papers = [
        _record(row, value, model) | {"published": suite.source}
        for model, values in (suite.published() if published else {}).items()
        for row, value in values.items()
    ]
    return [*measured, *averages, *papers]


def _record(row: Row, value: float, model: str) -> dict[str, Any]:
    return {"schema": SCHEMA, **row._asdict(), "value": value, "model": model}
