"""dialtools merge --choose-on: the rule, and that scores are those of dial-eval."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended
from pair_corpus import Train, weights

from dialtools.merge.choose import Candidate, best, candidates

Run = Callable[..., subprocess.CompletedProcess]
CPU = shlex.split("--threads 1 --device cpu")


def test_the_grid_is_tried_with_the_start_as_it_is_first():
    assert candidates((0.5, 0), 2) == [(0, 0), (0, 0.5), (0.5, 0), (0.5, 0.5)]
    assert candidates((1,), 2) == [(0, 0), (1, 1)]


def test_the_highest_mean_gain_over_the_files_is_taken_and_of_equals_the_smaller_weights():
    start = Candidate((0, 0), {"p": 20.0, "i": 70.0})
    one_sided = Candidate((1, 1), {"p": 29.0, "i": 64.0})  # +3 / 2
    both = Candidate((0.5, 0.5), {"p": 23.0, "i": 71.0})  # +4 / 2
    equal = Candidate((0.5, 1), {"p": 24.0, "i": 70.0})
    assert best([start, one_sided, equal, both]) is both
    assert best([start, one_sided]) is one_sided
    assert best([start, Candidate((1, 0), {"p": 20.0, "i": 70.0})]) is start
    sides = [Candidate(w, {"p": 21.0, "i": 70.0}) for w in ((0.5, 1), (1, 0.5))]
    assert best([start, *sides]).weights == (1, 0.5)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    texts = {"eat": "a {} restaurant", "when": "on {} please", "book": "a table for {} is booked"}
    rows = [
        {"text": text.format(word), "label": label, "split": split}
        for split, words in (
            ("train", ("thai", "monday", "two", "greek", "six")),
            ("test", ("sushi", "friday")),
        )
        for word in words
        for label, text in texts.items()
    ]
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def run(scripts: Path, environment: dict[str, str]) -> Run:
    """Run a command by its name."""

    def run(name: str, *words: object) -> subprocess.CompletedProcess:
        return ended(scripts / name, *words, text=True, env=environment, timeout=600)

    return run


def test_weights_are_chosen_by_the_scores_that_dial_eval_gives_and_all_are_told(
    train: Train, model: Path, pairs: Path, labelled: Path, run: Run, tmp_path: Path
):
    tune = shlex.split("--batch-size 32 --lr 1e-3 --max-steps 20 --no-center")
    a, out = tmp_path / "a", tmp_path / "chosen"
    train("--model", model, *CPU, *tune, "-o", a, pairs, small=False)
    chosen = ("--choose-on", f"{pairs},{labelled}", "--grid", "0.5,1", "-o", out)
    told = run("dialtools", "merge", model, a, *chosen, *CPU).stderr
    rows = [json.loads(x) for x in (out / "merge-candidates.jsonl").read_text().splitlines()]
    assert "3 candidates, each embeds 960 of" in told
    assert [row["weights"][0]["weight"] for row in rows] == [0, 0.5, 1]
    assert rows[0]["gain"] == 0
    (best_row,) = [row for row in rows if row["chosen"]]
    assert best_row["gain"] == max(row["gain"] for row in rows)
    (weight,) = [part["weight"] for part in best_row["weights"]]
    assert json.loads((out / "dialtools.json").read_text())["parents"][1]["weight"] == weight
    if weight == 1:
        assert weights(out) == weights(a)

    for name, file in (("p", pairs), ("l", labelled)):
        run("dial-embed", "--model", a, file, "-o", tmp_path / f"{name}.parquet", *CPU)
    selected = run("dial-eval", "select", "--json", tmp_path / "p.parquet").stdout
    intents = run("dial-eval", "intent", "--json", tmp_path / "l.parquet").stdout
    top_1 = [s["value"] for s in map(json.loads, selected.splitlines()) if s["metric"] == "top-1"]
    shots = [s["value"] for s in map(json.loads, intents.splitlines())]
    expected = {str(pairs): top_1[0], str(labelled): sum(shots) / len(shots)}
    assert rows[-1]["scores"] == pytest.approx(expected)
    assert {path.name for path in out.iterdir()} >= {"model.safetensors", "modules.json"}
    assert not (out / ".candidate").exists()


def test_ctrl_c_while_candidates_are_scored_leaves_nothing(
    model: Path, pairs: Path, train: Train, scripts: Path, environment, tmp_path: Path
):
    a, home = tmp_path / "a", tmp_path / "home"
    train("--model", model, *CPU, "--max-steps", 1, "-o", a, pairs, small=False)
    home.mkdir()
    grid = ",".join(str(step / 99) for step in range(100))
    line = [scripts / "dialtools", "merge", model, a, "--choose-on", pairs, "--grid", grid, *CPU]
    line += ["-o", home / "m"]
    process = subprocess.Popen(
        list(map(str, line)), stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    deadline = time.monotonic() + 300
    while not list(home.glob(".m.*/.candidate/model.safetensors")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT
    assert not list(home.iterdir())
