"""Records to learn from and records to be tested on: two files, or the splits of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dialtools.corpora import splits
from dialtools.corpora.fields import label
from dialtools.corpora.read import read_records
from dialtools.corpora.turns import Record, field_of
from dialtools.errors import DataError
from dialtools.finetune.options import FinetuneOptions
from dialtools.streams.policy import Policy


class Rows(NamedTuple):
    """What is learnt from (and validated on), and what is tested on."""

    train: list[Record]
    test: list[Record]


def read_rows(options: FinetuneOptions) -> Rows:
    """Return the training and the test records.

    Raises:
        DataError: if a file cannot be read, a part is empty, or no record is in it.
    """
    if options.train and options.test:
        return Rows(
            train=_records([options.train], options),
            test=_records([options.test], options),
        )

    records = _records(options.inputs, options)
    names = (field_of(where, record, options.split, label) for where, record in records)
    by_split = splits.rows_by_split(names)

    def part(name: str) -> list[Record]:
        where = ", ".join(options.inputs)
        rows = splits.rows_of_split(by_split, name, column=options.split, where=where)
        return [records[row] for row in rows]

    return Rows(part(options.train_split), part(options.test_split))


def _records(paths: Sequence[str], options: FinetuneOptions) -> list[Record]:
    records = list(read_records(paths, format=options.from_, policy=Policy()))
    if not records:
        raise DataError("holds no records", where=", ".join(paths))
    return records
