"""Rows to learn from, to choose on and to be tested on: every task cuts files in one way."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from score_files import Evaluate, Record, Toy, write

Command = Callable[..., subprocess.CompletedProcess]
SPLITS = {"train": 0, "val": 1, "test": 2}
NAMED = ("--train-split", "train", "--validation-split", "val", "--test-split", "test")
QUICK = ("--lr", "0.1", "--weight-decay", "0", "--epochs", 5)
FEW = ("--shots", 2, "--runs", 2)

TASKS = {
    "intent": (*FEW, *NAMED[:2], *NAMED[4:]),
    "oos": (*FEW, *NAMED),
    "act": (*QUICK, *NAMED),
    "infer": (*QUICK, *NAMED),
    "retrieve": ("--part", "test"),
    "sts": ("--part", "test"),
}


def rows() -> list[Record]:
    return [
        {
            "text": f"{name} of {i}",
            "label": ("book", "oos")[i % 2],
            "labels": [("inform", "offer")[i % 2]],
            "score": i % 5,
            "split": name,
        }
        for name in SPLITS
        for i in range(12)
    ]


def files(folder: Path, task: str) -> tuple[Path, Path]:
    """The same rows, their splits named by words and by numbers."""
    draw = np.random.default_rng(0)
    sides = ("text1_embedding", "text2_embedding") if task == "sts" else ("embedding",)
    vectors = {side: draw.normal(size=(len(rows()), 4)) for side in sides}
    numbered = [row | {"split": SPLITS[row["split"]]} for row in rows()]
    return (
        write(folder / "words.jsonl", rows(), **vectors),
        write(folder / "numbers.jsonl", numbered, **vectors),
    )


@pytest.mark.parametrize("task", TASKS)
def test_a_split_column_of_numbers_is_read_as_one_of_words(
    evaluate: Evaluate, tmp_path: Path, task: str
):
    words, numbers = files(tmp_path, task)
    flags = [SPLITS.get(word, word) for word in TASKS[task]]
    by_word = evaluate(task, words, *TASKS[task], "--name", "same")
    by_number = evaluate(task, numbers, *flags, "--name", "same")
    told = [(record["metric"], record["value"], record["n"]) for record in by_number]
    assert told and told == [(r["metric"], r["value"], r["n"]) for r in by_word]


@pytest.mark.parametrize("task", ["intent", "oos", "infer", "retrieve"])
def test_numbers_of_classes_are_read_alike_from_a_column_with_gaps(
    evaluate: Evaluate, tmp_path: Path, task: str
):
    """Whole numbers are floats there: pandas writes 1.0 for the 1 of another file."""
    vectors = np.random.default_rng(0).normal(size=(len(rows()), 4))
    records = [row | {"label": int(row["label"] == "oos")} for row in rows()]
    mixed = [
        row | {"label": float(row["label"]) if row["split"] == "train" or i % 3 else row["label"]}
        for i, row in enumerate(records)
    ]
    flags = (*TASKS[task], *(("--oos-label", "1") if task == "oos" else ()), "--name", "same")
    flags = (*flags, *(("--lists", "nearest", "-k", 3) if task == "retrieve" else ()))
    whole, gaps = (
        [
            (record["metric"], record["value"], record["n"])
            for record in evaluate(task, write(tmp_path / name, table, embedding=vectors), *flags)
        ]
        for name, table in (("whole.jsonl", records), ("gaps.jsonl", mixed))
    )
    assert whole and whole == gaps


@pytest.mark.parametrize("task", [name for name in TASKS if name not in ("retrieve", "sts")])
@pytest.mark.parametrize("flag", ["--train-split", "--validation-split", "--test-split"])
def test_a_split_that_is_not_there_is_said_alike_by_every_task(
    command: Command, tmp_path: Path, task: str, flag: str
):
    words, _ = files(tmp_path, task)
    if (task, flag) == ("intent", "--validation-split"):
        flag = "--sweep-compress=0.5,1 --validation-split"
    said = command(task, words, *flag.split(), "vla", code=1).stderr
    assert "no row has split = 'vla'; there are train, val, test" in said
    assert "did you mean val?" in said


def test_a_share_of_each_label_is_tested_whatever_its_split(
    evaluate: Evaluate, command: Command, toy: Toy, tmp_path: Path
):
    rows = [row | {"text": f"text {i}"} for i, row in enumerate(toy.rows("train"))]
    file = write(tmp_path / "all.jsonl", rows, embedding=toy.vectors["train"])
    ask = ("intent", "--test-share", 0.25, "--shots", 1, "--runs", 1)
    (found,) = evaluate(*ask, file)
    assert found["n"] == 15 and found["data"]["train"]["rows"] == 45
    assert found["data"]["test"]["smallest"] == found["data"]["test"]["largest"] == 3
    assert (
        "--test-share has no meaning beside --train"
        in command(*ask, "--train", file, "--test", file, code=2).stderr
    )


def test_what_is_made_from_tested_texts_is_neither_tested_nor_learnt_from(
    evaluate: Evaluate, command: Command, tmp_path: Path
):
    made = [row | {"synthetic": True} for row in rows()]
    vectors = np.random.default_rng(0).normal(size=(2 * len(made), 4))
    file = write(tmp_path / "made.jsonl", [*rows(), *made], embedding=vectors)
    ask = ("--test-share", 0.25, "--shots", 1, "--runs", 1, file)
    for task in ("intent", "oos"):
        data = evaluate(task, *ask)[0]["data"]
        assert (data["train"]["rows"], data["test"]["rows"]) == (28, 8)
        said = command(task, "--synthetic", *ask, code=2).stderr
        assert "--synthetic has no meaning beside --test-share" in said


@pytest.mark.parametrize("task", ["intent", "oos"])
def test_made_rows_of_the_training_split_are_learnt_from_on_request(
    evaluate: Evaluate, tmp_path: Path, task: str
):
    made = [row | {"synthetic": True} for row in rows() if row["split"] == "train"]
    vectors = np.random.default_rng(0).normal(size=(len(rows()) + len(made), 4))
    file = write(tmp_path / "made.jsonl", [*rows(), *made], embedding=vectors)
    ask = (task, "--shots", 1, "--runs", 1, file)
    learnt = [evaluate(*ask, *flag)[0]["data"]["train"]["rows"] for flag in ((), ("--synthetic",))]
    assert learnt == [len(made), 2 * len(made)]


def test_an_export_that_exists_is_refused_before_any_run(command: Command, tmp_path: Path):
    words, _ = files(tmp_path, "intent")
    kept = tmp_path / "episodes.json"
    kept.write_text("mine")
    refused = command(
        "intent", tmp_path / "no such file", "--save-episodes", kept, *FEW, code=1
    ).stderr
    assert "episodes.json: exists already" in refused
    assert kept.read_text() == "mine"
    command("intent", words, *FEW, "--save-episodes", kept, "--overwrite")
    assert list(json.loads(kept.read_text())["shots"]) == ["2"]
    assert not list(tmp_path.glob(".*.tmp")), "it is written aside and renamed"
