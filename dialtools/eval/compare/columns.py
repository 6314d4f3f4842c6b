"""Score files as columns of a table: one model each, of one or several seeds.

An operand is a column: a file of score records, a folder or glob of files, or NAME=FILE,FILE. Files
of one column that hold the same score are seeds of one model; a file that holds several models (of
a suite) is a column for each.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.errors import ConfigError, DataError, nearest
from dialtools.eval import each
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.suite import Row
from dialtools.streams.chunks import read_records
from dialtools.streams.policy import Policy

SCORES = "dialtools.score/"
KINDS = {list: "a list", dict: "an object"}


class Seed(NamedTuple):
    """One measurement: a score record, what it is of, and where it stands."""

    where: Any
    row: Row
    record: dict[str, Any]


Column = dict[Row, list[Seed]]


def columns_of(options: CompareOptions) -> tuple[dict[str, Column], int]:
    """Return the columns by name, the baseline first, and how many published numbers were left out."""
    columns: dict[str, Column] = {}
    first_of: dict[str, str] = {}
    published = _add(columns, first_of, list(dict.fromkeys(options.inputs)))
    wanted = options.baseline
    if wanted and wanted not in (*columns, *first_of, *options.names) and _is_operand(wanted):
        own: dict[str, Column] = {}
        published += _add(own, first_of, [wanted])
        if shared := own.keys() & columns.keys():
            raise ConfigError(f"two columns are named {min(shared)}", hint="NAME=FILE names one")
        columns = own | columns
    if options.names:
        if len(options.names) != len(columns) or len(set(options.names)) < len(columns):
            raise ConfigError(
                f"--names: name each of the {len(columns)} columns once: {', '.join(columns)}"
            )
        renamed = dict(zip(columns, options.names, strict=True))
        columns = {renamed[old]: column for old, column in columns.items()}
        first_of = {operand: renamed[old] for operand, old in first_of.items()}
    if len(columns) < 2:
        raise ConfigError(
            "one model: nothing to compare it with",
            hint="name two score files or more, the baseline first",
        )
    if wanted:
        first = wanted if wanted in columns else first_of.get(wanted, wanted)
        if first not in columns:
            raise ConfigError(
                f"--baseline: no column {first!r}",
                hint=nearest(first, list(columns)) or f"there are {', '.join(columns)}",
            )
        columns = {first: columns[first], **columns}
    return columns, published


def _add(columns: dict[str, Column], first_of: dict[str, str], operands: Sequence[str]) -> int:
    """Add the columns of operands, and the first column of each; return how many published numbers were left out."""
    left_out = 0
    for operand in operands:
        name, files = _operand(operand)
        models, published = _models(files)
        left_out += published
        for model, column in models.items():
            short, long = (name, operand) if len(models) == 1 else (Path(model).name, model)
            own = next((one for one in (short, long) if one and one not in columns), None)
            if own is None:
                raise ConfigError(f"two columns are named {long}", hint="NAME=FILE names one")
            columns[own] = column
            first_of.setdefault(operand, own)
    return left_out


def _is_operand(text: str) -> bool:
    return text == "-" or Path(text).exists() or "=" in text or bool(glob.glob(text))  # noqa: PTH207


def _operand(text: str) -> tuple[str, list[str]]:
    """Return the name of a column and its files."""
    name, given = "", [text]
    if "=" in text and not Path(text).exists():
        name, _, listed = text.partition("=")
        given = listed.split(",")
    files = [path for part in given for path in _files(part)]
    if not files:
        raise DataError("no such file, and no files of a folder or glob", where=text)
    return name or (_stem(text).split("*")[0].strip("-_.") or Path(text).parent.name), files


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
    for suffix in (".gz", ".zst", ".jsonl", ".parquet", ".arrow", ".npy", ".ndjson", ".json"):
        name = name.removesuffix(suffix)
    return name or path


def _models(files: Sequence[str]) -> tuple[dict[str, Column], int]:
    """Return the columns of some files: one, or one for each model where a file holds a score of several."""
    everything = [list(read_scores([path])) for path in files]
    published = sum("published" in seed.record for seeds in everything for seed in seeds)
    by_file = [
        [seed for seed in seeds if "published" not in seed.record and "value" in seed.record]
        for seeds in everything
    ]
    if all(len({seed.row for seed in seeds}) == len(seeds) for seeds in by_file):
        return {"": _column(by_file)}, published
    models = list(
        dict.fromkeys(str(seed.record.get("model")) for seeds in by_file for seed in seeds)
    )
    return {
        model: _column(
            [[s for s in seeds if str(s.record.get("model")) == model] for seeds in by_file]
        )
        for model in models
    }, published


def _column(by_file: Sequence[Sequence[Seed]]) -> Column:
    column: Column = {}
    for seeds in by_file:
        own: dict[Row, Seed] = {}
        for seed in seeds:
            if seed.row in own:
                raise DataError(
                    f"{say(seed.row)} is here a second time, first at {own[seed.row].where}",
                    where=seed.where,
                    hint="seeds are files of their own; data sets of one task need names (dial-eval --name)",
                )
            own[seed.row] = seed
            column.setdefault(seed.row, []).append(seed)
    return column


def read_scores(paths: Sequence[str]) -> Iterator[Seed]:
    """Yield the scores of some files; one that was not defined (no row of a kind) has no `value`.

    Raises:
        DataError: for a record that is none.
    """
    for where, record in read_records(paths, policy=Policy()):
        _check(where, record)
        yield Seed(where, _row(record), record)


def _check(where: Any, record: Mapping[str, Any]) -> None:
    if not str(record.get("schema", "")).startswith(SCORES):
        raise DataError(
            "no score record", where=where, hint="dial-eval TASK ... -o FILE.jsonl writes them"
        )
    for name in Row._fields:
        if not isinstance(record.get(name), str):
            raise DataError(f"{name}: expected a text", where=where)
    if isinstance(value := record.get("value", 0.0), bool) or not isinstance(value, int | float):
        raise DataError("value: expected a number", where=where)
    for name, kinds in {"each": (list, dict), "items": (dict,), "groups": (list,)}.items():
        if not isinstance(record.get(name, kinds[0]()), kinds):
            raise DataError(
                f"{name}: expected {' or '.join(KINDS[kind] for kind in kinds)}", where=where
            )
    if groups := record.get("groups"):
        known = {n for n in groups if type(n) is int}
        if (
            len(groups) != each.size(record.get("each", []))
            or known != set(range(len(known)))
            or len(known) < len(set(groups))
        ):
            raise DataError("groups: expected a number from 0 on for each item", where=where)


def _row(record: Mapping[str, Any]) -> Row:
    """Return what a score is of: folders of data sets and a lambda that validation rows chose differ between models."""
    return Row(
        record["task"],
        _stem(record["dataset"]),
        record["setting"].partition(", lambda ")[0],
        record["metric"],
    )


def say(row: Row) -> str:
    """Return a row in words."""
    return " ".join(filter(None, row))
