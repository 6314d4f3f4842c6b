"""dial-eval intent: prototypes, neighbours, episodes, gates and reports."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from oracles.evaluation import few_shot, prototypes
from score_files import FIELDS, Evaluate, Toy, halves, score, unit, write

Command = Callable[..., subprocess.CompletedProcess]
T_95_OF_10_RUNS = 2.262  # Student's t, 9 degrees of freedom


def accuracy(toy: Toy, support: list[int]) -> float:
    train, test = unit(toy.vectors["train"]), unit(toy.vectors["test"])
    classes = sorted(set(toy.label["train"]))
    best = (
        test @ prototypes(train[support], [toy.label["train"][i] for i in support], classes).T
    ).argmax(1)
    return 100 * float(
        np.mean([classes[b] == label for b, label in zip(best, toy.label["test"], strict=True)])
    )


def test_each_run_is_the_slow_transcription_of_the_reference(
    evaluate: Evaluate, toy: Toy, toy_files: tuple[Path, Path]
):
    records = evaluate("intent", *halves(toy_files), "--shots", "1,5", "--runs", 10)
    for shots in (1, 5):
        found = score(records, "accuracy", f"{shots}-shot")
        expected = [
            accuracy(toy, few_shot(toy.label["train"], shots, seed)[0]) for seed in range(10)
        ]
        assert found["values"] == pytest.approx(expected)
        assert (
            found["value"] == pytest.approx(np.mean(expected))
            and found["runs"] == 10
            and found["n"] == 60
        )
        of_runs = T_95_OF_10_RUNS * np.std(expected, ddof=1) / 10**0.5
        of_rows = 1.96 * 100 * np.std(found["each"]) / 60**0.5
        half = (found["high"] - found["low"]) / 2
        assert half == pytest.approx(np.hypot(of_runs, of_rows), rel=0.1)
        assert found["low"] < found["value"] < found["high"]


def test_every_score_record_has_the_fields_of_the_schema(
    evaluate: Evaluate, toy_files: tuple[Path, Path]
):
    records = evaluate("intent", *halves(toy_files), "--shots", "2", "--runs", 3)
    assert records and all(set(r) >= FIELDS and r["schema"] == "dialtools.score/1" for r in records)
    assert all(r["task"] == "intent" for r in records)


def test_one_file_with_splits_scores_like_two_files(
    evaluate: Evaluate, toy: Toy, toy_files: tuple[Path, Path], tmp_path: Path
):
    rows = [{**row, "split": split} for split in ("test", "train") for row in toy.rows(split)]
    both = write(
        tmp_path / "both.jsonl",
        rows,
        embedding=np.concatenate([toy.vectors["test"], toy.vectors["train"]]),
    )
    apart = evaluate("intent", *halves(toy_files), "--shots", "1", "--runs", 4)
    together = evaluate("intent", both, "--shots", "1", "--runs", 4)
    assert (
        score(together, "accuracy", "1-shot")["values"]
        == score(apart, "accuracy", "1-shot")["values"]
    )


def test_exported_episodes_give_the_same_scores_when_they_are_read(
    evaluate: Evaluate, toy: Toy, toy_files: tuple[Path, Path], tmp_path: Path
):
    files = ("intent", *halves(toy_files))
    drawn = evaluate(
        *files, "--shots", "1,2", "--runs", 3, "--save-episodes", tmp_path / "episodes.json"
    )
    given = evaluate(*files, "--shots", "1,2", "--episodes", tmp_path / "episodes.json")
    for shots in ("1-shot", "2-shot"):
        assert (
            score(given, "accuracy", shots)["values"] == score(drawn, "accuracy", shots)["values"]
        )
    for shots, runs in json.loads((tmp_path / "episodes.json").read_text())["shots"].items():
        for run in runs:
            assert (run["train_idx"], run["val_idx"]) == few_shot(
                toy.label["train"], int(shots), run["seed"]
            )


def test_episodes_that_are_not_of_these_training_rows_are_told(
    command: Command, toy: Toy, toy_files: tuple[Path, Path], tmp_path: Path
):
    ask = ("intent", *halves(toy_files), "--shots", "2")
    without = ("--without", toy.label["train"][0])
    drawn = command(*ask, *without, "--runs", 3, "--save-episodes", tmp_path / "e.json").stderr
    again = command(*ask, *without, "--episodes", tmp_path / "e.json").stderr
    other = command(*ask, "--episodes", tmp_path / "e.json").stderr
    assert "may be of other training rows" not in drawn + again
    assert "2-shot: a run of --episodes has 1 to 3 rows of a class" in other
    assert "its row numbers may be of other training rows" in other


def test_five_shot_prototypes_are_means_and_not_made_unit_again(evaluate: Evaluate, tmp_path: Path):
    # `wide` has two opposite-ish examples: its mean is short, so the dot product with the query is
    # small,
    # although its direction is the query's own; `near` wins by the mean, `wide` by the direction.
    angles = np.deg2rad([80, -80, 20, 20])
    train = np.stack([np.cos(angles), np.sin(angles)], 1)
    labels = [{"label": name} for name in ("wide", "wide", "near", "near")]
    files = (
        write(tmp_path / "train.jsonl", labels, embedding=train),
        write(tmp_path / "test.jsonl", [{"label": "near"}], embedding=np.array([[1.0, 0.0]])),
    )
    episode = {"shots": {"2": [{"seed": 0, "train_idx": [0, 1, 2, 3], "val_idx": []}]}}
    (tmp_path / "e.json").write_text(json.dumps(episode))
    ask = ("intent", *halves(files), "--shots", "2", "--episodes", tmp_path / "e.json")
    assert score(evaluate(*ask), "accuracy", "2-shot")["value"] == 100


def test_a_single_neighbour_votes_alone_and_more_neighbours_by_majority(
    evaluate: Evaluate, toy: Toy, toy_files: tuple[Path, Path]
):
    similar = unit(toy.vectors["test"]) @ unit(toy.vectors["train"]).T
    names = np.array(toy.label["train"])
    for k in (1, 3):
        right = 0
        for row, label in zip(similar, toy.label["test"], strict=True):
            votes: dict[str, tuple[int, float]] = {}
            for i in np.argsort(-row)[:k]:
                count, best = votes.get(names[i], (0, -2.0))
                votes[names[i]] = (count + 1, max(best, float(row[i])))
            right += max(votes, key=votes.__getitem__) == label
        ask = ("intent", *halves(toy_files), "--method", "knn", "--k", k)
        assert score(evaluate(*ask), "accuracy")["value"] == pytest.approx(100 * right / 60)


def test_a_label_can_be_left_out_of_training_and_test(
    evaluate: Evaluate, toy: Toy, toy_files: tuple[Path, Path]
):
    ask = ("intent", *halves(toy_files), *shlex.split("--shots 1 --runs 2 --without greet"))
    assert score(evaluate(*ask), "accuracy", "1-shot")["n"] == 48


def test_a_gate_that_is_not_met_exits_4_and_says_which(
    command: Command, toy_files: tuple[Path, Path]
):
    files = ("intent", *halves(toy_files), "--shots", "1", "--runs", 2)
    command(*files, "--fail-under", "accuracy=1")
    failed = command(*files, "--fail-under", "accuracy=99.9", code=4)
    assert "intent 1-shot accuracy" in failed.stderr and "below 99.9" in failed.stderr
    assert json.loads(failed.stdout.splitlines()[0])["metric"] == "accuracy", (
        "the report comes before the gate"
    )


def test_an_unknown_metric_of_a_gate_is_a_usage_error_that_lists_the_known(
    command: Command, toy_files: tuple[Path, Path]
):
    failed = command("intent", *halves(toy_files), "--fail-under", "acuracy=1", code=2)
    assert "accuracy" in failed.stderr and "Traceback" not in failed.stderr


def test_a_missing_label_column_names_those_there_are(command: Command, tmp_path: Path):
    path = write(tmp_path / "x.jsonl", [{"intent": "a"}, {"intent": "b"}], embedding=np.eye(2))
    failed = command("intent", "--train", path, "--test", path, code=1)
    assert "label" in failed.stderr and "intent" in failed.stderr
    assert evaluate_label(command, path) == 100


def evaluate_label(command: Command, path: Path) -> float:
    done = command(
        "intent",
        "--train",
        path,
        "--test",
        path,
        *shlex.split("--label intent --shots 1 --runs 1 --json"),
    )
    return score([json.loads(line) for line in done.stdout.splitlines()], "accuracy", "1-shot")[
        "value"
    ]


def test_people_see_a_table_and_pipes_get_json_lines(
    command: Command, scripts: Path, toy_files: tuple[Path, Path]
):
    files = (
        "intent",
        "--train",
        str(toy_files[0]),
        "--test",
        str(toy_files[1]),
        *shlex.split("--shots 1 --runs 2"),
    )
    piped = command(*files).stdout
    assert all(json.loads(line)["schema"] == "dialtools.score/1" for line in piped.splitlines())
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [scripts / "dial-eval", *files], stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux answers EIO once the other side is closed
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert b"accuracy" in shown and b'"schema"' not in shown


def test_the_only_data_set_of_an_episode_file_needs_no_name(
    command: Command, toy_files: tuple[Path, Path], tmp_path: Path
):
    (tmp_path / "e.json").write_text(
        json.dumps({"toy": {"shots": {"1": [{"seed": 0, "train_idx": [0, 1, 2, 3, 4]}]}}})
    )
    files = ("intent", *halves(toy_files), "--shots", "1", "--episodes", tmp_path / "e.json")
    command(*files)
    (tmp_path / "e.json").write_text(json.dumps({"one": {}, "two": {}}))
    assert "one, two" in command(*files, code=2).stderr


def templates(toy: Toy, path: Path) -> Path:
    """A file of texts (noise) and templates (the class); a fifth of the training rows is made."""
    draw, rows, text, template = np.random.default_rng(2), [], [], []
    for split, part in (("train", "train"), ("test", "test"), ("val", "train")):
        for i, label in enumerate(toy.label[part]):
            rows.append(
                {"label": label, "split": split}
                | ({"synthetic": True} if split == "train" and i % 5 == 0 else {})
            )
            text.append(draw.normal(size=8))
            template.append(np.eye(8)[sorted(set(toy.label["train"])).index(label)] * 3)
    return write(path, rows, text_embedding=np.array(text), template_embedding=np.array(template))


def test_lambda_is_chosen_on_validation_rows_and_told(evaluate: Evaluate, toy: Toy, tmp_path: Path):
    path = templates(toy, tmp_path / "t.jsonl")
    found = evaluate("intent", "--method", "knn", "--k", "1,3", "--sweep-compress", "0,0.2,1", path)
    assert [r["setting"] for r in found] == ["1-nearest, lambda 1", "3-nearest, lambda 1"]
    assert found[0]["value"] == 100 and found[0]["chosen"]["lambda"] == 1
    by_hand = {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for weight in (0, 0.2, 1):
        mixed = [
            weight * unit(np.array([r["template_embedding"]]))[0]
            + (1 - weight) * unit(np.array([r["text_embedding"]]))[0]
            for r in rows
        ]
        mixed = unit(np.array(mixed))
        known = [i for i, r in enumerate(rows) if r["split"] == "train" and not r.get("synthetic")]
        asked = [i for i, r in enumerate(rows) if r["split"] == "val"]
        near = (mixed[asked] @ mixed[known].T).argmax(1)
        by_hand[weight] = 100 * np.mean(
            [rows[known[n]]["label"] == rows[a]["label"] for n, a in zip(near, asked, strict=True)]
        )
    one = evaluate("intent", "--method", "knn", "--sweep-compress", "0,0.2,1", path)
    assert one[0]["chosen"]["validation"] == pytest.approx(
        {f"{w:g}": v for w, v in by_hand.items()}
    )


def test_without_validation_rows_a_tenth_of_the_training_rows_chooses(
    evaluate: Evaluate, toy: Toy, tmp_path: Path
):
    path = templates(toy, tmp_path / "t.jsonl")
    found = evaluate(
        "intent", "--method", "knn", "--sweep-compress", "0,1", "--validation-split", "none", path
    )
    assert found[0]["chosen"]["lambda"] == 1 and found[0]["value"] == 100


def test_episodes_of_a_file_are_of_all_training_rows_those_that_choose_lambda_are_drawn(
    evaluate: Evaluate, toy: Toy, tmp_path: Path
):
    path = templates(toy, tmp_path / "t.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    known = [r["label"] for r in rows if r["split"] == "train" and not r.get("synthetic")]
    last = {label: row for row, label in enumerate(known)}
    assert len(known) - 1 in last.values(), "beyond what is left without a tenth"
    episodes = tmp_path / "e.json"
    runs = [{"train_idx": sorted(last.values())}]
    episodes.write_text(json.dumps({"shots": {"1": runs}}))
    ask = ("intent", "--shots", "1", "--episodes", episodes, "--sweep-compress", "0", path)
    (one,), (other,) = (evaluate(*ask, "--validation-split", split) for split in ("val", "none"))
    assert one["runs"] == other["runs"] == 1 and one["each"] == other["each"]


def test_templates_may_be_references_and_made_rows_only_on_request(
    evaluate: Evaluate, toy: Toy, tmp_path: Path
):
    path = templates(toy, tmp_path / "t.jsonl")
    ask = ("intent", "--method", "knn", "--sweep-compress", "0", path)
    plain, more, all_rows = (
        evaluate(*ask, *flags)[0]["value"]
        for flags in ((), ("--template-references",), ("--synthetic",))
    )
    assert len({plain, more, all_rows}) > 1
    mixed = evaluate(
        "intent", "--method", "knn", "--sweep-compress", "1", "--template-references", path
    )[0]["value"]
    assert mixed == 100


@pytest.mark.parametrize(
    ("name", "named"),
    [("val", ()), ("dev", ()), ("valid", ()), ("spare", ("--validation-split", "spare"))],
)
def test_validation_rows_are_found_by_their_usual_names(
    evaluate: Evaluate, toy: Toy, tmp_path: Path, name: str, named: tuple[str, ...]
):
    path = templates(toy, tmp_path / "t.jsonl")
    ask = ("intent", "--method", "knn", "--sweep-compress", "0,0.2,1")
    expected = evaluate(*ask, path)[0]["chosen"]
    path.write_text(path.read_text().replace('"split": "val"', f'"split": "{name}"'))
    assert evaluate(*ask, *named, path)[0]["chosen"] == expected
    held_out = evaluate(*ask, "--validation-split", "none", path)[0]["chosen"]
    assert held_out != expected


def test_where_every_test_row_is_left_out_there_is_nothing_to_score(
    command: Command, tmp_path: Path
):
    rows = [{"split": "train", "label": label} for label in "aabb"]
    rows += [{"split": "test", "label": "oos"}] * 2
    path = write(tmp_path / "v.jsonl", rows, embedding=np.eye(6))
    told = command("intent", path, "--shots", "1", "--without", "oos", code=1).stderr
    assert "holds no rows" in told
