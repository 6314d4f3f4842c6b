"""Score files as columns of a table: one model each, of one or several seeds.

An operand is a column: a file of score records, a folder or glob of files, or NAME=FILE,FILE. Files
of one column that hold the same score are seeds of one model; a file that holds several models (of
a suite) is a column for each. Files of one model over several tasks are one column (`names.sides`).
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialtools.corpora import fields
from dialtools.errors import ConfigError, DataError, proposed
from dialtools.eval import each
from dialtools.eval.compare.names import (
    Column,
    Seed,
    seeds_together,
    sides,
    with_names_of_the_first,
)
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.suite import Row
from dialtools.streams.chunks import read_records
from dialtools.streams.formats import COMPRESSED, FORMATS
from dialtools.streams.policy import Policy

SCORES = "dialtools.score/"
MAKER = "dial-eval TASK ... -o FILE.jsonl writes them"
KINDS: dict[type, str] = {list: "a list", dict: "an object"}
LISTS: dict[str, tuple[type, ...]] = {
    "each": (list, dict),
    "items": (dict,),
    "groups": (list,),
    "values": (list,),
    "data": (dict,),
    "options": (dict,),
}
"""Fields of a record that hold more than one thing, and what they may be."""
NUMBERS = ("value", "low", "high")
OUTPUTS = [format for format in FORMATS.values() if format.writer]
SUFFIXES = (*COMPRESSED, *(suffix for format in OUTPUTS for suffix in format.suffixes))


def columns_of(options: CompareOptions) -> tuple[dict[str, Column], int]:
    """Return the columns by name, the baseline first, and how many published numbers were left out.

    Raises:
        ConfigError: if a name fits none, or two; if there is one, and a gate.
        DataError: for a file that holds no scores, or a column with one score twice.
    """
    table = _Table()
    table.add(list(dict.fromkeys(options.files)))
    baseline = options.baseline
    known = {*options.names, *table.columns, *table.first_of}
    if baseline and baseline not in known:
        table.add_baseline(baseline)
    table.join_sides()
    if options.names:
        table.rename(options.names)
    if len(table.columns) < 2 and options.fail_if_worse is not None:
        raise ConfigError(
            "--fail-if-worse: one model, and nothing to compare it with",
            hint="name two score files or more, the baseline first",
        )
    return with_names_of_the_first(table.columns_from(baseline)), table.published


class _Table:
    """The columns of some operands.

    Attributes:
        columns: by name, in order.
        first_of: the name of the first column of each operand, and what joined columns are now.
        named: the columns that have their name by NAME=FILE.
        published: how many published numbers were left out.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.first_of: dict[str, str] = {}
        self.named: set[str] = set()
        self.published = 0

    def add(self, operands: Sequence[str]) -> None:
        """Add the columns of operands."""
        for operand in operands:
            name, files = _operand(operand)
            models, published = _models(files)
            self.published += published
            for model, column in models.items():
                # a file of several models is a column for each, called as its model's folder
                several = len(models) > 1
                short, long = (Path(model).name, model) if several else (name, operand)
                free = [title for title in (short, long) if title and title not in self.columns]
                if not free:
                    raise ConfigError(f"two columns are named {long}", hint="NAME=FILE names one")
                self.columns[free[0]] = column
                self.first_of.setdefault(operand, free[0])
                if operand.startswith(f"{free[0]}="):
                    self.named.add(free[0])

    def add_baseline(self, operand: str) -> None:
        """Add the columns of --baseline, if it names files, before the others."""
        if not _is_operand(operand):
            return
        before = _Table()
        before.add([operand])
        if shared := before.columns.keys() & self.columns.keys():
            raise ConfigError(f"two columns are named {min(shared)}", hint="NAME=FILE names one")
        self.columns = before.columns | self.columns
        self.first_of = before.first_of | self.first_of
        self.named |= before.named
        self.published += before.published

    def join_sides(self) -> None:
        """Make one column of those that are one model's over several tasks."""
        part_of = sides(self.columns, self.named)
        columns, self.columns = self.columns, {}
        for name, column in columns.items():
            self.columns[part_of[name]] = self.columns.get(part_of[name], {}) | column
        first_of = {operand: part_of[name] for operand, name in self.first_of.items()}
        self.first_of = part_of | first_of

    def rename(self, names: Sequence[str]) -> None:
        """Give each column the name of --names."""
        if len(names) != len(self.columns) or len(set(names)) < len(names):
            raise ConfigError(
                f"--names: name each of the {len(self.columns)} columns once: "
                f"{', '.join(self.columns)}"
            )
        new = dict(zip(self.columns, names, strict=True))
        self.columns = {new[old]: column for old, column in self.columns.items()}
        self.first_of = {operand: new[old] for operand, old in self.first_of.items()}

    def columns_from(self, baseline: str | None) -> dict[str, Column]:
        """Return the columns, that of the baseline first."""
        if not baseline:
            return self.columns
        first = baseline if baseline in self.columns else self.first_of.get(baseline, baseline)
        if first not in self.columns:
            raise ConfigError(
                f"--baseline: no column {first!r}", hint=proposed(first, self.columns)
            )
        return {first: self.columns[first], **self.columns}


def _is_operand(text: str) -> bool:
    if text == "-" or "=" in text or Path(text).exists():
        return True
    return bool(glob.glob(text))  # noqa: PTH207


def _operand(text: str) -> tuple[str, list[str]]:
    """Return the name of a column and its files."""
    name, parts = "", [text]
    if "=" in text and not Path(text).exists():
        name, _, listed = text.partition("=")
        parts = listed.split(",")
    files = [path for part in parts for path in _files(part)]
    if not files:
        raise DataError("no such file, and no files of a folder or glob", where=text)
    if len(set(files)) < len(files):
        raise ConfigError(f"{text} names a file twice: seeds are files of their own")
    # of a glob, what stands before its star, else the folder
    return name or _stem(text).split("*")[0].strip("-_.") or Path(text).parent.name, files


def _files(part: str) -> list[str]:
    if part == "-" or Path(part).is_file():
        return [part]
    if Path(part).is_dir():
        return sorted(
            str(path)
            for kind in ("*.jsonl", "*.jsonl.gz", "*.jsonl.zst")
            for path in Path(part).glob(kind)
        )
    return sorted(glob.glob(part)) if any(c in part for c in "*?[") else [part]  # noqa: PTH207


def _stem(path: str) -> str:
    """Return the name of a file without folder and suffixes."""
    name = Path(path).name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name or path


def _models(files: Sequence[str]) -> tuple[dict[str, Column], int]:
    """Return the columns of some files, and how many published numbers were left out.

    One column, or one for each model where a file holds a score of several.
    """
    by_file: list[list[Seed]] = []
    published = 0
    for path in files:
        seeds = list(read_scores([path]))
        if not seeds:
            raise DataError("holds no scores", where=path, hint=MAKER)
        published += sum("published" in seed.record for seed in seeds)
        measured = (s for s in seeds if "published" not in s.record and "value" in s.record)
        by_file.append(list(measured))
    if all(len({seed.row for seed in seeds}) == len(seeds) for seeds in by_file):
        return {"": _column(by_file)}, published

    models = dict.fromkeys(_model(seed) for seeds in by_file for seed in seeds)
    columns = {
        model: _column([[seed for seed in seeds if _model(seed) == model] for seeds in by_file])
        for model in models
    }
    return columns, published


def _model(seed: Seed) -> str:
    return str(seed.record.get("model"))


def _column(by_file: Sequence[Sequence[Seed]]) -> Column:
    return seeds_together(map(_column_of_file, by_file))


def _column_of_file(seeds: Sequence[Seed]) -> Column:
    column: Column = {}
    for seed in seeds:
        if seed.row in column:
            raise DataError(
                f"{in_words(seed.row)} is here a second time, first at {column[seed.row][0].where}",
                where=seed.where,
                hint="seeds are files of their own; "
                "data sets of one task need names (dial-eval --name)",
            )
        column[seed.row] = [seed]
    return column


def read_scores(paths: Sequence[str]) -> Iterator[Seed]:
    """Yield the scores of some files; one that was not defined (no row of a kind) has no `value`.

    Raises:
        DataError: for a record that is none.
    """
    for where, record in read_records(paths, policy=Policy(maker=MAKER)):
        _check(where, record)
        yield Seed(where, _row(record), record)


def _check(where: Any, record: Mapping[str, Any]) -> None:
    if not str(record.get("schema", "")).startswith(SCORES):
        raise DataError("no score record", where=where, hint=MAKER)
    for name in Row._fields:
        if not isinstance(record.get(name), str):
            raise DataError(f"{name}: expected a text", where=where)
    for name, kinds in LISTS.items():
        if not isinstance(record.get(name, kinds[0]()), kinds):
            expected = " or ".join(KINDS[kind] for kind in kinds)
            raise DataError(f"{name}: expected {expected}", where=where)
    try:
        for name in NUMBERS:
            fields.number(record.get(name, 0.0), name)
        for value in record.get("values") or ():
            fields.number(0.0 if value is None else value, "values")
    except fields.BadRecord as error:
        raise DataError(str(error), where=where) from None
    if "groups" in record and not _are_groups(record["groups"], record.get("each", [])):
        raise DataError("groups: expected a number from 0 on for each item", where=where)


def _are_groups(groups: Sequence[Any], items: Any) -> bool:
    """Tell whether every item has a number, and the numbers are 0 to G - 1; none at all will do."""
    if not groups:
        return True
    if len(groups) != each.size(items) or any(type(number) is not int for number in groups):
        return False
    return set(groups) == set(range(len(set(groups))))


def _row(record: Mapping[str, Any]) -> Row:
    """Return what a score is of, the same for all models.

    Folders of data sets differ between models, and so does a lambda that validation rows chose.
    """
    return Row(
        record["task"],
        _stem(record["dataset"]),
        record["setting"].partition(", lambda ")[0],
        record["metric"],
    )


def in_words(row: Row) -> str:
    """Return a row in words."""
    return " ".join(filter(None, row))
