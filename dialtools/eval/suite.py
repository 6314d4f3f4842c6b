"""A benchmark as a file: data sets, tasks, settings, the paper's numbers.

It is run over folders of embedding files.

title = "DiaEval"
source = "WMDC"                          # where the published numbers are from

[[set]]
task = "act"                             # a task of dial-eval
name = "DSTC2"
file = "dstc2"                           # DIR/dstc2.parquet, .arrow, .jsonl, .npy
metrics = ["micro-f1", "macro-f1"]
settings = ["next"]                      # only for tasks that report several
options = { target = "next" }            # flags of the task
files = { pool = "ubuntu-candidates" }   # flags that name further files of the folder
[set.published]
BERT = [53.1, 10.6]                      # settings x metrics, settings first
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.errors import ConfigError, DataError, nearest
from dialtools.eval.score import SCHEMA, Score
from dialtools.eval.tasks.catalog import TASKS
from dialtools.options import Layer, resolve

HOME = Path(__file__).parent / "suites"
SUFFIXES = (".parquet", ".arrow", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".npy")
AVERAGE = "average"


class Row(NamedTuple):
    """What a number is of; the setting is empty where a task has only one."""

    task: str
    dataset: str
    setting: str
    metric: str


@dataclass
class Dataset:
    """One data set of a suite, as its [[set]] says."""

    task: str
    name: str
    file: str
    metrics: list[str]
    settings: list[str] = field(default_factory=lambda: [""])
    options: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    published: dict[str, list[float]] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """Return its numbers in order."""
        return [
            Row(self.task, self.name, setting, metric)
            for setting in self.settings
            for metric in self.metrics
        ]

    @property
    def stems(self) -> list[str]:
        """Names of the files it needs, without their suffixes."""
        return [self.file, *self.files.values()]


@dataclass
class Suite:
    """A benchmark."""

    title: str
    sets: list[Dataset]
    source: str = "the paper"
    name: str = ""

    def rows(self) -> list[Row]:
        """Return all numbers in order; after the sets of a task, their averages."""
        found: list[Row] = []
        for task in dict.fromkeys(one.task for one in self.sets):
            own = [one for one in self.sets if one.task == task]
            found += [row for one in own for row in one.rows()]
            shared = [
                row
                for row in own[0].rows()
                if all(row._replace(dataset=one.name) in one.rows() for one in own)
            ]
            found += [row._replace(dataset=AVERAGE) for row in shared if len(own) > 1]
        return found

    def published(self) -> dict[str, dict[Row, float]]:
        """Return {model: {row: number}} of the paper, averages computed as ours are."""
        models: dict[str, dict[Row, float]] = {}
        for one in self.sets:
            for model, numbers in one.published.items():
                models.setdefault(model, {}).update(zip(one.rows(), numbers, strict=True))
        return {model: values | self.averages(values) for model, values in models.items()}

    def averages(self, values: Mapping[Row, float]) -> dict[Row, float]:
        """Return the mean over the sets of each task, where every set has a number."""
        found = {}
        for row in self.rows():
            if row.dataset == AVERAGE:
                each = [
                    values.get(row._replace(dataset=one.name))
                    for one in self.sets
                    if one.task == row.task
                ]
                if None not in each:
                    found[row] = sum(each) / len(each)  # type: ignore[arg-type]
        return found


def load(name: str) -> Suite:
    """Read a suite: a shipped one by name, or a TOML file.

    Raises:
        ConfigError: if there is none, or it is not one.
    """
    known = sorted(path.stem for path in HOME.glob("*.toml"))
    path = HOME / f"{name}.toml" if name in known else Path(name)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = nearest(name, known) or f"a TOML file, or one of {', '.join(known)}"
        raise ConfigError(f"no suite: {error.strerror}", where=name, hint=hint) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", where=name) from None
    try:
        sets = [Dataset(**one) for one in content.pop("set")]
        suite = Suite(sets=sets, name=str(path), **content)
    except KeyError:
        raise ConfigError("has no [[set]]", where=name) from None
    except TypeError as error:
        raise ConfigError(
            str(error)
            .replace("Dataset.__init__()", "a [[set]]")
            .replace("Suite.__init__()", "a suite"),
            where=name,
        ) from None
    for one in sets:
        _check(one, name)
    return suite


def _check(one: Dataset, suite: str) -> None:
    if one.task not in TASKS:
        raise ConfigError(
            f"{one.name}: no task {one.task!r}",
            where=suite,
            hint=nearest(one.task, list(TASKS)) or f"choose from {', '.join(TASKS)}",
        )
    for name in ("metrics", "settings"):
        if not isinstance(getattr(one, name), list):
            raise ConfigError(f"{one.name}: {name}: expected a list", where=suite)
    for model, numbers in one.published.items():
        if len(numbers) != len(one.rows()):
            raise ConfigError(
                f"{one.name}: {model} has {len(numbers)} numbers, settings x metrics are {len(one.rows())}",
                where=suite,
            )


def only(suite: Suite, tasks: Sequence[str]) -> Suite:
    """Return the sets of some tasks.

    Raises:
        ConfigError: if the suite has no such task.
    """
    known = list(dict.fromkeys(one.task for one in suite.sets))
    for task in tasks:
        if task not in known:
            raise ConfigError(
                f"--task: {suite.title} has no task {task!r}",
                hint=nearest(task, known) or f"there are {', '.join(known)}",
            )
    return replace(suite, sets=[one for one in suite.sets if one.task in tasks])


@dataclass
class Result:
    """What a run found.

    Attributes:
        values: {folder: {row: number}}, averages among them.
        missing: folder, data set, and the file that is not there.
    """

    scores: list[Score] = field(default_factory=list)
    values: dict[str, dict[Row, float]] = field(default_factory=dict)
    missing: list[tuple[str, str, str]] = field(default_factory=list)


def run(
    suite: Suite, folders: Sequence[str], *, seed: int, advance: Callable[[int], None]
) -> Result:
    """Score every data set of the suite that each folder has.

    Raises:
        DataError: if a folder has none of them.
    """
    result = Result()
    if missing := next((folder for folder in folders if not Path(folder).is_dir()), None):
        raise DataError("no such folder", where=missing)
    for folder in folders:
        values = result.values.setdefault(folder, {})
        for one in suite.sets:
            absent = [stem for stem in one.stems if locate(folder, stem) is None]
            if absent:
                result.missing.append((folder, one.name, absent[0]))
            else:
                scores = _scores(suite, one, folder, seed)
                values.update({row: score.value for row, score in scores.items()})
                result.scores += scores.values()
            advance(1)
        if not values:
            raise DataError(
                f"no data set of {suite.title} is here",
                where=folder,
                hint=f"looked for {', '.join(dict.fromkeys(one.file for one in suite.sets))} with {', '.join(SUFFIXES)}",
            )
        values.update(suite.averages(values))
    return result


def locate(folder: str, stem: str) -> str | None:
    """Return the embedding file of that name in a folder, whatever its format."""
    return next(
        (str(path) for suffix in SUFFIXES if (path := Path(folder) / f"{stem}{suffix}").is_file()),
        None,
    )


def _scores(suite: Suite, one: Dataset, folder: str, seed: int) -> dict[Row, Score]:
    """Run a task with the options of its set and return the wanted scores."""
    from dialtools.streams.provenance import describe

    task = TASKS[one.task]
    files = {flag: locate(folder, stem) for flag, stem in one.files.items()}
    values = {
        "inputs": (locate(folder, one.file),),
        "seed": seed,
        "name": one.name,
        **one.options,
        **files,
    }
    options, _ = resolve(task.options_class(), [Layer(f"{suite.name}: {one.name}", values)])
    found = task.load()(options).scores
    inputs = [describe(path) for path in (*options.inputs, *files.values())]
    wanted = {}
    for row in one.rows():
        score = next(
            (s for s in found if s.metric == row.metric and row.setting in ("", s.setting)), None
        )
        if score is None:
            known = list(dict.fromkeys(f"{s.setting} {s.metric}" for s in found))
            raise ConfigError(
                f"{one.name}: {one.task} has no {row.setting} {row.metric}".replace("  ", " "),
                where=suite.name,
                hint=f"there are {', '.join(known)}",
            )
        score.model, score.inputs = folder, inputs
        wanted[row] = score
    return wanted


def records(
    suite: Suite, result: Result, *, published: bool, each: bool = True
) -> list[dict[str, Any]]:
    """Return score records: those measured, their averages, and the paper's with their source."""
    found = [score.record(each=each) for score in result.scores]
    for folder, values in result.values.items():
        found += [
            _record(row, value, folder) for row, value in values.items() if row.dataset == AVERAGE
        ]
    if published:
        for model, values in suite.published().items():
            found += [
                _record(row, value, model) | {"published": suite.source}
                for row, value in values.items()
            ]
    return found


def _record(row: Row, value: float, model: str) -> dict[str, Any]:
    return {"schema": SCHEMA, **row._asdict(), "value": value, "model": model}
