"""What dial-embed makes a row of: records, turns, candidates; and which turns a row reads."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import numpy as np
import pytest
from at_work import ended
from written import json_value

TALK = json_value("""
    {"id": "d1", "split": "train",
     "turns": [{"speaker": "user", "text": "hello"},
      {"speaker": "system", "text": "what food?", "acts": ["request"]},
      {"speaker": "user", "text": "thai please",
       "slots": [{"start": 0, "end": 4, "label": "food"}]}]}
""")
ASK = {
    "history": [{"speaker": "a", "text": "who has rar?"}],
    "response": "try unrar",
    "candidates": ["try unrar", "no"],
}


def embed(
    scripts: Path, minilm: str, records: list[dict], *flags: str, code: int = 0
) -> list[dict] | str:
    line = [scripts / "dial-embed", "--model", minilm, "--to", "jsonl", *flags]
    text = "".join(json.dumps(record) + "\n" for record in records)
    done = ended(
        *line, code=code, input=text, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    return done.stderr if code else [json.loads(row) for row in done.stdout.splitlines()]


def test_a_row_a_turn_has_the_turns_own_fields_and_the_vector_of_the_history_that_ends_with_it(
    scripts, minilm
):
    rows = embed(scripts, minilm, [TALK], "--per", "turn")
    assert [(r["dialogue_id"], r["turn"], r["speaker"], r["text"], r["split"]) for r in rows] == [
        ("d1", 0, "user", "hello", "train"),
        ("d1", 1, "system", "what food?", "train"),
        ("d1", 2, "user", "thai please", "train"),
    ]
    assert [r.get("acts") for r in rows] == [None, ["request"], None]
    assert "history" not in rows[2] and json.loads(rows[2]["slots"])[0]["label"] == "food"
    histories = [{"text": [turn["text"] for turn in TALK["turns"][: i + 1]]} for i in range(3)]
    expected = embed(scripts, minilm, histories)
    np.testing.assert_allclose(
        [r["embedding"] for r in rows], [r["embedding"] for r in expected], atol=1e-6
    )


def test_fields_joined_by_a_plus_are_read_as_one_list_of_turns(scripts, minilm):
    unasked = {"history": [], "response": "yes", "label": "x"}
    joined = embed(scripts, minilm, [ASK, unasked], "--field", "history+response")
    apart = embed(scripts, minilm, [{"text": ["who has rar?", "try unrar"]}, {"text": ["yes"]}])
    for one, other in zip(joined, apart, strict=True):
        np.testing.assert_allclose(one["embedding"], other["embedding"], atol=1e-6)


def test_tokens_are_counted_before_any_cut(scripts, minilm):
    long = {"text": " ".join(["dog"] * 300)}
    rows = embed(
        scripts,
        minilm,
        [{"text": "hello"}, {"text": ["hello", "what food?"]}, long],
        *shlex.split("--tokens --max-length 16 --keep none"),
    )
    # [CLS] hello [SEP]; [CLS] hello [SEP] what food ? [SEP]; 300 words and two special tokens
    assert [r["tokens"] for r in rows] == [3, 7, 302]


def test_a_limit_counts_rows(scripts, minilm):
    assert len(embed(scripts, minilm, [TALK, TALK], "--per", "turn", "-n", "4")) == 4


def test_a_record_without_turns_is_named(scripts, minilm):
    said = embed(scripts, minilm, [{"text": "x"}], "--per", "turn", code=1)
    assert '<stdin>:1: no "turns"\n  dial-pairs --kind dialogue makes' in said


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_turn_has_the_vector_of_a_full_stop_however_turns_are_written(
    scripts, minilm, empty
):
    def vectors(text: str) -> list[list[float]]:
        objects = {"text": [{"text": "hello"}, {"text": text}]}
        plain = {"text": ["hello", text]}
        rows = embed(scripts, minilm, [objects, plain, {"text": text}])
        return [r["embedding"] for r in rows]

    assert vectors(empty) == vectors(".")
