"""A benchmark as a file: data sets, tasks, settings, the paper's numbers.

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

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.errors import ConfigError, nearest, proposed
from dialtools.eval.tasks.catalog import TASKS
from dialtools.shown import quoted
from dialtools.streams.tally import counted
from dialtools.toml import read_toml

SHIPPED = Path(__file__).parent / "suites"
"""Suites that are named without a path."""
AVERAGE = "average"
"""What stands for the data set in the rows of averages."""


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
        rows: list[Row] = []
        for task in dict.fromkeys(dataset.task for dataset in self.sets):
            by_set = [dataset.rows() for dataset in self._sets_of(task)]
            rows += [row for rows_of_set in by_set for row in rows_of_set]
            if len(by_set) > 1:
                rows += _average_rows(by_set)
        return rows

    def _sets_of(self, task: str) -> list[Dataset]:
        return [dataset for dataset in self.sets if dataset.task == task]

    def published(self) -> dict[str, dict[Row, float]]:
        """Return {model: {row: number}} of the paper, averages computed as ours are."""
        models: dict[str, dict[Row, float]] = {}
        for dataset in self.sets:
            for model, numbers in dataset.published.items():
                models.setdefault(model, {}).update(zip(dataset.rows(), numbers, strict=True))
        return {model: values | self.averages(values) for model, values in models.items()}

    def averages(self, values: Mapping[Row, float]) -> dict[Row, float]:
        """Return the mean over the sets of each task, where every set has a number."""
        averages: dict[Row, float] = {}
        for row in self.rows():
            if row.dataset != AVERAGE:
                continue
            rows = [row._replace(dataset=dataset.name) for dataset in self._sets_of(row.task)]
            if all(row_of_set in values for row_of_set in rows):
                averages[row] = sum(values[row_of_set] for row_of_set in rows) / len(rows)
        return averages


def _average_rows(by_set: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the rows, called averages, that all data sets have."""
    averages = [[row._replace(dataset=AVERAGE) for row in rows] for rows in by_set]
    return [row for row in averages[0] if all(row in rows for rows in averages)]


def names() -> list[str]:
    """Return the names of the shipped suites."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def load_suite(name: str) -> Suite:
    """Read a suite: a shipped one by name, or a TOML file.

    Raises:
        ConfigError: if there is none, or it is not one.
    """
    known = names()
    path = SHIPPED / f"{name}.toml" if name in known else Path(name)
    try:
        content = read_toml(path)
    except OSError as error:
        hint = nearest(name, known) or f"a TOML file, or one of {', '.join(known)}"
        raise ConfigError(f"no suite: {error.strerror}", where=name, hint=hint) from None
    tables = content.pop("set", None)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError("has no [[set]]", where=name)
    _check_shapes(content, "", name)
    _check_keys({**content, "sets": tables}, Suite, "", name)
    for number, table in enumerate(tables, 1):
        place = f"[[set]] {number}: "
        _check_shapes(table, place, name)
        _check_keys(table, Dataset, place, name)
    sets = [Dataset(**table) for table in tables]
    suite = Suite(**{**content, "sets": sets, "name": str(path)})
    for dataset in sets:
        _check(dataset, name)
    rows = Counter(row for dataset in sets for row in dataset.rows())
    for row in (row for row, times in rows.items() if times > 1):
        raise ConfigError(
            f"two [[set]] have {' '.join(filter(None, row))}: give them names", where=name
        )
    return suite


def _check_shapes(table: Mapping[str, Any], place: str, suite: str) -> None:
    for key, value in table.items():
        expected, is_so = SHAPES.get(key, ("", bool))
        if expected and not is_so(value):
            raise ConfigError(f"{place}{key}: expected {expected}", where=suite)


def _check_keys(table: Mapping[str, Any], kind: type, place: str, suite: str) -> None:
    """Raise ConfigError if a table lacks a key that it must have, or has an unknown one."""
    known = {each.name: each for each in fields(kind)}
    for key in (key for key in table if key not in known):
        hint = proposed(key, known)
        raise ConfigError(f"{place}unknown key {quoted(key)}", where=suite, hint=hint)
    for key, each in known.items():
        if key not in table and each.default is each.default_factory is MISSING:
            raise ConfigError(f"{place}no {quoted(key)}", where=suite)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are(value: Any, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(part, kinds) for part in value)


def _are_numbers(values: Any) -> bool:
    return _are(values, (int, float)) and not any(
        isinstance(value, bool) or not abs(value) < 1 << 63 for value in values
    )


TEXT = ("a text", _is_text)
TEXTS = ("a list of texts, one at least", lambda value: bool(value) and _are(value, str))
SHAPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("title", "source", "task", "name", "file"), TEXT),
    **dict.fromkeys(("metrics", "settings"), TEXTS),
    "options": ("a table of flags", lambda value: isinstance(value, dict)),
    "files": (
        "a table of names",
        lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
    ),
    "published": (
        "a table of lists of numbers",
        lambda value: (
            isinstance(value, dict) and all(_are_numbers(numbers) for numbers in value.values())
        ),
    ),
}
"""What a suite file must hold under each key, in words and in code."""


def _check(dataset: Dataset, suite: str) -> None:
    if dataset.name == AVERAGE:
        raise ConfigError(f"{AVERAGE} names the mean of the sets, and none of them", where=suite)
    if dataset.task not in TASKS:
        raise ConfigError(
            f"{dataset.name}: no task {dataset.task!r}",
            where=suite,
            hint=proposed(dataset.task, TASKS),
        )
    for model, numbers in dataset.published.items():
        if len(numbers) != len(dataset.rows()):
            raise ConfigError(
                f"{dataset.name}: {model} has {counted(len(numbers), 'number')}, "
                f"settings x metrics are {len(dataset.rows())}",
                where=suite,
            )


def with_tasks(suite: Suite, tasks: Sequence[str]) -> Suite:
    """Return the suite with the sets of some tasks alone.

    Raises:
        ConfigError: if the suite has no such task.
    """
    known = list(dict.fromkeys(dataset.task for dataset in suite.sets))
    for task in tasks:
        if task not in known:
            raise ConfigError(
                f"--task: {suite.title} has no task {task!r}", hint=proposed(task, known)
            )
    return replace(suite, sets=[dataset for dataset in suite.sets if dataset.task in tasks])
