"""SNIPS and ATIS as joint tagging has them: seq.in, seq.out (IOB tags) and label.

Each file has a line for each utterance. A folder of the three files, or folders train, valid (dev)
and test of them; github.com/MiuLab/SlotGated-SLU (SNIPS: CC0, ATIS: LDC). Published: 13,084 / 700 /
700 utterances of SNIPS, 4,478 / 500 / 893 of ATIS.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, each_file, numbered, slot
from dialtools.streams.tally import counted

TEXTS, TAGS, LABELS = "seq.in", "seq.out", "label"


@each_file(TEXTS)
def raw(files: Files, texts: str) -> Iterator[Raw]:
    """Yield words, tags and label of each line, the splits one after another.

    Raises:
        DataError: if a folder lacks a file, or its files have not the same number of lines.
    """
    tags, labels = files.beside(texts, TAGS), files.beside(texts, LABELS)
    if not tags:
        files.fail(texts, f"no {TAGS} beside it")
    contents = {name: files.read(name).splitlines() for name in (texts, tags, labels) if name}
    counts = [f"{name} has {counted(len(lines), 'line')}" for name, lines in contents.items()]
    if len(set(map(len, contents.values()))) > 1:
        files.fail(texts, ", ".join(counts))
    yield from numbered(files, texts, enumerate(zip(*contents.values(), strict=True), 1))


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance with its slots."""
    try:
        words, tags, *labels = [line.decode("utf-8").strip() for line in raw.value]
    except UnicodeDecodeError as error:
        raise Unexpected(f"invalid UTF-8 at byte {error.start + 1}") from None
    words, tags = words.split(), tags.split()
    if len(words) != len(tags):
        raise Unexpected(f"{counted(len(words), 'word')} but {counted(len(tags), 'tag')}")
    facts: dict[str, Any] = {"text": " ".join(words), "slots": spans_of(words, tags)}
    rest = {"label": labels[0] if labels else "", "split": raw.split}
    return facts | {name: value for name, value in rest.items() if value}


def spans_of(words: list[str], tags: list[str]) -> list[dict[str, Any]]:
    """Return the slots of words joined by a blank.

    An I- that follows no slot of its type begins one.
    """
    spans: list[dict[str, Any]] = []
    at, inside = 0, None
    for word, tag in zip_longest(words, tags):
        kind, _, label = tag.partition("-")
        if kind == "I" and inside == label:
            spans[-1]["end"] = at + len(word)
        elif kind in ("B", "I"):
            spans.append(slot(at, at + len(word), label))
        inside = label if kind in ("B", "I") else None
        at += len(word) + 1
    return spans
