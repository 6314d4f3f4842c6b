"""The rows of embedding files: those to learn from, to choose on and to be tested on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from dialtools.corpora import splits
from dialtools.corpora.fields import as_text
from dialtools.errors import ConfigError, DataError
from dialtools.eval.options.base import PartOptions, ThreePartOptions
from dialtools.eval.options.labelled import LabelledOptions
from dialtools.streams.vector_files import check_one_space, read_embeddings
from dialtools.streams.vectors import Embeddings, check_dimensions

HINT_OF_SPLIT = "--split names it; or --train FILE and --test FILE"
HINT_OF_LABELLED = f"{HINT_OF_SPLIT}; or --test-share 0.2 draws some rows of each label"

Rows = TypeVar("Rows")
Other = TypeVar("Other")


class Parts(NamedTuple, Generic[Rows]):
    """What is learnt from, chosen on, and tested on: embeddings, or what was made of them."""

    train: Rows
    validation: Rows
    test: Rows

    def each(self, function: Callable[[Rows], Other]) -> Parts[Other]:
        """Return what the function makes of each part."""
        return Parts(function(self.train), function(self.validation), function(self.test))


class Held(NamedTuple):
    """Training rows without those that were held out of them, and these."""

    train: Embeddings
    validation: Embeddings


def read_parts(options: ThreePartOptions) -> Parts[Embeddings]:
    """Return the parts, of files or of the splits of one; validation has no rows if none are known.

    Raises:
        ConfigError: if what is chosen on is tested, too.
        DataError: if there are no training or no test rows, or vectors differ in their dimensions
            or models.
    """
    _check_choice(options)
    if options.train:
        files = (options.train, str(options.test))
        train, test = (read_embeddings([file], limit=options.limit) for file in files)
        parts = Parts(train, take(train, []), test)
    else:
        parts = _parts_of_splits(options)
    if options.validation:
        held = read_embeddings([options.validation], limit=options.limit)
        parts = parts._replace(validation=held)
    if isinstance(options, LabelledOptions) and not options.synthetic:
        parts = parts._replace(train=unmade(parts.train), validation=unmade(parts.validation))
    check_one_space(parts)
    for part in parts:
        check_dimensions(_first(part), _first(parts.train).shape[1], where=part.name)
    return parts


def _check_choice(options: ThreePartOptions) -> None:
    chosen = {
        "--validation-split": (options.validation_split, [options.test_split]),
        "--validation": (options.validation, [options.test, *options.files]),
    }
    for flag, (held, tested) in chosen.items():
        if held and held in tested:
            raise ConfigError(f"{flag} {held}: rows that are tested are not to choose on")


def _first(part: Embeddings) -> np.ndarray:
    return next(iter(part.vectors.values()))


def _parts_of_splits(options: ThreePartOptions) -> Parts[Embeddings]:
    source = read_embeddings(options.files, limit=options.limit)
    if isinstance(options, LabelledOptions) and options.test_share is not None:
        source = unmade(source)  # what was made from a tested text gives it away
        by_split = _drawn(source, options, options.test_share)
    else:
        hint = HINT_OF_LABELLED if isinstance(options, LabelledOptions) else HINT_OF_SPLIT
        by_split = splits.rows_by_split(source.column(options.split, hint=hint))

    def rows(name: str, flag: str) -> Embeddings:
        where, column = source.name, options.split
        own = splits.rows_of_split(by_split, name, column=column, where=where, flag=flag)
        return take(source, own)

    train = rows(options.train_split, "--train-split")
    test = rows(options.test_split, "--test-split")
    taken = (options.train_split, options.test_split)
    name = splits.validation_split(by_split, options.validation_split, taken=taken)
    held = rows(name, "--validation-split") if name else take(train, [])
    return Parts(train, held, test)


def _drawn(source: Embeddings, options: LabelledOptions, share: float) -> splits.Splits:
    """Return the rows of training and test, of which that share of each label's is drawn."""
    first, *_ = source.vectors
    shown = source.column(options.text) if options.text else source.texts(first)
    labels, texts = (
        [as_text(v) for v in values] for values in (source.column(options.label), shown)
    )
    tested = splits.tested_of_labels(labels, texts, share, seed=options.seed)
    named = (options.test_split if test else options.train_split for test in tested)
    return splits.rows_by_split(named)


def take(part: Embeddings, rows: Sequence[int]) -> Embeddings:
    """Return some rows; none keep their columns and dimensions."""
    return part.select(np.asarray(rows, np.int64))


def unmade(part: Embeddings) -> Embeddings:
    """Return the rows that nobody made (dial-augment)."""
    made = part.columns.get("synthetic") or ()
    return part.select(np.flatnonzero([not value for value in made])) if any(made) else part


def hold_out(part: Embeddings, names: Iterable[Any], share: float, *, seed: int) -> Held:
    """Return the rows to learn from, and those of a share of the names to choose on."""
    out_N = np.asarray(splits.held_out(names, share, seed=seed), bool)
    return Held(part.select(np.flatnonzero(~out_N)), part.select(np.flatnonzero(out_N)))


def rows_by_part(source: Embeddings, *, split: str, part: str | None) -> dict[str, Embeddings]:
    """Return what is scored apart: the rows of each split; without a split column all, under "".

    Args:
        split: the column.
        part: the only split that is wanted.

    Raises:
        DataError: if the part that was asked for is not there, or the column that was, or there
            are no rows.
    """
    if split not in (PartOptions.split, splits.NONE):
        source.column(split)
    if not len(source):
        raise DataError("holds no rows", where=source.name)
    by_split = splits.rows_by_split(source.columns.get(split) or [None] * len(source))
    if part is None:
        return {name: take(source, rows) for name, rows in by_split.items()}
    return {
        part: take(source, splits.rows_of_split(by_split, part, column=split, where=source.name))
    }


def groups(part: Embeddings, name: str | None) -> list[int]:
    """Return the number of each row's group, so that dialogues stay whole; nothing if all differ.

    Args:
        name: the column that tells, else `dialogue_id` if there is one.

    Raises:
        DataError: if there is no such column.
    """
    if name is None and "dialogue_id" not in part.columns:
        return []
    return splits.group_numbers(part.column(name or "dialogue_id"))
