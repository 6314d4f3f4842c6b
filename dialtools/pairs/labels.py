"""Texts of one label as pairs: somebody has said that they mean the same.

Texts are brought together on disk; in memory are 256 MiB of DuckDB and the texts of one label.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

from dialtools.corpora import fields
from dialtools.corpora.by_dialogue import Row, by_dialogue
from dialtools.corpora.dialogues import key_of_turns
from dialtools.corpora.flat import FlatTurns
from dialtools.corpora.logs import log_records
from dialtools.corpora.read import record_chunks
from dialtools.corpora.splits import VALIDATION
from dialtools.pairs.draw import drawn
from dialtools.pairs.labelled import check_columns, field_of, talk
from dialtools.pairs.options import PairOptions
from dialtools.pairs.windows import Pairs, windowed
from dialtools.streams.chunks import ROWS, Chunk, records
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import NAMES, Tally
from dialtools.words import count_words

PAIRS_A_CHUNK = 4096
SPLIT, TEST = "split", "test"
HELD_OUT = frozenset((TEST, *VALIDATION))
OF_DIALOGUES = "dialogues: --kind utterance makes texts of their turns"
PAIRED = "labels of pairs"
TO_LEARN, TO_TEST = "labelled texts of a training split", "labelled texts to be tested on"
MOST = 100_000
"""Texts of one label, as many as are held."""


def same_label_chunks(options: PairOptions, policy: Policy, tally: Tally) -> Iterator[Chunk]:
    """Yield chunks of two texts and the label that both have.

    The distinct texts of a label, case apart, stand in a ring, in an order drawn by --seed: each
    comes with the next --per-text. Short texts are left out first, so that none is a place in it.
    """
    pairs = _pairs(by_dialogue(_labelled(options, policy, tally)), options, tally)
    name = options.files[0]
    while held := list(islice(pairs, PAIRS_A_CHUNK)):
        yield Chunk(name, 1, ROWS, held)


def _labelled(options: PairOptions, policy: Policy, tally: Tally) -> Iterator[Row]:
    """Yield each text that has a label, in the order of the input."""
    chunks = record_chunks(
        options.inputs, format=options.from_, policy=policy, column=None, logs=options
    )
    texts, labels = [(name,) for name in options.texts] or (fields.TEXT_KEYS, fields.LABELS)
    for chunk in chunks:
        wanted = (*texts, *labels, SPLIT)
        unknown = check_columns(chunk, (labels, texts), "a label")
        for line, record in log_records(chunk, policy, options, wanted, texts=texts):
            tally.sources += 1
            try:
                row = _row(line, unknown | record, texts, labels)
            except fields.BadRecord as error:
                hint = OF_DIALOGUES if key_of_turns(record) else None
                policy.reject(Where(chunk.name, line), str(error), record, hint)
                continue
            if not row:
                tally.drop("without a text or label")
            elif count_words(row.turn["text"], options.words_by) < options.min_words:
                tally.drop("short")
            else:
                if isinstance(split := record.get(SPLIT), str):
                    tally.facts[TO_TEST if split in HELD_OUT else TO_LEARN] += 1
                yield row


def _row(
    line: int, record: dict[str, Any], texts: tuple[str, ...], labels: tuple[str, ...]
) -> Row | None:
    """Return the text of a record under its label; None where one is blank, or null.

    Raises:
        BadRecord: if a field is not there, or of another type.
    """
    name, label = field_of(record, labels, "a label")
    of_text, text = field_of(record, texts, "a label")
    if not (fields.is_known(label) and text):
        return None
    fields.label(label, name)
    fields.text(text, of_text)
    return Row(line, fields.as_text(label), {"text": text.strip()}) if text.strip() else None


def _pairs(rows: Iterator[Row], options: PairOptions, tally: Tally) -> Iterator[dict[str, str]]:
    """Yield the pairs of texts that come label by label."""
    for label, group in groupby(rows, key=lambda row: row.dialogue):
        turns, count = drawn((row.turn for row in group), MOST, options.seed)
        tally.drop("alone of their label", int(len(turns) == 1))
        tally.facts[PAIRED] += len(turns) > 1
        if len(tally.met) < NAMES:
            tally.met.add(label)
        tally.drop(
            "beyond 100,000 of a label" if len(turns) == MOST else "again", count - len(turns)
        )
        for one, other in ring(len(turns), options.per_text):
            yield {"text": turns[one]["text"], "other": turns[other]["text"], "label": label}


def ring(size: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of places in a ring, each place with the next so many; none comes twice."""
    for step in range(1, min(each, size // 2) + 1):
        for first in range(size // 2 if 2 * step == size else size):
            yield first, (first + step) % size


def of_one_label(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Return each pair as two turns of a dialogue that is called by their label.

    dial-train takes no neighbour in a dialogue for a negative, and so no text of the same label.
    """
    turns = FlatTurns.of(
        (line, talk(pair["label"], [pair["text"], pair["other"]], options))
        for line, pair in records(chunk, policy)
    )
    return turns, windowed(turns, (1,))
