"""What tasks with training rows tell of their rows: how many, how even, which were seen before."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from score_files import Evaluate, Record, score, write

Command = Callable[..., subprocess.CompletedProcess]
QUICK = ("--lr", "0.1", "--weight-decay", "0", "--epochs", 5)
FEW = ("--shots", 1, "--runs", 2)
TASKS = {"intent": FEW, "oos": FEW, "act": QUICK, "infer": QUICK}
METRICS = {"intent": "accuracy", "oos": "accuracy", "act": "samples-f1", "infer": "accuracy"}
LABELS = {"train": "aaabb-", "val": "ab-a", "test": "b-a"}


def rows() -> list[Record]:
    """Six rows to learn from, the first of which is asked again in other letters; three to test."""
    told = [
        {"text": f"{split} {i}", "label": label.replace("-", "oos"), "split": split}
        for split, labels in LABELS.items()
        for i, label in enumerate(labels)
    ]
    told[-1]["text"] = "Train: 0!"
    return [row | {"labels": [row["label"]]} for row in told]


def vectors(told: list[Record]) -> np.ndarray:
    place = {"a": 0, "b": 1, "oos": 2}
    return np.eye(3)[[place[row["label"]] for row in told]]


@pytest.mark.parametrize("task", TASKS)
def test_rows_to_learn_from_and_to_test_are_counted_apart_and_repeated_ones_told(
    command: Command, evaluate: Evaluate, tmp_path: Path, task: str
):
    path = write(tmp_path / "f.jsonl", rows(), embedding=vectors(rows()))
    done = command(task, path, *TASKS[task], "--seed", 7, "--each")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for record in found:
        data = record["data"]
        train, test = ({**data[part], "items": 0} for part in ("train", "test"))
        assert train == {
            **{"rows": 6, "classes": 3, "smallest": 1, "largest": 3, "majority": 50, "items": 0}
        }
        assert test == train | {"rows": 3, "largest": 1, "majority": 33.33}
        assert data["train"]["items"] != data["test"]["items"]
        assert data["leakage"] == {"field": "text", "exact": 0, "normalised": 1}
        facts = [record[name] for name in ("task", "dataset", "seed", "n", "runs")]
        assert facts == [task, str(path), 7, 3, 2 if TASKS[task] is FEW else 1]
        assert {"text"} < record["items"].keys()
    setting = {"oos": "1-shot mean"}.get(task)
    one = score(found, METRICS[task], setting)
    assert one["unleaked"] == pytest.approx(100 * np.mean(one["each"][:2])), "the third is known"
    assert done.stderr.endswith(
        "3 classes, 1 to 3 training rows each; 1 of 3 test rows occur in training "
        "(0 letter by letter); `unleaked` is the score without them\n"
    )
    assert {r["dataset"] for r in evaluate(task, path, *TASKS[task], "--name", "n")} == {"n"}


@pytest.mark.parametrize("task", ["intent", "oos"])
def test_the_episodes_that_were_drawn_are_written(evaluate: Evaluate, tmp_path: Path, task: str):
    path = write(tmp_path / "f.jsonl", rows(), embedding=vectors(rows()))
    drawn = evaluate(task, path, *FEW, "--save-episodes", tmp_path / "e.json")
    written = json.loads((tmp_path / "e.json").read_text())["shots"]["1"]
    assert [len(run["train_idx"]) for run in written] == [3, 3]
    given = evaluate(task, path, "--shots", 1, "--episodes", tmp_path / "e.json")
    assert [record["values"] for record in given] == [record["values"] for record in drawn]


@pytest.mark.parametrize("split", LABELS)
def test_some_rows_of_every_part_are_out_of_scope_and_some_are_not(
    command: Command, tmp_path: Path, split: str
):
    name = {"train": "training", "val": "validation"}.get(split, split)
    for label, says in (("a", f"no {name} row is labelled 'oos'"), ("oos", f"every {name} row is")):
        told = [row | {"label": label} if row["split"] == split else row for row in rows()]
        path = write(tmp_path / "f.jsonl", told, embedding=vectors(told))
        assert says in command("oos", path, *FEW, code=1).stderr


@pytest.mark.parametrize(("task", "metric"), [("intent", "accuracy"), ("infer", "majority")])
def test_of_classes_that_are_alike_the_first_by_name_is_told(
    evaluate: Evaluate, tmp_path: Path, task: str, metric: str
):
    told = [{"label": label, "split": split} for split in LABELS for label in "hgfedcba"]
    told = [row | {"label": "a"} if row["split"] == "test" else row for row in told]
    path = write(tmp_path / "f.jsonl", told, embedding=np.ones((24, 2)))
    assert score(evaluate(task, path, *TASKS[task]), metric)["value"] == 100


def test_out_of_scope_is_the_last_of_classes_that_are_alike(evaluate: Evaluate, tmp_path: Path):
    """All rows tie, and what is in scope comes first; no score is above their mean."""
    told = [{"label": label, "split": split} for split in LABELS for label in ["oos", *"hgfedcba"]]
    path = write(tmp_path / "f.jsonl", told, embedding=np.ones((27, 2)))
    found = evaluate("oos", path, "--shots", 1, "--runs", 1)
    assert score(found, "oos-recall", "1-shot mean")["value"] == 100
    assert score(found, "in-accuracy", "1-shot mean")["value"] == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("intent --shots 1 --without nosuch", "--without nosuch: no row has that label"),
        (
            "intent --method logreg --shots 2,4",
            "4-shot: of classes with fewer rows all are examples",
        ),
        ("intent --method knn --k 1,99", "--k 99: there are 6 training rows"),
        ("intent --method knn --k 5 --without a", "--k 5: there are 3 training rows"),
        ("retrieve --lists nearest --k 2,500", "--k 500: there are 3 rows"),
        *(
            (f"cluster {ask} --without nosuch", "--without nosuch: no row has that label")
            for ask in ("--split none", "--protocol induce", "--protocol mteb --runs 1")
        ),
    ],
)
def test_what_is_asked_for_and_no_row_has_is_told(
    command: Command, tmp_path: Path, line: str, says: str
):
    path = write(tmp_path / "f.jsonl", rows(), embedding=vectors(rows()))
    assert says in command(*line.split(), path).stderr


def test_test_rows_in_scope_of_which_nothing_is_learnt_are_told(command: Command, tmp_path: Path):
    told = rows()
    told[-1]["label"] = "new"
    path = write(tmp_path / "f.jsonl", told, embedding=vectors(rows()))
    said = command("oos", path, *FEW).stderr
    assert "1 of 3 test rows are of classes without training rows (new)" in said


def test_vectors_of_zeros_are_told(command: Command, tmp_path: Path):
    blank = vectors(rows())
    blank[[0, -1]] = 0
    path = write(tmp_path / "f.jsonl", rows(), embedding=blank)
    done = command("intent", path, *FEW)
    assert "2 vectors of zeros, which may get any class" in done.stderr
    data = json.loads(done.stdout.splitlines()[0])["data"]
    assert data["train"]["zeros"] == data["test"]["zeros"] == 1


def test_classes_that_case_and_blanks_alone_tell_apart_are_told(command: Command, tmp_path: Path):
    slips = rows()
    slips[0]["label"] = f" {slips[0]['label'].upper()}"
    path = write(tmp_path / "f.jsonl", slips, embedding=vectors(rows()))
    done = command("intent", path, *FEW)
    assert "case or blanks alone tell classes apart: ' A' and 'a'\n" in done.stderr
    assert json.loads(done.stdout.splitlines()[0])["data"]["train"]["alike"] == [[" A", "a"]]
    path = write(tmp_path / "f.jsonl", rows(), embedding=vectors(rows()))
    assert "alone tell" not in command("intent", path, *FEW).stderr


def test_a_label_that_pandas_has_as_nan_is_none(command: Command, tmp_path: Path):
    told = rows()
    path = write(tmp_path / "f.jsonl", told, embedding=vectors(told))
    labels = [float("nan") if row is told[0] else 1.0 * (row["label"] == "a") for row in told]
    table = pa.Table.from_pylist([json.loads(line) for line in path.open()])
    place = table.schema.get_field_index("label")
    pq.write_table(table.set_column(place, "label", pa.array(labels)), tmp_path / "f.parquet")
    for task in ("intent", "infer"):
        said = command(task, tmp_path / "f.parquet", *TASKS[task], code=1).stderr
        assert "row 1 has no label" in said
