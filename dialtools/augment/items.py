"""Records to what is filled: an utterance, or the turns of a dialogue, with their values marked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple

import orjson

from dialtools.augment.options import AugmentOptions
from dialtools.augment.tagger import BATCH, Marked, Tagger
from dialtools.corpora.dialogues import dialogue, field_of_turns, identity_of, key_of_turns
from dialtools.corpora.fields import TURN_TEXTS, BadRecord
from dialtools.corpora.read import record_chunks
from dialtools.corpora.shape import as_turns
from dialtools.corpora.utterances import Span, apart, slots, utterance
from dialtools.streams.chunks import records
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import Tally

SPANS, TAGS = ("spans", "entities", "annotations"), ("tags", "ner_tags", "slot_tags", "bio_tags")
"""Fields in which others mark values: by their places, and by a tag for each word."""


class Turn(NamedTuple):
    """A text, the values in it (in order, apart), and the other fields of its record."""

    text: str
    spans: list[Span]
    fields: dict[str, Any]


class Item(NamedTuple):
    """A record: its place, its fields but for the texts, and its turns; an utterance is one."""

    where: Where
    fields: dict[str, Any]
    turns: list[Turn]
    dialogue: bool

    def packed(self) -> bytes:
        """Return the item as a line of a spool."""
        return orjson.dumps(
            [self.where, self.fields, self.turns, self.dialogue],
            default=_plain,
            option=orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_APPEND_NEWLINE,
        )

    @classmethod
    def unpacked(cls, line: bytes) -> Item:
        """Return the item of a line of a spool."""
        where, fields, rows, dialogue = orjson.loads(line)
        turns = [Turn(text, [Span(*s) for s in spans], rest) for text, spans, rest in rows]
        return cls(Where(*where), fields, turns, dialogue)

    @property
    def source_id(self) -> str:
        """What a synthetic record names as its source: the id, else the place."""
        name = identity_of(self.fields.get("id"), "id")
        return str(self.where) if name is None else name


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value)


def items(
    options: AugmentOptions, policy: Policy, tag: Tagger | None, marked: Marked | None, tally: Tally
) -> Iterator[Item]:
    """Yield the records of the inputs with their values marked.

    Holds a chunk, and a batch of the tagger.

    Args:
        tag: marks texts that come without slots.
        marked: slots by record id that take the place of the records' own.
        tally: gets the messages of chats that are no turns.
    """
    longest = tag.longest if tag else sys.maxsize
    every = _items(options, policy, marked, tally, longest=longest)
    while part := list(islice(every, BATCH)):
        if tag is not None:
            part = _tagged(part, tag)
        for item in part:
            yield item._replace(turns=[_chosen(turn, options) for turn in item.turns])


def _items(
    options: AugmentOptions, policy: Policy, marked: Marked | None, tally: Tally, *, longest: int
) -> Iterator[Item]:
    chunks = record_chunks(options.inputs, format=options.from_, policy=policy, shard=options.part)
    for chunk in chunks:
        for number, record in records(chunk, policy):
            where = Where(chunk.name, number)
            try:
                made = [_item(where, part, marked) for part, _ in as_turns(record, tally)]
                _check_lengths(made, longest)
                yield from made
            except BadRecord as error:
                policy.reject(where, str(error), record, instead(record) or None)


def instead(record: Mapping[str, Any]) -> str:
    """Return how the values become slots that a record marks as others do; "" if it has none."""
    for name in SPANS:
        if type(marks := record.get(name)) is list and marks and type(marks[0]) is dict:
            return f'"{name}": rename it to "slots", a list of {{"start", "end", "label"}}'
    worded = any(type(record.get(name)) is list for name in ("tokens", "words"))
    tags = next((name for name in TAGS if type(record.get(name)) is list), None)
    how = "--from iob reads words and their tags, from files seq.in and seq.out"
    return f'"{tags}": {how}' if worded and tags else ""


def _item(where: Where, record: Mapping[str, Any], marked: Marked | None) -> Item:
    key = key_of_turns(record)
    if key is not None and marked is not None:
        raise BadRecord("--spans marks utterances, and this is a dialogue, with slots of its turns")
    if key is not None:
        texts = dialogue(record).texts  # checks the turns
        pairs = zip(field_of_turns(record)[1], texts, strict=True)
        turns = [_turn(turn, text, i) for i, (turn, text) in enumerate(pairs)]
        rest = {name: value for name, value in record.items() if name != key}
        return Item(where, _named(rest), turns, dialogue=True)
    text, slots_of_record, fields = utterance(record)
    spans: Any = slots_of_record  # None where nobody marked any: a tagger may fill them in
    if marked is not None:
        own = marked.of(identity_of(fields.get("id"), "id"), where.line)
        spans = slots(own, text, "spans") if own else spans
    return Item(where, _named(fields), [Turn(text, spans, {})], dialogue=False)


def _check_lengths(made: list[Item], longest: int) -> None:
    for turn in chain.from_iterable(item.turns for item in made):
        if turn.spans is None and len(turn.text) > longest:
            length = f"{len(turn.text):,} characters"
            raise BadRecord(f"a text of {length}; the pipeline of --ner takes {longest:,}")


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with the id as text, as that of made records is: a table has one type."""
    name = identity_of(fields.get("id"), "id")
    return fields if name is None else fields | {"id": name}


def _turn(turn: Any, text: str, number: int) -> Turn:
    spans: Any = None  # nobody marked any: a tagger may fill them in
    if turn is None or isinstance(turn, str):
        return Turn(turn or "", spans, {})
    # the text as it came: offsets count from its first blank
    text = next(turn[name] for name in TURN_TEXTS if name in turn) or ""
    if turn.get("slots") is not None:
        spans = slots(turn["slots"], text, f"turns[{number}].slots")
    rest = {k: v for k, v in turn.items() if v is not None and k not in (*TURN_TEXTS, "slots")}
    return Turn(text, spans, rest)


def _tagged(part: list[Item], tag: Tagger) -> list[Item]:
    """Fill in the values of texts in which nobody has marked any."""
    new = iter(tag.tag([turn.text for item in part for turn in item.turns if turn.spans is None]))

    def marked(turn: Turn) -> Turn:
        return turn if turn.spans is not None else turn._replace(spans=next(new))

    return [item._replace(turns=[marked(turn) for turn in item.turns]) for item in part]


def short(label: str) -> str:
    """Return the last dotted part of a type: `fromloc.city_name` is `city_name`."""
    return label.rpartition(".")[2] or label


def _chosen(turn: Turn, options: AugmentOptions) -> Turn:
    spans = turn.spans or []
    if options.short_types:
        spans = [span._replace(label=short(span.label)) for span in spans]
    if options.types:
        spans = [span for span in spans if span.label in options.types]
    return turn._replace(spans=apart(spans))
