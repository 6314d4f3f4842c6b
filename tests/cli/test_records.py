"""What the commands write is what dialtools-records(5) says."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest
from at_work import ended
from pair_corpus import as_lines

from dialtools.cli._records import RECORDS


def dialogue(name: str, *texts: str) -> dict[str, Any]:
    speakers = itertools.cycle(("user", "system"))
    turns = [{"speaker": who, "text": text} for who, text in zip(speakers, texts, strict=False)]
    return {"id": name, "split": "train", "turns": turns}


def flight(city: str) -> dict[str, Any]:
    slots = [{"start": 7, "end": 7 + len(city), "label": "city"}]
    return {"text": f"fly to {city}", "label": "flight", "split": "train", "slots": slots}


DIALOGUES = as_lines(
    [
        dialogue("d1", "fly me to rome", "which day?", "on monday"),
        dialogue("d2", "fly me to oslo", "which day?", "thanks"),
    ]
)
UTTERANCES = as_lines([flight("rome"), flight("oslo")])
MEASURED = b"""
{"id": "1", "label": "a", "split": "train", "embedding": [1, 0]}
{"id": "2", "label": "b", "split": "train", "embedding": [0, 1]}
{"id": "3", "label": "a", "split": "test", "embedding": [1, 0.1]}
"""
SCORED = b"""
{"schema": "dialtools.score/1", "task": "select", "dataset": "a", "setting": "", "metric": "top-1",
 "value": 50, "each": [1, 0, 1, 0], "n": 4, "items": {"id": "00"}}
""".replace(b"\n ", b" ")
WRITTEN = {
    "dialogue": ("dial-pairs --kind dialogue", DIALOGUES),
    "utterance": ("dial-augment", UTTERANCES),
    "pair": ("dial-pairs --window 1,2 --follow 1", DIALOGUES),
    "frequency": ("dial-freq", DIALOGUES),
    "imbalance": ("dial-freq --summary --json", DIALOGUES),
    "neighbor": ("dialtools neighbors", MEASURED),
    "member": ("dialtools cluster --clusters 2 -", MEASURED),
    "assigned": ("dialtools assign --examples examples.jsonl", MEASURED),
    "score": ("dial-eval intent --shots 1 --runs 2 -", MEASURED),
    "comparison": ("dial-eval compare before.jsonl after.jsonl", b""),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_command_writes_the_fields_of_its_page(kind: str, scripts: Path, tmp_path: Path):
    line, stdin = WRITTEN[kind]
    (tmp_path / "examples.jsonl").write_bytes(MEASURED)
    for name in ("before", "after"):
        (tmp_path / f"{name}.jsonl").write_bytes(SCORED)
    name, *arguments = line.split()
    done = ended(scripts / name, *arguments, "-q", input=stdin, cwd=tmp_path)
    rows = [orjson.loads(row) for row in done.stdout.splitlines()]

    fields = RECORDS[kind].fields
    required = {name for name, field in fields.items() if field.required}
    assert rows
    for row in rows:
        assert required <= set(row) <= set(fields)


@pytest.mark.parametrize("kind", RECORDS)
def test_the_example_of_a_record_has_what_it_must_have(kind: str):
    record = orjson.loads(RECORDS[kind].example.replace(", ...]", "]"))
    fields = RECORDS[kind].fields
    assert {name for name, field in fields.items() if field.required} <= set(record)
    assert set(record) <= {*fields, "id", "label"}
