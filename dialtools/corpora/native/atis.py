"""ATIS as Rasa's JSON.

A file is {"rasa_nlu_data": {"common_examples": [{"text", "intent", "entities": [{"start", "end",
...}]}]}}. Any file of that layout is read. https://github.com/howl-anderson/ATIS_dataset
(data/standard_format/rasa), ATIS LDC. Published: 4,978 utterances for training, 893 for testing.
The offsets of a value that begins the text are one too large there; a span whose text is not its
"value" is moved to the nearest place where that stands.

Also atis.{train,test}.w-intent.iob: `BOS`, words, `EOS`, a tab, and as many IOB tags, the last of
which is the intent. Where atis-2.{train,dev} lie beside atis.train, which is both of them in one,
those two are read: else all validation texts would be training texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.iob import spans_of
from dialtools.corpora.native.raw import Raw, Unexpected, field, numbered, one_file, slot, utterance
from dialtools.streams.tally import counted

JSON, TAGGED = ("train.json", "test.json", "atis*.json"), "*.w-intent.iob"
WHOLE, PARTS = "atis.train.w-intent.iob", ("atis-2.train.w-intent.iob", "atis-2.dev.w-intent.iob")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the examples of each file.

    Raises:
        DataError: if a file has not Rasa's layout.
    """
    is_cut = not files.single and all(files.names(part) for part in PARTS)
    for name in files.names(*JSON) or files.needed(*JSON, TAGGED):
        if is_cut and name.endswith(WHOLE):
            continue
        tagged = TAGGED if name.endswith(TAGGED[1:]) else None
        with one_file(files, name):
            found = files.lines(name) if tagged else enumerate(_examples(files.json(name)), 1)
            yield from numbered(files, name, found, tagged)


def _examples(content: Any) -> list[Any]:
    return field(field(content, "rasa_nlu_data", dict), "common_examples", list)


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance with its slots."""
    if raw.more:
        return _tagged(raw)
    text = field(raw.value, "text", str)
    slots = [_slot(text, entity) for entity in field(raw.value, "entities", list, default=[])]
    return utterance(
        raw,
        text,
        field(raw.value, "intent", str, default=None),
        slots=sorted(slots, key=lambda s: s["start"]),
    )


def _tagged(raw: Raw) -> dict[str, Any]:
    words, _, tags = (part.split() for part in raw.value.partition("\t"))
    if len(words) != len(tags) or len(words) < 3:
        raise Unexpected(
            f"{counted(len(words), 'word')} but {counted(len(tags), 'tag')}, expected as many"
        )
    # BOS and EOS stand around the words; the tag of EOS is the intent
    inner, intent = words[1:-1], tags[-1]
    return utterance(raw, " ".join(inner), intent, slots=spans_of(inner, tags[1:-1]))


def _slot(text: str, entity: Any) -> dict[str, Any]:
    start, end = field(entity, "start", int), field(entity, "end", int)
    value = entity.get("value")
    if isinstance(value, str) and value.strip() and text[start:end] != value:
        places = [match.start() for match in re.finditer(re.escape(value), text)]
        if places:  # a value that stands nowhere is a synonym of what does
            start = min(places, key=lambda place: abs(place - start))
            end = start + len(value)
    if not 0 <= start < end <= len(text):
        raise Unexpected(
            f"entities: {start} to {end} is no part of a text of {counted(len(text), 'character')}"
        )
    return slot(start, end, field(entity, "entity", str))
