"""Cases of corpora as they were published; corpora.jsonl has a small made-up one of each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml
from fuzz import containers, mutate
from fuzz.cases import Case, called, on_error
from fuzz.records import Record
from fuzz.uses import Use

CORPORA = Path(__file__).with_name("corpora.jsonl")


@cache
def examples() -> list[Record]:
    return [json.loads(line) for line in CORPORA.read_text(encoding="utf-8").splitlines()]


def corpora(draw: Random) -> Case:
    """A corpus as it was published: a folder, an archive, or a file of it."""
    entry = draw.choice(examples())
    files = {name: text.encode() for name, text in entry["files"].items()}
    for name in draw.sample(sorted(files), draw.randint(1, len(files))):
        change = changed_yaml if name.endswith(".yml") else changed_file
        files[name] = change(draw, files[name])
    command = draw.choice(
        ("dial-pairs --kind dialogue", "dial-pairs --kind utterance", "dial-freq", "dial-augment")
    )
    use = Use(command, "rows", draw.choice(("", "--to arrow", "-o out/o.parquet")))
    way = draw.choice(("folder", "folder", "archive", "file"))
    if way == "archive":
        suffix, content = containers.archived(draw, files)
        content = mutate.damaged(draw, content) if draw.random() < 0.3 else content
        case = called(draw, "corpora", use, f"corpus{suffix}", content)
    else:
        case = called(draw, "corpora", use, "in", b"")
        case.files = {f"corpus/{name}": content for name, content in files.items()}
        one = f"corpus/{draw.choice(sorted(files))}"
        case.words, case.stdin = [*use.words, ["corpus" if way == "folder" else one]], None
    source = [["--from", entry["corpus"]]] if draw.random() < 0.7 else []
    case.words[1:1] = [*source, *on_error(draw)]
    return case


def changed_file(draw: Random, content: bytes) -> bytes:
    """Return a file of a corpus with changes of its JSON, of one of its lines, or of its bytes."""
    at = draw.randrange(max(1, content.count(b"\n")))
    split = content.split(b"\n")
    for part, rest in ((content, None), (split[at], split)):
        try:
            value: Any = json.loads(part)
        except ValueError:
            continue
        changed = mutate.line(draw, mutate.mutated(draw, value))
        return changed if rest is None else b"\n".join([*rest[:at], changed, *rest[at + 1 :]])
    return mutate.damaged(draw, content)


def changed_yaml(draw: Random, content: bytes) -> bytes:
    """Return a file of YAML with changes of what it says, or of its bytes."""
    if draw.random() < 0.3:
        return mutate.damaged(draw, content)
    changed = mutate.mutated(draw, yaml.load(content, Loader=yaml.BaseLoader))
    if not isinstance(changed, dict):
        return mutate.line(draw, changed)
    # a key a line, as readers expect it; JSON is YAML
    return b"\n".join(
        mutate.line(draw, key) + b": " + mutate.line(draw, changed[key]) for key in changed
    )
