"""Snapshots of a run, and the curve of their scores."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from at_work import ended
from pair_corpus import Train, weights

from dialtools.streams.job_files import add_piece

RUN = shlex.split(
    "--batch-size 32 --max-steps 12 --lr 1e-3 --snapshot-every 5 --checkpoint-every 4"
)
Curve = Callable[..., subprocess.CompletedProcess]


def names(model: Path) -> list[str]:
    return sorted(path.name for path in (model / "snapshots").iterdir())


@pytest.fixture(scope="module")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshots") / "model"
    train(*RUN, "-o", path, pairs)
    return path


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three intents, with other names for its fields than the usual ones."""
    texts = {"eat": "a {} restaurant", "when": "on {} please", "book": "a table for {} is booked"}
    rows = [
        {"text": text.format(word), "intent": label, "part": part}
        for part, words in (
            ("train", ("thai", "monday", "two", "greek")),
            ("dev", ("sushi", "friday")),
        )
        for word in words
        for label, text in texts.items()
    ]
    path = tmp_path_factory.mktemp("labelled") / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def curve(scripts: Path, environment: dict[str, str]) -> Curve:
    def run(*arguments: object, task: str = "curve", code: int = 0) -> subprocess.CompletedProcess:
        line = [str(scripts / "dial-eval"), task, *map(str, arguments)]
        return ended(*line, code=code, text=True, env=environment, timeout=900)

    return run


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_start_every_fifth_step_and_the_end_are_kept_as_models(model: Path):
    assert names(model) == ["step-000000", "step-000005", "step-000010", "step-000012"]
    kept = [weights(model / "snapshots" / name) for name in names(model)]
    assert len(set(kept)) == 4
    assert kept[-1] == weights(model)
    about = json.loads((model / "snapshots" / "step-000005" / "dialtools.json").read_text())
    assert about["counts"]["steps"] == 5


def test_a_snapshot_tells_no_score_of_another_step(train: Train, pairs: Path, tmp_path: Path):
    measured = ("--validation-share", 0.4, "--validate-every", 3)
    train(*RUN, *measured, "-o", tmp_path / "m", pairs)
    snapshots = [tmp_path / "m" / "snapshots" / name for name in names(tmp_path / "m")]
    told = [json.loads((path / "dialtools.json").read_text())["final"] for path in snapshots]
    assert ["top-1" in final for final in told] == [False, False, False, True]


def test_epoch_keeps_one_an_epoch(train: Train, pairs: Path, tmp_path: Path):
    train(
        "--batch-size", 240, "--epochs", 2, "--snapshot-every", "epoch", "-o", tmp_path / "m", pairs
    )
    assert names(tmp_path / "m") == ["step-000000", "step-000002", "step-000004"]


TASK = shlex.split(
    "--shots 1,2 --runs 3 --label intent --split part --test-split dev --without book"
)
OPTIONS = [*TASK, "--device", "cpu", "--threads", "1"]
SELECT = ("--candidates", 40, "--select")


def test_a_point_has_the_scores_of_its_snapshots_embedding_files(
    curve: Curve,
    model: Path,
    labelled: Path,
    pairs: Path,
    scripts: Path,
    environment: dict[str, str],
    tmp_path: Path,
):
    files = ("-o", tmp_path / "c.jsonl", "--plot", tmp_path / "c.svg")
    curve(*OPTIONS, "--intent", labelled, *SELECT, pairs, model, *files)
    points = read(tmp_path / "c.jsonl")
    assert [p["step"] for p in points if p["metric"] == "mrr"] == [0, 5, 10, 12]
    assert {p["run"] for p in points} == {"model"}
    found = {(p["task"], p["setting"], p["metric"]): p["value"] for p in points if p["step"] == 10}
    for name, file in (("labelled", labelled), ("pairs", pairs)):
        snapshot = model / "snapshots" / "step-000010"
        line = [scripts / "dial-embed", "--model", snapshot, file]
        line += ["-o", tmp_path / f"{name}.parquet"]
        ended(*line, env=environment)
    apart = curve(*TASK, "--json", tmp_path / "labelled.parquet", task="intent").stdout
    apart += curve("--candidates", 40, "--json", tmp_path / "pairs.parquet", task="select").stdout
    expected = {
        (p["task"], p["setting"], p["metric"]): p["value"]
        for p in map(json.loads, apart.splitlines())
    }
    assert found == pytest.approx(expected)
    assert "1-shot accuracy, percent" in (tmp_path / "c.svg").read_text()
    several = ("--metric", "1-shot accuracy,mrr", "--plot", tmp_path / "two.svg", "--resume")
    curve(*OPTIONS, "--intent", labelled, *SELECT, pairs, model, *files[:2], *several)
    drawn = (tmp_path / "two.svg").read_text()
    assert "model, 1-shot accuracy" in drawn and "model, mrr" in drawn


@pytest.fixture
def stopped(curve: Curve, model: Path, labelled: Path, tmp_path: Path) -> tuple[object, ...]:
    """A curve that went two points far: at the third the weights were not there yet."""
    records, run = tmp_path / "labelled.jsonl", tmp_path / "run"
    shutil.copyfile(labelled, records)
    shutil.copytree(model, run)
    weights_10 = run / "snapshots" / "step-000010" / "model.safetensors"
    weights_10.rename(tmp_path / "aside")
    line = (*OPTIONS, "--intent", records, run, "-o", tmp_path / "c.jsonl")
    curve(*line, code=1)
    (tmp_path / "aside").rename(weights_10)
    return line


def test_resume_scores_no_point_twice_and_the_picture_has_a_line_a_run(
    curve: Curve, stopped: tuple[object, ...], tmp_path: Path
):
    other = tmp_path / "other"
    other.symlink_to(tmp_path / "run")
    out, partial = tmp_path / "c.jsonl", tmp_path / "c.jsonl.partial"
    pieces = read(partial / "pieces.jsonl")
    assert [len(piece["value"]) for piece in pieces] == [2, 2], "two points of two scores each"
    for score in pieces[0]["value"]:
        score["value"] = 12.5  # a finished point is taken as it stands
    (partial / "pieces.jsonl").unlink()
    for piece in pieces:
        add_piece(partial, piece["key"], piece["value"], skipped=piece["skipped"])

    picture = ("--metric", "2-shot accuracy", "--plot", tmp_path / "c.svg")
    curve(*stopped, "--resume", other, *picture)
    points = read(out)
    assert [p["value"] for p in points[:2]] == [12.5, 12.5]
    assert [p["run"] for p in points[::4]] == ["run", "run", "other", "other"]
    assert not partial.exists()
    drawn = (tmp_path / "c.svg").read_text()
    assert all(name in drawn for name in (">other<", "2-shot accuracy, percent"))

    curve(*stopped[:-1], tmp_path / "whole.jsonl")
    assert points[2:8] == read(tmp_path / "whole.jsonl")[2:]


def test_an_interrupted_curve_goes_on_only_as_it_was(
    curve: Curve, stopped: tuple[object, ...], tmp_path: Path
):
    assert "--resume goes on" in curve(*stopped, code=1).stderr
    refused = curve(*stopped, "--seed", 1, "--resume", code=2)
    assert "cannot resume: --seed was 0, is 1" in refused.stderr

    records = tmp_path / "labelled.jsonl"
    records.write_bytes(records.read_bytes() + b"\n")
    refused = curve(*stopped, "--resume", code=1).stderr
    assert "cannot resume" in refused and "labelled.jsonl was" in refused
    assert "--overwrite starts over" in refused and "another -o leaves this as it is" in refused


def test_a_finished_curve_says_so_and_draws_a_picture_that_is_not_there(
    curve: Curve, model: Path, labelled: Path, tmp_path: Path
):
    other = tmp_path / "other"
    other.symlink_to(model)
    out, picture = tmp_path / "c.jsonl", tmp_path / "c.svg"
    line = (*OPTIONS, "--intent", labelled, model, "-o", out, "--plot", picture, "--resume")
    curve(*line)
    scores, drawn = out.read_bytes(), picture.read_bytes()
    picture.unlink()
    assert "c.jsonl: finished already, of the same inputs and options" in curve(*line).stderr
    assert (out.read_bytes(), picture.read_bytes()) == (scores, drawn)

    picture.write_bytes(b"somebody's")
    assert "c.svg: exists already, and stays as it is" in curve(*line).stderr
    assert picture.read_bytes() == b"somebody's"

    refused = curve(*line, other, code=1).stderr
    assert "is finished, of another job: snapshots was" in refused
    assert "--overwrite makes it anew; another -o keeps it" in refused
    assert out.read_bytes() == scores


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (
            ("MODEL", "--intent", "FILE", "--metric", "1-shot acuracy"),
            2,
            "did you mean 1-shot accuracy",
        ),
        (("MODEL", "--intent", "FILE"), 1, "no field 'label'; there are text, intent, part"),
        (("MODEL", "--intent", "FILE", "--plot", "no/where.svg"), 1, "no such directory"),
        (("MODEL", "--intent", "FILE", "--resume"), 2, "--resume needs -o FILE"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    curve: Curve, model: Path, labelled: Path, arguments, code: int, says: str
):
    words = [{"MODEL": model, "FILE": labelled}.get(word, word) for word in arguments]
    done = curve(*words, code=code)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) <= 2
