"""dial-eval route: the class that each row was given, beside its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from score_files import Evaluate, score
from sklearn.metrics import f1_score

Command = Callable[..., subprocess.CompletedProcess]
ROWS = [
    ("a", "a"),
    ("a", "b"),
    ("a", "none"),
    ("b", "b"),
    ("none", "none"),
    ("none", "a"),
    ("c", None),  # nothing was given: none
]


def routed(path: Path, rows: list[tuple[Any, Any]], **more: list[Any]) -> Path:
    records = [
        {"text": f"text {i}", "label": own, "assigned": given}
        for i, (own, given) in enumerate(rows)
    ]
    for name, values in more.items():
        records = [{**row, name: value} for row, value in zip(records, values, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in records))
    return path


def test_each_score_is_a_share_of_its_own_rows(evaluate: Evaluate, tmp_path: Path):
    scores = evaluate("route", routed(tmp_path / "r.jsonl", ROWS))
    values = {record["metric"]: record["value"] for record in scores}
    truth, given = zip(*[(own, other or "none") for own, other in ROWS], strict=True)
    f1 = {
        f"{kind}-f1": 100 * f1_score(truth, given, average=kind, zero_division=0)
        for kind in ("macro", "weighted")
    }
    assert values == pytest.approx(
        {
            "accuracy": 100 * 3 / 7,
            "recall": 100 * 2 / 5,
            "precision": 100 * 2 / 4,
            "none-recall": 100 * 1 / 2,
            **f1,
        }
    )
    assert score(scores, "recall")["each"] == [1, 0, 0, 1, None, None, 0]
    assert all(s["low"] <= s["value"] <= s["high"] and s["n"] == 7 for s in scores)
    assert list(scores[0]["items"]) == ["text", "label"]


def test_names_of_no_class_are_the_same_class_and_without_any_there_is_no_recall_of_none(
    evaluate: Evaluate, tmp_path: Path
):
    rows = [("oos", "none"), ("a", "a")]
    file = routed(tmp_path / "r.jsonl", rows)
    metrics = {s["metric"]: s["value"] for s in evaluate("route", "--none", "oos,none", file)}
    assert (metrics["accuracy"], metrics["none-recall"]) == (100, 100)
    metrics = {s["metric"]: s["value"] for s in evaluate("route", file)}
    assert metrics["accuracy"] == 50 and "none-recall" not in metrics


def test_rows_of_a_dialogue_stay_together(evaluate: Evaluate, tmp_path: Path):
    rows = [("a", "a" if i < 40 else "b") for i in range(80)]
    apart = evaluate("route", routed(tmp_path / "r.jsonl", rows))[0]
    talks = [i // 20 for i in range(80)]
    together = evaluate("route", routed(tmp_path / "r.jsonl", rows, dialogue_id=talks))[0]
    assert together["groups"] == talks and "groups" not in apart
    assert together["high"] - together["low"] > apart["high"] - apart["low"]
    named = evaluate("route", "--group", "who", routed(tmp_path / "r.jsonl", rows, who=talks))[0]
    assert named["groups"] == talks


def test_what_a_router_says_is_scored_as_it_comes(command: Command, tmp_path: Path, scripts: Path):
    rows = [
        {"text": name, "label": name[0], "embedding": vector}
        for name, vector in (("a1", [1, 0]), ("a2", [1, 0.1]), ("b1", [0, 1]), ("none", [-1, -1]))
    ]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = "dialtools assign -q --none n --min-cosine 0.5 --examples e.jsonl e.jsonl"
    shell = f"set -o pipefail; {line} | dial-eval route --none n --json"
    done = ended(
        "bash", "-c", shell, cwd=tmp_path, env={"PATH": f"{scripts}:/usr/bin:/bin"}, text=True
    )
    assert {json.loads(row)["value"] for row in done.stdout.splitlines()} == {100}


def test_notes_say_which_rows_do_not_count_and_what_nobody_was_given(
    command: Command, tmp_path: Path
):
    rows = [("a", "a"), (None, "a"), ("", "a"), ("b", "a"), ("b", "none")]
    done = command("route", routed(tmp_path / "r.jsonl", rows), "--json")
    assert "2 rows without a label left out" in done.stderr
    assert "no row was given b, which 2 rows should have been" in done.stderr
    assert json.loads(done.stdout.splitlines()[0])["n"] == 3
    typo = command("route", "--none", "none,nope", routed(tmp_path / "q.jsonl", rows)).stderr
    assert "--none nope: no row has it" in typo


def test_numbers_are_classes_and_what_is_no_number_is_unknown(command: Command, tmp_path: Path):
    own, given = [1.0, -1.0, np.nan, 1.0], [1.0, -1.0, 1.0, np.nan]
    pq.write_table(pa.table({"label": own, "assigned": given}), tmp_path / "r.parquet")
    done = command("route", "--none", "-1", tmp_path / "r.parquet", "--json")
    assert "--none" not in done.stderr and "1 row without a label left out" in done.stderr
    metrics = {r["metric"]: r["value"] for r in map(json.loads, done.stdout.splitlines())}
    assert (metrics["recall"], metrics["precision"], metrics["none-recall"]) == (50, 100, 100)


@pytest.mark.parametrize(
    ("rows", "flags", "message"),
    [
        ([("a", "a")], ["--assigned", "answer"], "no column 'answer'; there are"),
        ([("a", "a")], ["--assigned", "assign"], "did you mean"),
        ([("a", "a")], ["--label", "zzz"], "--label names it"),
        ([(None, "a")], [], "no row has a label"),
        ([("a", ["b"])], [], "r.jsonl:1: assigned: expected a string, got a list"),
        ([("a", "a")], ["--group", "who"], "no column 'who'; there are"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    command: Command, tmp_path: Path, rows: list[tuple[Any, Any]], flags: list[str], message: str
):
    done = command("route", routed(tmp_path / "r.jsonl", rows), *flags, code=1)
    assert message in done.stderr and not done.stdout


def test_precisions_over_other_rows_are_compared_by_resampling(command: Command, tmp_path: Path):
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 2, 400)
    bold = [(str(t), str(t if draw.random() < 0.6 else 1 - t)) for t in truth]
    careful = [
        (own, given if draw.random() < 0.4 or own == given else "none") for own, given in bold
    ]
    files = []
    for name, rows in (("bold", bold), ("careful", careful)):
        (tmp_path / name).mkdir()
        file = routed(tmp_path / name / "r.jsonl", rows)
        files.append(tmp_path / f"{name}.jsonl")
        command("route", "--name", "r", file, "-o", files[-1])
    records = [
        json.loads(x) for x in command("compare", *files, "--to", "jsonl").stdout.splitlines()
    ]
    found = {record["metric"]: record for record in records}
    assert found["precision"]["test"] == "bootstrap" and found["precision"]["p"] < 0.01
    assert found["recall"]["test"] == "permutation" and found["recall"]["difference"] == 0
