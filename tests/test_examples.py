"""The shipped corpus is what its generator makes, its offsets are right, its parts disjoint."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path

from at_work import ended

HOME = Path(__file__).resolve().parents[1] / "examples"


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in gzip.open(HOME / f"{name}.jsonl.gz")]


def test_the_generator_makes_the_shipped_files():
    spec = importlib.util.spec_from_file_location("generate", HOME / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, made in generate.corpus().items():
        assert rows(name) == json.loads(json.dumps(made)), name


def test_the_corpus_is_varied_and_as_imbalanced_as_real_ones():
    dialogues = rows("dialogues")
    counts = Counter(turn["text"] for d in dialogues for turn in d["turns"])
    top = sum(n for _, n in counts.most_common(len(counts) // 100))
    assert 0.15 < top / counts.total() < 0.30
    assert len(counts) > 20_000
    for turn in (turn for d in dialogues for turn in d["turns"]):
        for slot in turn.get("slots", []):
            assert turn["text"][slot["start"] : slot["end"]].strip()
    assert len({r["label"] for r in rows("intents")}) >= 30


def test_nothing_that_is_evaluated_stands_in_the_training_dialogues():
    files = [HOME / f"{name}.jsonl.gz" for name in ("dialogues", "heldout", "intents")]
    told = ended(sys.executable, HOME / "overlap.py", *files, text=True).stdout
    found = re.findall(r"^ +(\d+) of +([\d,]+) (.+)$", told, re.MULTILINE)
    assert [what for *_, what in found] == ["labelled texts", "responses", "templates", "values"]
    assert all(known == "0" and int(of.replace(",", "")) > 100 for known, of, _ in found)
