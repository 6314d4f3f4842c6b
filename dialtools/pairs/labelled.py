"""Pairs of records of two or three texts: what goes with what, entails it, contradicts it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import pyarrow as pa

from dialtools.corpora import fields
from dialtools.corpora.by_dialogue import Row, by_dialogue
from dialtools.corpora.dialogues import IDS, Dialogue, known_by, whose
from dialtools.corpora.fields import ANSWERED, ASKED, FIRST, SECOND, BadRecord
from dialtools.corpora.flat import FlatTurns
from dialtools.corpora.logs import log_records
from dialtools.corpora.read import record_chunks
from dialtools.errors import DataError
from dialtools.pairs.options import PairOptions
from dialtools.pairs.windows import Pairs, windowed
from dialtools.shown import cut, listed
from dialtools.streams.chunks import ROWS, Chunk, records
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import Tally
from dialtools.words import lowered

LABEL = ("label", "gold_label")
TWO_TEXTS = (FIRST, SECOND, LABEL)
THREE_TEXTS = (
    ("anchor", "sent0"),
    ("positive", "entailment", "sent1"),
    ("negative", "contradiction", "hard_neg"),
)
"""What a text is called, what it entails, and what contradicts it; in one record."""
POSITIVE: tuple[str, ...] = ("entailment", "positive")
NEGATIVE: tuple[str, ...] = ("contradiction", "negative")
"""Labels of two texts: of SNLI and MNLI, of Dialogue NLI."""
INSTRUCTION, INPUT = "instruction", "input"
TRIPLES_A_CHUNK = 4096
Read = tuple[Chunk, int, dict[str, Any]]
"""A record, with its chunk and its line."""


def coupled(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Return the two texts of each record, as two turns: a question and its answer, ..."""
    names = [(name,) for name in options.texts] or [ASKED, ANSWERED]
    rows = _rows(chunk, options, policy, names, "a couple")
    turns = FlatTurns.of((line, talk(name, texts, options)) for line, name, texts in rows)
    return turns, windowed(turns, (1,))


def triples(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Return text, what it entails and what contradicts it, as three turns (SimCSE-sup)."""
    rows = _rows(chunk, options, policy, THREE_TEXTS, "three texts")
    turns = FlatTurns.of((line, talk(name, texts, options)) for line, name, texts in rows)
    first = windowed(turns, (1,))
    return turns, first.where(first.response == turns.starts[first.dialogue] + 1)


def triple_chunks(options: PairOptions, policy: Policy, tally: Tally) -> Iterator[Chunk]:
    """Yield chunks of three texts: as they come, or from labelled pairs of one premise.

    Its entailments take its contradictions in turn. Holds 256 MiB of pairs, the rest on disk.
    Inputs behind one another that are both of labelled pairs are one.
    """
    opened = (_opened(path, options, policy) for path in options.files)
    for whole, inputs in groupby(opened, key=itemgetter(0)):
        rows = chain.from_iterable(rows for _, rows in inputs)
        if whole:
            made = ((chunk.name, line, record) for chunk, line, record in rows)
        else:
            made = _of_premises(rows, policy, tally)
        for name, named in groupby(made, key=itemgetter(0)):
            while held := list(islice(named, TRIPLES_A_CHUNK)):
                _, lines, found = zip(*held, strict=True)
                yield Chunk(name, lines[0], ROWS, list(found), lines)


def _opened(path: str, options: PairOptions, policy: Policy) -> tuple[bool, Iterator[Read]]:
    """Return whether the first record of an input has three texts, and its records."""
    chunks = record_chunks([path], format=options.from_, policy=policy, column=None, logs=options)
    rows = ((chunk, *row) for chunk in chunks for row in records(chunk, policy))
    head = list(islice(rows, 1))
    whole = bool(head) and any(key in head[0][2] for key in chain(*THREE_TEXTS[1:]))
    return whole, chain(head, rows)


def _of_premises(
    rows: Iterator[Read], policy: Policy, tally: Tally
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield name, line and the three texts of each entailment that has a contradiction.

    Records that do not become three texts are counted here. The name is the last input's: nothing
    that is made of good records is told of by its place.
    """
    name = ""

    def pairs() -> Iterator[Row]:
        nonlocal name
        for chunk, line, record in rows:
            name = chunk.name
            try:
                premise, hypothesis, label = (_text(record, n, "two texts") for n in TWO_TEXTS)
            except BadRecord as error:
                policy.reject(Where(chunk.name, line), str(error), record)
                continue
            if label.lower() in (*POSITIVE, *NEGATIVE):
                entails = label.lower() in POSITIVE
                yield Row(line, premise.strip(), {"text": hypothesis, "entails": entails})
            else:
                _leave_out(label, tally)

    for premise, group in groupby(by_dialogue(pairs()), key=lambda row: row.dialogue):
        members = list(group)
        against = [row.turn["text"] for row in members if not row.turn["entails"]]
        entailments = [row for row in members if row.turn["entails"]]
        tally.sources += len(against)
        if not against:
            tally.drop("of a premise that nothing contradicts", len(entailments))
            tally.sources += len(entailments)
            continue
        for i, row in enumerate(entailments):
            texts = (premise, row.turn["text"], against[i % len(against)])
            keys = (names[0] for names in THREE_TEXTS)
            yield name, row.line, dict(zip(keys, texts, strict=True))


def entailed(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Return premise and hypothesis of records labelled entailment, as two turns (DSE-dianli).

    With --kind nli those labelled contradiction, too, each with a flag (PairSupCon).
    """
    flagged = options.kind == "nli"
    labels = (*POSITIVE, *NEGATIVE) if flagged else POSITIVE
    similar: list[bool] = []

    def talks() -> Iterator[tuple[int, Dialogue]]:
        for line, name, texts in _rows(chunk, options, policy, TWO_TEXTS, "two texts"):
            *texts, label = texts
            if label.lower() not in labels:
                _leave_out(label, tally)
                continue
            similar.append(label.lower() in POSITIVE)
            yield line, talk(name, texts, options)

    turns = FlatTurns.of(talks())
    if flagged:
        turns.facts["similar"] = pa.array(similar, pa.bool_()).cast(pa.uint8())
    return turns, windowed(turns, (1,))


def _leave_out(label: str, tally: Tally) -> None:
    """Count a record of which the label says nothing."""
    tally.drop(f"labelled {cut(label)}" if label else "without a label")
    tally.sources += 1


def _rows(
    chunk: Chunk, options: PairOptions, policy: Policy, names: Sequence[tuple[str, ...]], what: str
) -> Iterator[tuple[int, str | None, list[str]]]:
    """Yield line, name and texts of each record; one that lacks a text goes to the policy.

    Args:
        names: what each text may be called.
        what: a key of EXPECTED.
    """
    wanted = (*chain(*names), INPUT, *IDS)
    unknown = check_columns(chunk, names, what)
    for line, record in log_records(chunk, policy, options, wanted, texts=(*options.texts, INPUT)):
        try:
            asked = record if options.texts else _with_input(record)
            texts = [_text(unknown | asked, called, what) for called in names]
            name = whose(record)
        except BadRecord as error:
            policy.reject(Where(chunk.name, line), str(error), record)
        else:
            yield line, name, texts


def _with_input(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with what its instruction is about below that, as Alpaca's prompt has it."""
    instruction, about = record.get(INSTRUCTION), record.get(INPUT)
    if not isinstance(instruction, str) or not isinstance(about, str) or not about.strip():
        return record
    return record | {INSTRUCTION: f"{instruction}\n{about}"}


def check_columns(chunk: Chunk, names: Iterable[tuple[str, ...]], what: str) -> dict[str, None]:
    """Return the columns of a table as a record of nothing: its rows lack what is null there.

    Raises:
        DataError: naming the columns there are, if one is not.
    """
    unknown: dict[str, None] = dict.fromkeys(chunk.data.schema.names if chunk.columnar else ())
    for called in names if unknown else ():
        try:
            field_of(unknown, called, what)
        except BadRecord as error:
            raise DataError(str(error), where=chunk.name) from None
    return unknown


def talk(name: str | None, texts: list[str], options: PairOptions) -> Dialogue:
    """Return texts as the turns of a dialogue, of which nobody says who speaks."""
    lower = [lowered(text.strip()) if options.lower else text.strip() for text in texts]
    return Dialogue(name, lower, [None] * len(texts), read=known_by(name, texts))


EXPECTED = {
    "a couple": "two texts that belong together, which --texts names",
    "a label": "a text and its label, which --texts names",
    "two texts": "premise, hypothesis and label",
    "three texts": "anchor, positive and negative",
}


def _text(record: Mapping[str, Any], names: tuple[str, ...], what: str) -> str:
    """Return the text that a record has under one of several names; null is an empty one.

    Raises:
        BadRecord: if there is none, or it is no text.
    """
    name, value = field_of(record, names, what)
    if value is None:
        return ""
    fields.text(value, name)
    return value


def field_of(record: Mapping[str, Any], names: tuple[str, ...], what: str) -> tuple[str, Any]:
    """Return name and value of the first field there is of several names.

    Args:
        what: a key of EXPECTED.

    Raises:
        BadRecord: if there is none.
    """
    name = next((name for name in names if name in record), None)
    if name is None:
        there = f"there are {listed(record) or 'no fields'}"
        raise BadRecord(f'no "{names[0]}": expected {EXPECTED[what]}; {there}')
    return name, record[name]
