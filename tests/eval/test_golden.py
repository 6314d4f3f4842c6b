"""The reference's numbers, from the same checkpoint, through dial-eval (`../shared/golden`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from score_files import Evaluate, Record, halves, score, write_npy

pytestmark = [pytest.mark.shared, pytest.mark.slow]

Rows = Callable[[str], list[Record]]
Embed = Callable[[list[str]], np.ndarray]
OOS = {
    "accuracy": "accuracy",
    "in_scope_accuracy": "in-accuracy",
    "oos_accuracy": "oos-accuracy",
    "oos_recall": "oos-recall",
}
# one text of 1,000 moves a metric by 0.1: the reference rounds vectors to float16, we do not
POINTS_OF_ACCURACY, POINTS_OF_OOS = 0.05, 0.1 + 1e-9


@pytest.fixture(scope="module")
def golden(shared: Path) -> Callable[[str], Record]:
    return lambda name: json.loads((shared / "golden" / name).read_text())


def files(folder: Path, rows: Rows, embed: Embed, dataset: str) -> tuple[Path, Path]:
    """Embed a data set's training half and its test half."""
    return tuple(
        write_npy(folder / f"{half}.npy", some, embed([row["text"] for row in some]))
        for half in ("train", "test")
        for some in [rows(f"{dataset}_{half}")]
    )


def of_episodes(
    folder: Path, rows: Rows, embed: Embed, dataset: str, runs: list[Record]
) -> tuple[str | Path, ...]:
    """Embed a test half and the training rows that one-shot episodes draw; return the flags."""
    train, test = rows(f"{dataset}_train"), rows(f"{dataset}_test")
    kept = sorted({i for run in runs for i in run["train_idx"]})
    place = {row: i for i, row in enumerate(kept)}
    again = [
        {"seed": run["seed"], "train_idx": [place[i] for i in run["train_idx"]], "val_idx": []}
        for run in runs
    ]
    episodes = folder / f"{dataset}.json"
    episodes.write_text(json.dumps({"shots": {"1": again}}))
    train, test = (
        write_npy(folder / f"{dataset}-{half}.npy", some, embed([row["text"] for row in some]))
        for half, some in (("train", [train[i] for i in kept]), ("test", test))
    )
    return *halves((train, test)), "--shots", "1", "--episodes", episodes


def test_intent_accuracy_and_out_of_scope_metrics_of_every_seed(
    evaluate: Evaluate, rows: Rows, embed: Embed, golden, tmp_path: Path
):
    # the texts of both tasks are the same, but for those out of scope: 7,000, embedded once
    drawn, known = golden("splits.json"), golden("metrics.json")
    runs = drawn["clinc150"]["shots"]["1"]
    records = evaluate("intent", *of_episodes(tmp_path, rows, embed, "clinc150", runs))
    assert score(records, "accuracy", "1-shot")["values"] == pytest.approx(
        known["intent"]["clinc150|1"]["per_seed"], abs=POINTS_OF_ACCURACY
    )
    runs = drawn["clinc150_all"]["shots"]["1"]
    flags = of_episodes(tmp_path, rows, embed, "clinc150_all", runs)
    records = evaluate("oos", *flags, "--oos-label", "150")
    for threshold in ("mean-std", "mean", "mean+std"):
        of_threshold = known["oos"][f"1-shot|thr={threshold}"]
        for name, metric in OOS.items():
            found = score(records, metric, f"1-shot {threshold}")["values"]
            expected = [100 * share for share in of_threshold[name]["per_seed"]]
            assert found == pytest.approx(expected, abs=POINTS_OF_OOS), (threshold, metric)


@pytest.mark.exhaustive
def test_five_shots_and_nearest_neighbours_in_the_whole_training_set(
    evaluate: Evaluate, rows: Rows, embed: Embed, golden, tmp_path: Path
):
    # no --episodes: the sampler has to draw what the reference drew
    bank77 = files(tmp_path, rows, embed, "bank77")
    records = evaluate("intent", *halves(bank77), "--shots", "1,5", "--runs", 10)
    for shots in (1, 5):
        expected = golden("metrics.json")["intent"][f"bank77|{shots}"]["per_seed"]
        assert score(records, "accuracy", f"{shots}-shot")["values"] == pytest.approx(
            expected, abs=POINTS_OF_ACCURACY
        )
    # of the golden majority votes (k = 3, 5, 10) ties went to the lowest label id; ours go to the
    # nearer class
    records = evaluate("intent", *halves(bank77), "--method", "knn")
    expected = golden("knn.json")["bank77"]["accuracy"]
    assert score(records, "accuracy")["value"] == pytest.approx(expected, abs=POINTS_OF_ACCURACY)


@pytest.mark.parametrize("dataset", ["clinc150", "clinc150_all", "bank77"])
def test_episodes_are_those_of_the_reference_row_by_row(
    command, rows: Rows, golden, tmp_path: Path, dataset: str
):
    # the sampler looks at labels alone, so vectors of one number will do
    paths = [
        write_npy(tmp_path / f"{half}.npy", some, np.ones((len(some), 1), np.float32))
        for half, some in (("train", rows(f"{dataset}_train")), ("test", rows(f"{dataset}_test")))
    ]
    command("intent", *halves(paths), "--shots", "1,5", "--save-episodes", tmp_path / "e.json")
    drawn = json.loads((tmp_path / "e.json").read_text())
    for shots, expected in golden("splits.json")[dataset]["shots"].items():
        for run, other in zip(drawn["shots"][shots], expected, strict=True):
            assert {key: run[key] for key in other} == other
