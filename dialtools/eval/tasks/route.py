"""Routing: the class that each row was given beside its own. N rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from dialtools.corpora import fields
from dialtools.corpora.fields import BadRecord
from dialtools.corpora.read import read_records
from dialtools.errors import DataError, no_column
from dialtools.eval.each import statistic
from dialtools.eval.identity import TELLING, about
from dialtools.eval.options.route import RouteOptions
from dialtools.eval.rows import groups
from dialtools.eval.score import Each, Scored, of_statistic, shares
from dialtools.shown import listed
from dialtools.streams.bytesio import display_name
from dialtools.streams.policy import Policy
from dialtools.streams.tally import counted
from dialtools.streams.vectors import Embeddings

NONE = 0
"""The number of no class; those of the labels follow."""


class Routed(NamedTuple):
    """N rows.

    Attributes:
        truth, given: the class of each, and the one it was given, as texts; "" is none.
        rows: their columns that tell which they are, or group them; of no vectors.
        unknown: rows without a label, which are not among the N.
        absent: names of none that no row has.
    """

    truth: list[str]
    given: list[str]
    rows: Embeddings
    unknown: int
    absent: list[str]


def evaluate(options: RouteOptions) -> Scored:
    """Return accuracy, recall, precision, recall of none and F1, in percent.

    Raises:
        DataError: if a column is missing, a value is no class, or no row has a label.
    """
    routed = read(options)
    names = ["", *sorted({*routed.truth, *routed.given} - {""})]
    place = {name: number for number, name in enumerate(names)}
    truth_N, given_N = (
        np.asarray([place[name] for name in side], np.int64)
        for side in (routed.truth, routed.given)
    )
    facts = about("route", routed.rows, "", options, also=(options.label,))
    facts |= {"n": len(truth_N), "groups": groups(routed.rows, options.group)}
    scores = [
        of_statistic(statistic(metric, each), metric=metric, each=each, **facts)
        for metric, each in measures(truth_N, given_N).items()
    ]
    return Scored(scores, {}, _notes(routed, options))


def measures(truth_N: np.ndarray, given_N: np.ndarray) -> dict[str, Each]:
    """Return {metric: what each row adds} (`eval.each`) of those that are defined."""
    right_N = (truth_N == given_N).astype(np.float64)
    of = {
        "accuracy": np.ones(len(truth_N), bool),
        "recall": truth_N != NONE,
        "precision": given_N != NONE,
        "none-recall": truth_N == NONE,
    }
    classes = {"truth": truth_N.tolist(), "guess": [given_N.tolist()]}
    means = {
        name: shares(np.where(rows_N, right_N, np.nan))
        for name, rows_N in of.items()
        if rows_N.any()
    }
    return {**means, "macro-f1": classes, "weighted-f1": classes}


def read(options: RouteOptions) -> Routed:
    """Return the rows that have a label.

    Raises:
        DataError: naming the record, the column that none has, or that no row has a label.
    """
    telling = dict.fromkeys((*TELLING, options.label, options.group or "dialogue_id"))
    sides = {"--label": options.label, "--assigned": options.assigned}
    name = ", ".join(map(display_name, options.files))
    names: dict[str, None] = {}
    rows: list[tuple[str, str, dict[str, Any]]] = []
    unknown, met = 0, set[str]()
    records = read_records(options.files, format=options.from_, policy=Policy())
    for where, record in islice(records, options.limit):
        names |= dict.fromkeys(record)
        met |= {fields.as_text(record.get(side)) for side in sides.values()} & {*options.none}
        try:
            own, given = (_class(record, side, options) for side in sides.values())
        except BadRecord as error:
            raise DataError(str(error), where=where) from None
        if own is None:
            unknown += 1
        else:
            rows.append((own, given or "", {k: record[k] for k in telling if k in record}))
    for flag, side in sides.items():
        if side not in names:
            raise no_column(side, names, where=name, hint=f"{flag} names it")
    if not rows:
        raise DataError(f"no row has a {options.label}", where=name)
    truth, given, kept = zip(*rows, strict=True)
    columns = {key: [row.get(key) for row in kept] for key in telling if key in names}
    absent = [none for none in options.none if none not in met]
    return Routed(list(truth), list(given), Embeddings({}, columns, name=name), unknown, absent)


def _class(record: Mapping[str, Any], name: str, options: RouteOptions) -> str | None:
    """Return the class that a column holds, "" if that is none; None if nothing is known."""
    value = record.get(name)
    if not fields.is_known(value):
        return None
    fields.label(value, name)
    called = fields.as_text(value)
    return "" if called in options.none else called


def _notes(routed: Routed, options: RouteOptions) -> list[str]:
    """Return which rows were left out, and which classes and names nobody has."""
    notes = []
    if options.none != RouteOptions.none and routed.absent:
        notes.append(f"--none {','.join(routed.absent)}: no row has it")
    if routed.unknown:
        notes.append(f"{counted(routed.unknown, 'row')} without a {options.label} left out")
    given = {"", *routed.given}
    never = Counter(own for own in routed.truth if own not in given)
    if never:
        rows = counted(sum(never.values()), "row")
        notes.append(f"no row was given {listed(list(never))}, which {rows} should have been")
    return notes
