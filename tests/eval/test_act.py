"""dial-eval act: which turn's acts are predicted, and how well."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from score_files import FIELDS, Evaluate, Record, score, write

from dialtools.eval import probe
from dialtools.metrics import f1

Command = Callable[..., subprocess.CompletedProcess]
ACTS = ("offer", "request", "inform")
QUICK = ("--lr", "0.1", "--weight-decay", "0", "--epochs", 30)


def turns(dialogue: str, split: str, acts: list[str]) -> list[Record]:
    """The turns of a dialogue of user and system in turn; only system turns have acts."""
    return [
        {
            "dialogue_id": dialogue,
            "turn": i,
            "speaker": "system" if i % 2 else "user",
            "split": split,
        }
        | ({"acts": [acts[i // 2]]} if i % 2 else {})
        for i in range(2 * len(acts))
    ]


def talk(n: int, split: str, *, seed: int) -> list[Record]:
    """Dialogues of three exchanges with random acts."""
    draw = np.random.default_rng(seed)
    return [
        row
        for d in range(n)
        for row in turns(f"{split}{d}", split, [ACTS[a] for a in draw.integers(0, 3, 3)])
    ]


def says(rows: list[Record], shift: int) -> np.ndarray:
    """Vectors that tell the act of the turn `shift` after each row, and nothing of any other."""
    at = {(r["dialogue_id"], r["turn"]): r.get("acts", [None])[0] for r in rows}
    noise = np.random.default_rng(1).normal(size=(len(rows), 4)) * 0.05
    for row, vector in zip(rows, noise, strict=True):
        act = at.get((row["dialogue_id"], row["turn"] + shift))
        if act:
            vector[ACTS.index(act)] += 1
    return noise


@pytest.fixture(scope="module")
def rows() -> list[Record]:
    return [*talk(60, "train", seed=0), *talk(15, "val", seed=1), *talk(20, "test", seed=2)]


@pytest.mark.parametrize(("shift", "target"), [(1, "next"), (0, "current")])
def test_next_is_the_turn_after_the_embedded_ones_and_current_the_last_of_them(
    evaluate: Evaluate, rows: list[Record], tmp_path: Path, shift: int, target: str
):
    path = write(tmp_path / "turns.jsonl", rows, embedding=says(rows, shift))
    found = {
        t: score(evaluate("act", path, "--target", t, *QUICK), "micro-f1")["value"]
        for t in ("next", "current")
    }
    other = {"next": "current", "current": "next"}[target]
    assert found[target] == 100
    assert found[other] < 60


def test_rows_whose_target_has_no_acts_are_no_examples(
    evaluate: Evaluate, rows: list[Record], tmp_path: Path
):
    # 20 dialogues x 3 system turns with acts: three user turns see them next, three system turns
    # hold them
    path = write(tmp_path / "turns.jsonl", rows, embedding=says(rows, 1))
    for target in ("next", "current"):
        assert score(evaluate("act", path, "--target", target, *QUICK), "micro-f1")["n"] == 60


def test_the_speaker_is_that_of_the_turn_to_predict(
    evaluate: Evaluate, rows: list[Record], tmp_path: Path
):
    both = [
        row | {"acts": row.get("acts", ["ask", "greet"][: 1 + row["turn"] // 4])} for row in rows
    ]
    path = write(tmp_path / "turns.jsonl", both, embedding=says(rows, 1))
    count = {
        who: score(evaluate("act", path, "--speaker", who, *QUICK), "micro-f1")["n"]
        for who in ("user", "system")
    }
    assert count == {"user": 40, "system": 60}  # the first turn follows nothing


def test_a_turn_that_is_missing_in_between_is_said_and_not_skipped(
    command: Command, rows: list[Record], tmp_path: Path
):
    kept = [row for row in rows if (row["dialogue_id"], row["turn"]) != ("test3", 3)]
    path = write(tmp_path / "turns.jsonl", kept, embedding=says(kept, 1))
    assert "dialogue test3 has no turn 3" in command("act", path, *QUICK, code=1).stderr
    twice = [*rows, rows[-1]]
    path = write(tmp_path / "twice.jsonl", twice, embedding=says(twice, 1))
    assert "has turn 5 twice" in command("act", path, *QUICK, code=1).stderr


def ready(rows: list[Record], shift: int) -> tuple[list[Record], np.ndarray]:
    """Ready-made rows: `labels` in place of turns."""
    kept = [(row, v) for row, v in zip(rows, says(rows, shift), strict=True) if "acts" in row]
    return [{"labels": r["acts"], "split": r["split"]} for r, _ in kept], np.stack(
        [v for _, v in kept]
    )


def arrow(path: Path, rows: list[Record], vectors: np.ndarray, field: list[str]) -> Path:
    """An embedding file that tells which fields were embedded, as dial-embed's do."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dialtools.streams.vectors import embedding_batch

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    table = pa.Table.from_batches([embedding_batch(columns, {"embedding": vectors})])
    pq.write_table(
        table.replace_schema_metadata({"dialtools": json.dumps({"options": {"field": field}})}),
        path,
    )
    return path


def test_a_target_that_the_embedded_fields_rule_out_is_refused(
    evaluate: Evaluate, command: Command, rows: list[Record], tmp_path: Path
):
    labels, vectors = ready(rows, 0)
    blind = arrow(tmp_path / "blind.parquet", labels, vectors, ["history"])
    seen = arrow(tmp_path / "seen.parquet", labels, vectors, ["history+response"])
    assert evaluate("act", blind, "--target", "next", *QUICK) and evaluate(
        "act", seen, "--target", "current", *QUICK
    )
    assert (
        "the turn that has the acts is visible"
        in command("act", seen, "--target", "next", code=2).stderr
    )
    assert (
        "the turn that has the acts is not visible"
        in command("act", blind, "--target", "current", code=2).stderr
    )


def test_vectors_of_several_fields_are_refused_as_such_not_for_what_is_visible(
    command: Command, tmp_path: Path
):
    apart = {"history_embedding": [1.0, 0.0], "response_embedding": [0.0, 1.0]}
    made = [{"labels": [part], "split": part} | apart for part in ("train", "val", "test")]
    path = write(tmp_path / "two.jsonl", made)
    for target in ("next", "current"):
        said = command("act", path, "--target", target, *QUICK, code=1).stderr
        assert "no vectors 'embedding'; there are history_embedding, response_embedding" in said
        assert "dial-embed --field NAME" in said


def test_scores_are_those_of_scikit_learn_on_what_the_layer_predicts(
    rows: list[Record], tmp_path: Path
):
    from sklearn.metrics import f1_score

    from dialtools.eval import probe
    from dialtools.eval.options.act import ActOptions
    from dialtools.eval.tasks import act

    noisy = says(rows, 0) + np.random.default_rng(3).normal(size=(len(rows), 4)) * 0.6
    path = write(tmp_path / "turns.jsonl", rows, embedding=noisy)
    options = ActOptions(
        inputs=(str(path),), target="current", lr=(0.01,), weight_decay=(0.0,), epochs=10
    )
    scores = {s.metric: s.value for s in act.evaluate(options)[0]}
    three = probe.read_probe_parts(options).each(lambda part: act.examples(part, options))
    names = sorted(ACTS)
    truth = three.each(lambda part: f1.indicators(part.columns[act.TARGET], names))

    def quality(t: np.ndarray, p: np.ndarray) -> float:
        return (
            sum(f1_score(t, p > 0.5, average=kind, zero_division=0) for kind in ("micro", "macro"))
            / 2
        )

    guess = probe.train(three, truth, quality, options, lambda _: None)(three.test.matrix) > 0.5
    for kind in ("micro", "macro", "weighted", "samples"):
        expected = 100 * f1_score(truth.test, guess, average=kind, zero_division=0)
        assert scores[f"{kind}-f1"] == pytest.approx(expected, abs=1e-4)
    assert 40 < scores["micro-f1"] < 100


def test_acts_that_are_never_predicted_weigh_down_the_macro_average(
    evaluate: Evaluate, rows: list[Record], tmp_path: Path
):
    # one training row says `goodbye`, no test row does; one test row says `hello`, which nobody
    # learnt
    labels, vectors = ready(rows, 0)
    plain = evaluate("act", write(tmp_path / "plain.jsonl", labels, embedding=vectors), *QUICK)
    labels[0] = labels[0] | {"labels": [*labels[0]["labels"], "goodbye"]}
    labels[-1] = labels[-1] | {"labels": [*labels[-1]["labels"], "hello"]}
    more = evaluate("act", write(tmp_path / "more.jsonl", labels, embedding=vectors), *QUICK)
    assert score(plain, "macro-f1")["value"] == 100
    assert score(more, "macro-f1")["value"] == pytest.approx(100 * 3 / 5)
    assert 98 < score(more, "micro-f1")["value"] < 100


def test_the_same_seed_gives_the_same_bytes_and_the_record_tells_what_was_chosen(
    command: Command, rows: list[Record], tmp_path: Path
):
    vectors = says(rows, 0) + np.random.default_rng(3).normal(size=(len(rows), 4)) * 0.6
    path = write(tmp_path / "turns.jsonl", rows, embedding=vectors)
    ask = (
        "act",
        path,
        *shlex.split("--target current --lr 0.001,0.01 --weight-decay 0,0.01 --epochs"),
        8,
        "--json",
    )
    first, again, other = (command(*ask, "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again != other
    record = json.loads(first.splitlines()[0])
    assert set(record) >= FIELDS - {"std"}
    assert record["chosen"]["rate"] in (0.001, 0.01) and 1 <= record["chosen"]["epochs"] <= 8


def test_three_files_score_like_three_splits(
    evaluate: Evaluate, rows: list[Record], tmp_path: Path
):
    labels, vectors = ready(rows, 0)
    one = evaluate("act", write(tmp_path / "one.jsonl", labels, embedding=vectors), *QUICK)
    files = []
    for split in ("train", "val", "test"):
        own = [i for i, row in enumerate(labels) if row["split"] == split]
        files.append(
            write(tmp_path / f"{split}.jsonl", [labels[i] for i in own], embedding=vectors[own])
        )
    three = evaluate(
        "act", "--train", files[0], "--validation", files[1], "--test", files[2], *QUICK
    )
    assert [r["value"] for r in one] == [r["value"] for r in three]


def test_without_validation_rows_a_share_of_the_training_dialogues_is_held_out(
    evaluate: Evaluate, command: Command, rows: list[Record], tmp_path: Path
):
    kept = [row for row in rows if row["split"] != "val"]
    path = write(tmp_path / "turns.jsonl", kept, embedding=says(kept, 1))
    assert "--validation-share" in command("act", path, code=1).stderr
    # had a dialogue been cut in two, its next turns would be missing
    assert score(evaluate("act", path, "--validation-share", 0.2, *QUICK), "micro-f1")["value"] > 90


@pytest.mark.parametrize(
    ("change", "flags", "says_what"),
    [
        ({}, ("--test-split", "tset"), "no row has split = 'tset'"),
        ({}, ("--validation-split", "dev"), "no row has split = 'dev'"),
        ({}, ("--label", "lables"), "did you mean labels?"),
        ({}, ("--acts", "deeds"), "no column 'dialogue_id'; there are labels, split"),
        ({"dialogue_id": "a", "turn": 0}, ("--acts", "deeds"), "no column 'deeds'; there are"),
        ({"labels": ["inform"]}, (), "1 act in all: nothing to tell apart"),
        ({"labels": "inform"}, (), "labels: expected a list of names, got 'inform'"),
        ({"labels": None}, (), "no row has acts to predict"),
        ({"acts": ["inform"], "dialogue_id": "a", "turn": 0}, (), "which?"),
    ],
)
def test_what_cannot_be_learnt_from_is_said_in_one_line(
    command: Command,
    rows: list[Record],
    tmp_path: Path,
    change: Record,
    flags: tuple,
    says_what: str,
):
    labels, vectors = ready(rows, 0)
    path = write(tmp_path / "bad.jsonl", [row | change for row in labels], embedding=vectors)
    said = command("act", path, *flags, code=1).stderr
    assert says_what in said and "Traceback" not in said and "defect" not in said


def test_an_empty_file_and_a_misspelt_grid_are_said(command: Command, tmp_path: Path):
    (tmp_path / "empty.jsonl").write_text("")
    assert "holds no embeddings" in command("act", tmp_path / "empty.jsonl", code=1).stderr
    assert (
        "expected a number"
        in command("act", tmp_path / "empty.jsonl", "--lr", "fast", code=2).stderr
    )
    assert "above 0" in command("act", tmp_path / "empty.jsonl", "--lr", "0", code=2).stderr


def test_intervals_are_over_dialogues_whose_turns_belong_together(
    evaluate: Evaluate, command: Command, rows: list[Record], tmp_path: Path
):
    # every dialogue of the test part is one turn many times over: there are 20 of them to be sure
    # by, not 200
    often = [
        {**row, "turn": 2 * i + row["turn"]}
        for row in rows
        if row["split"] == "test" and row["turn"] < 2
        for i in range(10)
    ]
    kept = [
        {**row, "id": n}
        for n, row in enumerate([row for row in rows if row["split"] != "test"] + often)
    ]
    path = write(
        tmp_path / "turns.jsonl",
        kept,
        embedding=np.random.default_rng(0).normal(size=(len(kept), 4)).round(1),
    )
    by_dialogue = evaluate("act", path, "--target", "current", *QUICK)
    by_row = evaluate("act", path, "--target", "current", "--group", "id", *QUICK)
    for metric in ("micro-f1", "macro-f1", "weighted-f1", "samples-f1"):
        whole, apart = score(by_dialogue, metric), score(by_row, metric)
        assert whole["value"] == apart["value"] and "groups" not in apart
        assert whole["high"] - whole["low"] > 1.3 * (apart["high"] - apart["low"]) > 0, metric
    whole = score(by_dialogue, "samples-f1")
    assert len(whole["groups"]) == len(whole["each"]) == 200
    assert set(whole["groups"]) == set(range(20))
    assert "groups" not in evaluate("act", path, "--target", "current", "--no-each", *QUICK)[0]
    assert "no column 'client'" in command("act", path, "--group", "client", *QUICK, code=1).stderr


def test_an_act_is_told_that_is_likelier_than_not(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """At one half it is not: neither in the score, nor where hyper-parameters are chosen."""
    from dialtools.eval.tasks import act

    rows = [
        {"labels": list(labels), "split": split, "turn": 0}
        for split, labels in (("train", "ab"), ("val", "a"), ("test", "a"))
    ]
    path = write(tmp_path / "half.jsonl", rows, embedding=np.ones((3, 2)))
    layer = probe.Probe(None, np.zeros(2), 1.0)
    monkeypatch.setattr(probe, "train", lambda *_: layer)
    monkeypatch.setattr(probe.Probe, "__call__", lambda *_: np.array([[0.5, 0.6]]))
    (micro, *_, samples) = evaluate("act", path, "--each")
    assert micro["each"] == {"truth": [[0]], "guess": [[1]], "labels": 2}
    assert micro["value"] == samples["value"] == 0
    assert (micro["runs"], micro["n"]) == (1, 1) and "std" not in micro
    truth, p = np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.6], [0.5, 0.6]])
    # b is told twice and once rightly: micro 1/2 of 2 told and 2 there, macro the mean of 0 and 2/3
    assert act.quality(truth, p) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert type(act.quality(truth, p)) is float
