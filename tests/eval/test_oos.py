"""dial-eval oos: DSE's four metrics at three thresholds, and numbers that need no threshold."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from oracles.evaluation import auroc, false_positive_rate, four_metrics, out_of_scope, prototypes
from score_files import Evaluate, Toy, halves, score, unit, write

from dialtools.eval.tasks.oos import Verdict, _value, at_threshold, chosen_threshold
from dialtools.metrics.detection import MEASURES

Command = Callable[..., subprocess.CompletedProcess]
THRESHOLDS = {"mean-std": -1, "mean": 0, "mean+std": 1}


@pytest.fixture(scope="module")
def scope() -> Toy:
    return Toy(["book", "cancel", "oos", "greet"], each=15)


@pytest.fixture(scope="module")
def files(scope: Toy, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return scope.write(tmp_path_factory.mktemp("oos"))


@pytest.fixture(scope="module")
def support(scope: Toy) -> list[int]:
    return [scope.label["train"].index(name) for name in dict.fromkeys(scope.label["train"])]


@pytest.fixture(scope="module")
def scores(
    evaluate: Evaluate,
    files: tuple[Path, Path],
    support: list[int],
    tmp_path_factory: pytest.TempPathFactory,
):
    path = tmp_path_factory.mktemp("episodes") / "episodes.json"
    path.write_text(json.dumps({"shots": {"1": [{"seed": 0, "train_idx": support}]}}))
    return evaluate("oos", *halves(files), "--shots", "1", "--episodes", path)


def similar(scope: Toy, support: list[int]) -> tuple[np.ndarray, list[str]]:
    names = [scope.label["train"][i] for i in support]
    return unit(scope.vectors["test"]) @ prototypes(
        unit(scope.vectors["train"])[support], names, names
    ).T, names


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_four_metrics_are_the_slow_transcription_of_the_reference(
    scores, scope: Toy, support: list[int], threshold: str, normalise: bool
):
    matrix, names = similar(scope, support)
    found = out_of_scope(
        matrix, names, "oos", deviations=THRESHOLDS[threshold], normalise=normalise
    )
    expected = four_metrics(found, scope.label["test"], "oos")
    setting = f"1-shot {threshold}" if normalise else f"1-shot raw {threshold}"
    for metric, value in expected.items():
        assert score(scores, metric, setting)["value"] == pytest.approx(value, abs=1e-4), metric
    assert score(scores, "average", setting)["value"] == pytest.approx(
        sum(expected.values()) / 4, abs=1e-4
    )


def test_auroc_aupr_and_fpr_need_no_threshold(evaluate: Evaluate, tmp_path: Path):
    # in scope: axes 0 and 1; out of scope: axis 2 in training and axis 3 in the test, like nothing
    # known.
    # The last text is in scope, yet on axis 3 too: 2 x 3 of the 2 x 4 pairs (out, in) are in order
    # and 2 x 1 tie.
    axes = np.eye(4)
    train = write(
        tmp_path / "train.jsonl", [{"label": n} for n in ("a", "b", "oos")], embedding=axes[:3]
    )
    labels = [{"label": n} for n in ("a", "a", "b", "oos", "oos", "b")]
    test = write(tmp_path / "test.jsonl", labels, embedding=axes[[0, 0, 1, 3, 3, 3]])
    records = evaluate("oos", "--train", train, "--test", test, "--shots", "1", "--runs", 1)
    out, inside = [0.0, 0.0], [-1.0, -1.0, -1.0, 0.0]
    assert (
        score(records, "auroc", "1-shot raw")["value"]
        == pytest.approx(100 * auroc(out, inside))
        == 87.5
    )
    # both of the texts out of scope are found at the height of three: precision 2/3 of each
    assert score(records, "aupr", "1-shot raw")["value"] == pytest.approx(100 * 2 / 3)
    rate = false_positive_rate(out, inside)
    assert (
        score(records, "fpr-at-95-recall", "1-shot raw")["value"] == pytest.approx(100 * rate) == 25
    )


def test_likeness_to_the_prototype_of_what_is_out_of_scope_is_no_sign_of_scope(
    evaluate: Evaluate, tmp_path: Path
):
    angles = {"a": 0.0, "b": 0.4, "oos": 1.5}  # each near its class, that out of scope nearest
    rows = [(label, angles[label] + far) for label in angles for far in (0.0, 0.02, 0.05)]
    rows = [(label, angles[label] if label == "oos" else angle) for label, angle in rows]
    vectors = np.array([[np.cos(angle), np.sin(angle)] for _, angle in rows])
    file = write(tmp_path / "x.jsonl", [{"label": name} for name, _ in rows], embedding=vectors)
    records = evaluate("oos", "--train", file, "--test", file, "--shots", "3", "--runs", 1)
    for metric, best in (("auroc", 100), ("aupr", 100), ("fpr-at-95-recall", 0)):
        assert score(records, metric, "3-shot raw")["value"] == pytest.approx(best)


def test_a_threshold_from_validation_data_does_not_look_at_the_test_set(
    evaluate: Evaluate, files: tuple[Path, Path], scope: Toy, tmp_path: Path
):
    ask = ("oos", "--train", files[0], "--validation", files[0], "--shots", "1", "--runs", 2)
    whole = score(evaluate(*ask, "--test", files[1]), "in-accuracy", "1-shot raw validation")[
        "values"
    ]
    inside = [i for i, label in enumerate(scope.label["test"]) if label != "oos"]
    rows = scope.rows("test")
    outside = [i for i, label in enumerate(scope.label["test"]) if label == "oos"][:1]
    kept = sorted(inside + outside)
    fewer = write(
        tmp_path / "fewer.jsonl", [rows[i] for i in kept], embedding=scope.vectors["test"][kept]
    )
    part = score(evaluate(*ask, "--test", fewer), "in-accuracy", "1-shot raw validation")["values"]
    assert part == pytest.approx(whole), (
        "fewer out-of-scope texts in the test set leave the in-scope decisions alone"
    )


def test_averages_are_means_of_runs(evaluate: Evaluate, files: tuple[Path, Path]):
    records = evaluate("oos", *halves(files), "--shots", "1,5", "--runs", 4)
    for shots in ("1-shot", "5-shot"):
        found = score(records, "oos-recall", f"{shots} mean")
        assert len(found["values"]) == found["runs"] == 4
        assert found["value"] == pytest.approx(np.mean(found["values"]))
        assert found["low"] <= found["value"] <= found["high"]


def test_validation_rows_are_found_by_their_usual_names(
    evaluate: Evaluate, scope: Toy, tmp_path: Path
):
    rows = {s: [row | {"split": s} for row in scope.rows(s)] for s in ("train", "test")}
    for name, settings in {"dev": 1, "validation": 1, "spare": 0}.items():
        known = rows["train"] + [row | {"split": name} for row in rows["train"]] + rows["test"]
        matrix = np.concatenate(
            [scope.vectors["train"], scope.vectors["train"], scope.vectors["test"]]
        )
        found = evaluate(
            *shlex.split("oos --shots 1 --runs 1"),
            write(tmp_path / f"{name}.jsonl", known, embedding=matrix),
        )
        assert (
            sum(r["setting"] == "1-shot validation" and r["metric"] == "average" for r in found)
            == settings
        ), name


def test_a_score_at_the_threshold_is_out_of_scope():
    best = np.array([0.5, 0.6, 0.5, 0.6])
    verdict = Verdict(np.array([0, 0, 1, 1]), best, np.zeros(4, int), known=best, oos=1)
    found = at_threshold(verdict, 0.5)
    assert found["accuracy"].tolist() == [0, 1, 1, 0]
    assert found["oos-accuracy"].tolist() == [0, 1, 1, 0]
    np.testing.assert_array_equal(found["in-accuracy"], [0, 1, np.nan, np.nan])
    np.testing.assert_array_equal(found["oos-recall"], [np.nan, np.nan, 1, 0])
    assert _value("oos-recall", found["oos-recall"]) == 0.5 and math.isnan(
        _value("oos-recall", found["oos-recall"][:2])
    )


def test_items_go_into_a_file_and_elsewhere_on_request(
    command, files: tuple[Path, Path], tmp_path: Path
):
    ask = ("oos", *halves(files), "--shots", "1", "--runs", 1)
    command(*ask, "-o", tmp_path / "file.jsonl")
    in_file, piped, asked = (
        (tmp_path / "file.jsonl").read_text(),
        command(*ask).stdout,
        command(*ask, "--each").stdout,
    )
    assert asked == in_file and '"each"' in asked
    assert '"each"' not in piped and len(piped) < len(asked)


def test_the_chosen_threshold_is_the_best_of_200_quantiles():
    draw = np.random.default_rng(6)
    classes = draw.integers(0, 3, 300)
    best = draw.normal(size=300) - (classes == 2)
    guess = np.where(draw.random(300) < 0.7, classes, 0)

    def average(threshold: float) -> float:
        said = [2 if b <= threshold else g for b, g in zip(best, guess, strict=True)]
        return sum(four_metrics(said, classes.tolist(), 2).values())

    tried = sorted(np.quantile(best, k / 200) for k in range(201))
    assert chosen_threshold(Verdict(classes, best, guess, known=best, oos=2)) == max(
        tried, key=average
    )


def test_the_scores_without_leaked_rows_are_those_of_the_others(evaluate: Evaluate, tmp_path: Path):
    """What a row adds to an area depends on the others: without some all of it is new."""
    draw = np.random.default_rng(4)
    labels = ["a"] * 20 + ["b"] * 20 + ["oos"] * 20
    centres = {"a": (1, 0), "b": (0, 1), "oos": (-1, -1)}
    matrix = np.array([centres[label] for label in labels]) + draw.normal(size=(60, 2))
    train = write(
        tmp_path / "train.jsonl",
        [{"text": f"{label} {row}", "label": label} for row, label in enumerate(labels)],
        embedding=matrix,
    )
    known = [f"{label} {row}" if row % 3 else f"new {row}" for row, label in enumerate(labels)]

    def scores(rows: list[int], name: str) -> dict[tuple[str, str], dict]:
        records = [{"text": known[i], "label": labels[i]} for i in rows]
        test = write(tmp_path / name, records, embedding=matrix[rows] * [1, 0.7])
        found = evaluate("oos", "--train", train, "--test", test, "--shots", 5, "--runs", 2)
        return {(record["setting"], record["metric"]): record for record in found}

    whole = scores(list(range(60)), "whole.jsonl")
    others = scores(list(range(0, 60, 3)), "others.jsonl")
    for metric in MEASURES:
        key = ("5-shot", metric)
        assert whole[key]["unleaked"] == pytest.approx(others[key]["value"]), metric
        assert whole[key]["unleaked"] != pytest.approx(whole[key]["value"]), metric


def test_no_gate_fails_a_detector_for_few_false_alarms(command: Command, files: tuple[Path, Path]):
    asked = ("oos", *halves(files), "--shots", 1, "--runs", 2, "--fail-under")
    command(*asked, "auroc=1")
    for name in ("fpr-at-95-recall", "1-shot fpr-at-95-recall"):
        refused = command(*asked, f"{name}=20", code=2)
        assert f"--fail-under {name}: lower is better" in refused.stderr
        assert not refused.stdout
