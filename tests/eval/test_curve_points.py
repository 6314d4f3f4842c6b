"""Points of dial-eval curve: which snapshots are scored, with what, and what their rows tell."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from dialtools.corpora.turns import Record
from dialtools.eval import curve
from dialtools.eval.options.curve import CurveOptions
from dialtools.eval.prepared import prepare
from dialtools.streams.resume import Work

AXES = {"a": [1.0, 0.0], "b": [0.0, 1.0]}


def snapshot(run: Path, step: int, weights: str) -> None:
    folder = run / "snapshots" / f"step-{step}"
    folder.mkdir(parents=True)
    (folder / "dialtools.json").write_text(json.dumps({"weights": weights}))


def intents(path: Path) -> Path:
    """Two texts to learn from, and the same two to be asked."""
    pairs = [(split, label) for split in ("train", "test") for label in "ab"]
    rows = [{"text": label, "label": label, "split": split} for split, label in pairs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_same_weights_at_the_same_step_are_scored_once_and_told_for_every_run(tmp_path: Path):
    file = intents(tmp_path / "i.jsonl")
    for run, step, weights in (("x", 1000, "w"), ("x", 2000, "w"), ("y", 1000, "w")):
        snapshot(tmp_path / run, step, weights)
    folders = tuple(str(tmp_path / run) for run in "xy")
    options = CurveOptions(inputs=folders, intent=str(file), shots=(1,), runs=2)
    points = curve.find_points(folders)
    opened: list[Path] = []

    def open_model(path: Path) -> curve.Embed:
        def embed(records: Sequence[Record], fields: Sequence[str]) -> Mapping[str, np.ndarray]:
            assert list(fields) == ["text"]
            vectors = np.array([AXES[record["text"]] for _, record in records])
            return {"text": vectors if path.name == "step-1000" else np.ones_like(vectors)}

        opened.append(path)
        return embed

    job = curve.job_of("dial-eval curve", options, points, "fp32")
    snapshots = ["step 1000 w", "step 2000 w", "step 1000 w"]
    assert job.facts == {"precision": "fp32", "snapshots": snapshots}
    assert (*job.pieces, job.command) == ("snapshots", "dial-eval curve")
    assert job.options is options
    with Work("-", job, resume=False, overwrite=False) as work:
        line = curve.Curve(points, prepare(options))
        pieces = list(line.take(work, open_model))
        found = line.rows(work)
    assert opened == [points[0].path, points[1].path]
    assert [piece.fresh for piece in pieces] == [True, True, False]
    assert [piece.facts["step"] for piece in pieces] == ["1,000", "2,000", "1,000"]
    told = [(row["run"], row["step"], row["model"], row["value"]) for row in found]
    right, half = 100, 50  # of equal vectors the first class is told
    assert told == [
        ("x", 1000, f"{folders[0]}/snapshots/step-1000", right),
        ("x", 2000, f"{folders[0]}/snapshots/step-2000", half),
        ("y", 1000, f"{folders[1]}/snapshots/step-1000", right),
    ]
    assert {(row["metric"], row["runs"], row["n"]) for row in found} == {("accuracy", 2, 2)}
    assert all([given["name"] for given in row["inputs"]] == [str(file)] for row in found)


def test_a_curve_is_read_as_it_was_written(tmp_path: Path):
    rows = [{"run": "x", "step": 1}, {"run": "y", "step": 2}]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    for name, written in {"c.jsonl": content, "c.jsonl.gz": gzip.compress(content)}.items():
        (tmp_path / name).write_bytes(written)
        assert curve.read_rows(str(tmp_path / name)) == rows


def test_a_run_is_called_as_its_folder_and_is_its_snapshots_before_it_is_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    snapshot(tmp_path / "x", 3, "w")
    (tmp_path / "x" / "modules.json").write_text("[]")
    monkeypatch.chdir(tmp_path / "x")
    [point] = curve.find_points(["."])
    assert (point.run, point.step, point.weights) == ("x", 3, "w")


@pytest.mark.parametrize("counts", [None, {}, [], {"steps": "7"}, {"steps": True}])
def test_a_model_that_tells_no_steps_is_a_point_at_none(tmp_path: Path, counts: object):
    (tmp_path / "modules.json").write_text('[{"type": "Pooling"}]')
    (tmp_path / "dialtools.json").write_text(json.dumps({"weights": "w", "counts": counts}))
    assert [point.step for point in curve.find_points([str(tmp_path)])] == [0]
