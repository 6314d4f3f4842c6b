"""Records to learn from and records to be tested on: two files, or the splits of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from dialtools.corpora import splits
from dialtools.corpora.fields import label
from dialtools.corpora.read import read_records
from dialtools.corpora.turns import Record, field_of
from dialtools.errors import DataError
from dialtools.finetune.options import FinetuneOptions
from dialtools.streams.policy import Policy

Examples = Callable[[Record], Iterable[Record]]
"""What is learnt from a record, or tested on: itself, each turn of a dialogue; DataError if none
can be.
"""


class Rows(NamedTuple):
    """What is learnt from (and validated on), and what is tested on."""

    train: list[Record]
    test: list[Record]


def read_rows(
    options: FinetuneOptions,
    examples: Examples,
    policy: Policy,
    tested: Callable[[Sequence[Record]], list[bool]] | None = None,
) -> Rows:
    """Return the training and the test records.

    Args:
        policy: gets the records that cannot be used.
        tested: tells the test rows of one file, in place of the field of splits.

    Raises:
        DataError: if a file cannot be read, a part is empty, or no record is in it.
    """
    if options.train and options.test:
        return Rows(
            train=_records([options.train], options, examples, policy),
            test=_records([options.test], options, examples, policy),
        )
    if tested:
        records = _records(options.inputs, options, examples, policy)
        kinds = list(zip(tested(records), records, strict=True))
        return Rows([row for test, row in kinds if not test], [row for test, row in kinds if test])

    return _of_splits(options, examples, policy)


def _of_splits(options: FinetuneOptions, examples: Examples, policy: Policy) -> Rows:
    """Return the rows that the field of splits tells apart."""

    def with_split(record: Record) -> list[Record]:
        found = list(examples(record))
        for row in found:
            field_of(*row, options.split, label)
        return found

    records = _records(options.inputs, options, with_split, policy)
    by_split = splits.rows_by_split(fields[options.split] for _, fields in records)

    def part(name: str, flag: str) -> list[Record]:
        where, column = ", ".join(options.inputs), options.split
        rows = splits.rows_of_split(by_split, name, column=column, where=where, flag=flag)
        return [records[row] for row in rows]

    return Rows(
        part(options.train_split, "--train-split"), part(options.test_split, "--test-split")
    )


def _records(
    paths: Sequence[str], options: FinetuneOptions, examples: Examples, policy: Policy
) -> list[Record]:
    records: list[Record] = []
    source = read_records(paths, format=options.from_, policy=policy)
    for where, fields in islice(source, options.limit):
        try:
            records += list(examples((where, fields)))
        except DataError as error:
            policy.reject(where, error.message, fields, error.hint)
    if not records:
        raise DataError("holds no records", where=", ".join(paths))
    return records
