"""`--kind texts`: a question and its answer, or two other texts that belong together, a record."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended

ROWS = [
    {"id": 1, "question": "where is it?", "answer": "over there"},
    {"id": 2, "question": " ", "answer": "of nothing"},
    {"id": 3, "question": "When; and how", "answer": "soon"},
]
PAIRS = [("where is it?", "over there", "1"), ("When; and how", "soon", "3")]
Pairs = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def pairs(scripts: Path, tmp_path: Path) -> Pairs:
    def run(*words: str) -> subprocess.CompletedProcess:
        line = [scripts / "dial-pairs", "--kind", "texts", *words]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)

    return run


def read(done: subprocess.CompletedProcess) -> list[tuple[str, str, str | None]]:
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(row["kind"] == "texts" and len(row["context"]) == 1 for row in rows)
    return [(row["context"][0], row["response"], row.get("dialogue_id")) for row in rows]


def test_texts_are_of_the_dialogue_that_their_record_names_beside_its_own_id(
    pairs: Pairs, tmp_path
):
    rows = [row | {"dialogue_id": f"d{row['id']}"} for row in ROWS]
    del rows[2]["id"]
    (tmp_path / "faq.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert [name for *_, name in read(pairs("faq.jsonl"))] == ["d1", "d3"]


@pytest.mark.parametrize("name", ["faq.jsonl", "faq.csv", "faq.parquet"])
def test_the_two_texts_of_a_record_are_a_pair_whatever_holds_them(
    pairs: Pairs, tmp_path: Path, name: str
):
    lines = [f'{row["id"]};"{row["question"]}";{row["answer"]}' for row in ROWS]
    written = {
        "faq.jsonl": "\n".join(map(json.dumps, ROWS)),
        "faq.csv": "\n".join(["id;question;answer", *lines]),
    }
    if name in written:
        (tmp_path / name).write_text(written[name])
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / name)
    done = pairs(name)
    assert read(done) == PAIRS
    assert "2 pairs from 3 records; dropped 1 empty" in done.stderr
    assert pairs("-q", "-j", "2", name).stdout == done.stdout
    turned = pairs("--texts", "answer,question", name)
    assert read(turned) == [(response, context, name) for context, response, name in PAIRS]


@pytest.mark.parametrize(
    "names",
    [
        ("anchor", "positive"),
        ("prompt", "completion"),
        ("query", "response"),
        ("sentence1", "sentence2"),
        ("title", "body"),
    ],
)
def test_what_sets_call_the_two_is_known_and_any_names_can_be_given(
    pairs: Pairs, tmp_path: Path, names: tuple[str, str]
):
    (tmp_path / "x.jsonl").write_text(json.dumps(dict(zip(names, ("a", "b"), strict=True))))
    named = ("--texts", ",".join(names)) if "title" in names else ()
    assert read(pairs(*named, "x.jsonl")) == [("a", "b", None)]


def test_the_input_of_an_instruction_stands_below_it_unless_the_two_are_named(
    pairs: Pairs, tmp_path: Path
):
    rows = [{"instruction": "Translate", "input": about, "output": "oui"} for about in ("yes", "")]
    (tmp_path / "alpaca.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "alpaca.parquet")
    for name in ("alpaca.jsonl", "alpaca.parquet"):
        asked = [context for context, *_ in read(pairs(name))]
        assert asked == ["Translate\nyes", "Translate"]
        named = read(pairs("--texts", "instruction,output", name))
        assert [context for context, *_ in named] == ["Translate", "Translate"]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"question": "a"}, 'x.jsonl:1: no "anchor": expected two texts that belong together'),
        ({"anchor": "a", "b": 1}, "which --texts names; there are anchor, b"),
        ({"anchor": "a", "positive": ["b"]}, "x.jsonl:1: positive: expected a string"),
    ],
)
def test_a_record_without_the_two_is_told_and_can_be_skipped(
    pairs: Pairs, tmp_path: Path, record: dict, told: str
):
    good = {"anchor": "c", "positive": "d"}
    if "question" in record:
        told = told.replace('"anchor"', '"positive"')
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(record)}\n{json.dumps(good)}\n")
    done = pairs("x.jsonl")
    assert done.returncode == 1 and told in done.stderr, done.stderr
    skipped = pairs("--on-error", "skip", "x.jsonl")
    assert skipped.returncode == 3 and json.loads(skipped.stdout)["response"] == "d"


@pytest.mark.parametrize("kind", ["texts", "same-label"])
def test_a_text_or_label_of_null_is_an_empty_one_in_json_and_in_a_table(
    pairs: Pairs, tmp_path: Path, kind: str
):
    rows = [{"text": text, "label": "x"} for text in ("a", "b", None)]
    rows.append({"text": "c", "label": None})
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    for name in ("x.jsonl", "x.parquet"):
        done = pairs("--kind", kind, "--texts", "text,label", name)
        assert done.returncode == 0 and "dropped 2" in done.stderr, done.stderr
    done = pairs("--kind", kind, "--texts", "text,labl", "x.parquet")
    assert 'x.parquet: no "labl"' in done.stderr and "there are text, label" in done.stderr


def test_two_texts_are_named_for_their_kind_alone_and_are_no_dialogue(
    scripts: Path, pairs: Pairs, tmp_path: Path
):
    (tmp_path / "faq.jsonl").write_text(json.dumps(ROWS[0]))
    run = ended(scripts / "dial-pairs", tmp_path / "faq.jsonl", code=1)
    assert b"--kind texts pairs them" in run.stderr
    (tmp_path / "faq.csv").write_text("question,answer\na,b\n")
    run = ended(scripts / "dial-pairs", tmp_path / "faq.csv", code=1)
    assert b"--kind texts pairs two texts a row" in run.stderr
    line = [scripts / "dial-pairs", "--texts", "a,b", tmp_path / "faq.jsonl"]
    run = subprocess.run(line, capture_output=True)
    assert (run.returncode, run.stderr) == (
        2,
        b"dial-pairs: --texts goes with --kind texts or same-label\n",
    )
    for flags in ("--window 2", "--follow 1", "--speaker x", "--domain", "--min-turns 2"):
        assert pairs(*flags.split(), "faq.jsonl").returncode == 2, flags


@pytest.mark.parametrize("kind", ["texts", "triple"])
def test_without_a_file_texts_come_from_stdin(scripts: Path, kind: str):
    record = {"anchor": "a", "positive": "b", "negative": "c"}
    line = [scripts / "dial-pairs", "-q", "--kind", kind]
    run = subprocess.run(line, input=json.dumps(record), capture_output=True, text=True)
    pair = json.loads(run.stdout)
    assert (pair["context"], pair["response"]) == (["a"], "b")
    assert pair.get("negatives") == (["c"] if kind == "triple" else None)


def test_pairs_of_two_texts_are_trained_on(pairs: Pairs, scripts: Path, tmp_path: Path):
    (tmp_path / "faq.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    assert pairs("-q", "faq.jsonl", "-o", "pairs.arrow").returncode == 0
    line = [scripts / "dial-train", "-q", "--max-steps", "1", "-o", "model", "pairs.arrow"]
    subprocess.run(line, check=True, cwd=tmp_path)
    assert (tmp_path / "model" / "model.safetensors").exists()
