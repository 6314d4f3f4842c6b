"""dial-eval entail: NLI triplets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from score_files import Evaluate, Record, score, write

from dialtools.metrics import counts
from dialtools.metrics.resample import over_items

Command = Callable[..., subprocess.CompletedProcess]
ANGLES = {
    "anchor": [0, 0, 0, 0],
    "entailment": [10, 50, 30, 90],
    "contradiction": [20, 40, 30, -80],
}


def at(degrees: list[float]) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return (
        np.stack([np.cos(angles), np.sin(angles)], 1) * 3
    )  # not of unit length: the command must see to that


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    rows = [{"anchor": name} for name in ("one", "two", "three", "one")]
    return write(
        tmp_path / "t.jsonl", rows, **{f"{name}_embedding": at(own) for name, own in ANGLES.items()}
    )


def test_only_a_strictly_larger_cosine_is_right_and_ties_are_told(command: Command, triplets: Path):
    done = command("entail", triplets, "--json")
    record = json.loads(done.stdout)
    assert (record["value"], record["n"]) == (25, 4)  # right, wrong, tie, wrong
    assert record["data"] == {"anchors": 3, "triplets": 4, "dropped": 0, "ties": 1}
    assert "1 tie counted as wrong" in done.stderr
    assert record["each"] == {"right": [1, 0, 0], "of": [2, 1, 1]}, (
        "an anchor's triplets stay together"
    )
    assert record["low"] <= 25 <= record["high"]


@pytest.mark.parametrize(
    ("flag", "value"), [("--label", "is"), ("--labels", "0,2"), ("--triplets", "first")]
)
def test_what_pairs_are_read_by_has_no_meaning_for_triplets(
    command: Command, triplets: Path, flag: str, value: str
):
    said = command("entail", flag, value, triplets, code=2).stderr
    assert f"{flag} is of labelled pairs; these are triplets" in said


def test_the_interval_is_over_anchors_drawn_by_the_seed(evaluate: Evaluate, triplets: Path):
    share = counts.ratio(np.array([1, 0, 0]), np.array([2, 1, 1]))
    for seed in (0, 5):
        (found,) = evaluate("entail", triplets, "--seed", seed, "--name", "mine")
        expected = over_items(share, 3, seed=seed)
        value, low, high = (100 * x for x in expected)
        assert (found["value"], found["low"], found["high"]) == (value, max(low, 0), min(high, 100))
        facts = [found[name] for name in ("task", "dataset", "setting", "metric", "runs", "seed")]
        assert facts == ["entail", "mine", "", "accuracy", 1, seed] and "std" not in found
    assert list(found["items"]) == ["anchor"]
    assert evaluate("entail", triplets)[0]["dataset"] == str(triplets)


NLI = [
    ("p", "entailment", 10),
    ("p", "entailment", 50),
    ("p", "contradiction", 40),
    ("p", "neutral", 0),
    ("q", "contradiction", 10),
    ("p", "contradiction", 5),
    ("r", "entailment", 70),
    ("r", "contradiction", 80),
    ("r", "-", 1),
]


def pairs(path: Path, rows: list[tuple[str, str, float]], **more: object) -> Path:
    made: list[Record] = [{"premise": p, "label": label, **more} for p, label, _ in rows]
    return write(
        path,
        made,
        premise_embedding=at([0] * len(rows)),
        hypothesis_embedding=at([a for *_, a in rows]),
    )


def test_labelled_pairs_make_the_triplets_of_each_premise(
    evaluate: Evaluate, command: Command, tmp_path: Path
):
    path = pairs(tmp_path / "nli.jsonl", NLI)
    every = score(evaluate("entail", path), "accuracy")
    # p: 10 and 50 against 40 and 5: 1 of 4; r: 70 against 80: 1 of 1; q has no entailment
    assert every["value"] == pytest.approx(100 * 2 / 5) and every["data"]["dropped"] == 1
    first = score(evaluate("entail", "--triplets", "first", path), "accuracy")
    assert first["value"] == 100 and first["data"]["triplets"] == 2
    assert "1 anchor without both sides left out" in command("entail", path).stderr


def test_other_columns_and_labels_can_be_named(
    evaluate: Evaluate, command: Command, tmp_path: Path
):
    numbers = {"entailment": 0, "neutral": 1, "contradiction": 2, "-": -1}
    rows = [{"gold": numbers[label], "a": p} for p, label, _ in NLI]
    path = write(
        tmp_path / "n.jsonl",
        rows,
        a_embedding=at([0] * len(rows)),
        b_embedding=at([x for *_, x in NLI]),
        c_embedding=at([1] * len(rows)),
    )
    found = score(
        evaluate("entail", "--texts", "a,b", "--label", "gold", "--labels", "0,2", path), "accuracy"
    )
    assert found["value"] == pytest.approx(40)
    assert "has vectors of 3 texts" in command("entail", path, code=1).stderr
    said = command("entail", "--labels", "0", path, code=2).stderr
    assert "--labels: '0': expected two names that differ" in said
    none = command("entail", "--texts", "a,b", "--label", "gold", path, code=1).stderr
    assert "rows: no anchor has both" in none and "--labels names the labels" in none


def test_parts_are_scored_apart(evaluate: Evaluate, tmp_path: Path):
    path = pairs(tmp_path / "dev.jsonl", NLI, split="dev")
    both = tmp_path / "both.jsonl"
    both.write_text(
        path.read_text() + pairs(tmp_path / "test.jsonl", NLI[:3], split="test").read_text()
    )
    assert {r["setting"]: r["n"] for r in evaluate("entail", both)} == {"dev": 5, "test": 2}
    assert [r["n"] for r in evaluate("entail", "--part", "test", both)] == [2]


@pytest.mark.shared
@pytest.mark.slow
def test_minilm_orders_most_triplets_of_snli(
    command: Command, scripts: Path, published, minilm: str, tmp_path: Path
):
    rows = [row for row in published("snli") if row["split"] == "test"][:300]
    (tmp_path / "snli.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("entail", tmp_path / "snli.parquet", code=1)
    assert "snli.parquet" in done.stderr
    line = [scripts / "dial-embed", "-q", "--model", minilm, tmp_path / "snli.jsonl", "-o"]
    subprocess.run([*line, tmp_path / "snli.parquet"], check=True)
    record = json.loads(command("entail", tmp_path / "snli.parquet", "--json").stdout)
    assert 85 < record["value"] < 100 and record["n"] > 60
