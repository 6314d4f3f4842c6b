"""ParlAI's text formats: an example a line, of fields with tabs between them.

    text:…<tab>labels:…|…<tab>label_candidates:…|…<tab>episode_done:True
    1 text<tab>label|…<tab>reward<tab>candidate|…       the older: bAbI's, Persona-Chat

https://parl.ai/docs, MIT (the format; data as its source says). Line ends and tabs inside a field
are written \\n and \\t, a bar inside a text __PIPE__. An episode becomes a dialogue: of each
example the text is the user's, the first label the system's. In the older format line 1 begins an
episode. Personas and facts, on lines without a label or before a text, and `__SILENCE__` are no
turns. `parlai-responses` reads the same files as an example each, for response selection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import LEFT_OUT, Raw, Unexpected, dialogue, each_file, turn

LABELS = ("labels", "eval_labels")
CANDIDATES = "label_candidates"
LISTS = {*LABELS, CANDIDATES, "text_candidates"}
OLDER = ("text", "labels", "reward", CANDIDATES)
NUMBERED = re.compile(r"(\d+) (.*)", re.DOTALL)
PERSONAS = re.compile(r"(?:(?:your|partner's) persona:[^\n]*(?:\n|\Z))+")
SILENCE = ("__SILENCE__", "<SILENCE>")
FACTS = "personas and facts"

Example = tuple[int, dict[str, Any]]


@each_file("*.txt")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the examples of each episode, numbered by the line of the first."""
    held: list[Example] = []
    for number, line in files.lines(name):
        if held and (line.startswith("1 ") or held[-1][1].get("episode_done") == "True"):
            yield Raw(files.where(name, held[0][0]), split_of_name(name), held)
            held = []
        held.append((number, example(line)))
    if held:
        yield Raw(files.where(name, held[0][0]), split_of_name(name), held)


def example(line: str) -> dict[str, Any]:
    """Return the fields of a line, none of a fact; labels and candidates are lists."""
    fields = line.rstrip("\t ").split("\t")
    parts = (part.partition(":") for part in fields if part)
    named = [(name.strip(), value) for name, _, value in parts]
    if numbered := NUMBERED.fullmatch(fields[0]):
        texts = [numbered[2], *fields[1:]]
        named = list(zip(OLDER, texts, strict=False)) if len(texts) > 1 else []
    return {
        name: [_plain(each) for each in value.split("|")] if name in LISTS else _plain(value)
        for name, value in named
    }


def _plain(value: str) -> str:
    return value.replace("\\t", "\t").replace("\\n", "\n").replace("__PIPE__", "|")


def record(raw: Raw) -> dict[str, Any]:
    """Return the dialogue of an episode; candidates stay with the turn that they were for."""
    turns: list[dict[str, Any]] = []
    examples = [(number, entry) for number, entry in raw.value if entry]
    for number, entry in examples:
        text, label = text_and_label(number, entry)
        turns += [turn("user", text)] if text.strip() else []
        if label.strip():
            listed = {"candidates": entry[CANDIDATES]} if entry.get(CANDIDATES) else {}
            turns.append(turn("system", label) | listed)
    facts = len(raw.value) - len(examples)
    facts += sum(_personas(entry.get("text", "")).count("persona:") for _, entry in examples)
    left_out = {LEFT_OUT: {FACTS: facts}} if facts else {}
    return dialogue(raw, turns, id=raw.value[0][1].get("id")) | left_out


def text_and_label(number: int, entry: dict[str, Any]) -> tuple[str, str]:
    """Return text and first label of an example; either may be empty.

    Raises:
        Unexpected: if it has neither.
    """
    label = next((entry[name][0] for name in LABELS if name in entry), None)
    if label is None and "text" not in entry:
        raise Unexpected(
            f"line {number}: expected text: and labels:, found {', '.join(list(entry)[:4])[:80]!r}"
        )
    text = entry.get("text", "")
    said = text.removeprefix(_personas(text))
    return "" if said.strip() in SILENCE else said, label or ""


def _personas(text: str) -> str:
    """Return the personas that a text begins with, a line each."""
    match = PERSONAS.match(text)
    return match[0] if match else ""
