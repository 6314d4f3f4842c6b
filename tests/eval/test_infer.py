"""dial-eval infer: classes of dialogues, by one softmax layer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from score_files import Evaluate, Record, Toy, score, write

from dialtools.errors import DataError
from dialtools.eval.tasks.infer import classes
from dialtools.streams.vectors import Embeddings

Command = Callable[..., subprocess.CompletedProcess]
QUICK = ("--lr", "0.01", "--weight-decay", "0", "--epochs", 30)


@pytest.fixture(scope="module")
def dialogues() -> tuple[list[Record], np.ndarray]:
    """A third contradict their query, a third their history, a third nothing; the vector tells."""
    draw = np.random.default_rng(0)
    kind = draw.integers(0, 3, 300)
    splits = ["train"] * 180 + ["dev"] * 60 + ["test"] * 60
    rows = [
        {
            "qi": int(k == 1),
            "hi": int(k == 2),
            "split": s,
            "tokens": 200 + i % 100,
            "kind": "abc"[k],
        }
        for i, (k, s) in enumerate(zip(kind, splits, strict=True))
    ]
    return rows, np.eye(3)[kind] + draw.normal(size=(300, 3)) * 0.1


@pytest.fixture(scope="module")
def path(
    dialogues: tuple[list[Record], np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return write(tmp_path_factory.mktemp("infer") / "d.jsonl", dialogues[0], embedding=dialogues[1])


def test_of_several_columns_the_class_is_whether_any_is_true(
    evaluate: Evaluate, path: Path, dialogues
):
    records = evaluate("infer", path, "--label", "qi,hi", *QUICK)
    wrong = [row["qi"] or row["hi"] for row in dialogues[0] if row["split"] == "test"]
    assert score(records, "accuracy")["value"] == 100 and score(records, "accuracy")["n"] == 60
    assert score(records, "majority")["value"] == pytest.approx(100 * np.mean(wrong))


def test_of_several_columns_each_says_true_or_false():
    part = Embeddings({}, {"a": [0, "no", "f"], "b": [1, "TRUE", True]}, name="e.jsonl")
    with pytest.raises(DataError, match="row 3: 'f' in a is neither true nor false"):
        classes(part, ("a", "b"))
    assert classes(part, ("a",)) == ["0", "no", "f"]


@pytest.mark.parametrize("true", [True, "yes", "TRUE", 1, "1", 1.0, "1.0"])
def test_true_is_whatever_tables_write_for_it(true: Any):
    part = Embeddings({}, {"a": [True, False, False], "b": [False, true, type(true)(0)]})
    assert classes(part, ("a", "b")) == ["true", "true", "false"]


def test_one_column_may_have_any_number_of_classes(evaluate: Evaluate, path: Path):
    assert score(evaluate("infer", path, "--label", "kind", *QUICK), "accuracy")["value"] == 100


def test_accuracy_is_that_of_scikit_learn_on_what_the_layer_predicts(toy: Toy, tmp_path: Path):
    from sklearn.metrics import accuracy_score

    from dialtools.eval import probe
    from dialtools.eval.options.infer import InferOptions
    from dialtools.eval.rows import Parts
    from dialtools.eval.tasks import infer

    rows = [
        row | {"split": s}
        for s, half in (("train", "train"), ("val", "test"), ("test", "test"))
        for row in toy.rows(half)
    ]
    vectors = np.concatenate([toy.vectors[half] for half in ("train", "test", "test")])
    path = write(tmp_path / "toy.jsonl", rows, embedding=vectors)
    options = InferOptions(inputs=(str(path),), lr=(0.001, 0.01), weight_decay=(0.0,), epochs=5)
    found = infer.evaluate(options)[0][0]
    names = sorted(set(toy.label["train"]))
    y = {
        half: np.array([names.index(label) for label in toy.label[half]])
        for half in ("train", "test")
    }
    three = Parts(y["train"], y["test"], y["test"])
    layer = probe.train(
        probe.read_probe_parts(options),
        three,
        lambda t, p: accuracy_score(t, p.argmax(1)),
        options,
        lambda _: None,
    )
    guess = layer(np.asarray(toy.vectors["test"])).argmax(1)
    assert found.value == pytest.approx(100 * accuracy_score(y["test"], guess))
    assert found.chosen == layer.chosen
    assert layer.chosen["validation"] == pytest.approx(found.value), "in percent, as scores are"


def test_only_dialogues_under_the_bound_of_tokens_are_taken(
    evaluate: Evaluate, command: Command, path: Path, dialogues, tmp_path: Path
):
    short = sum(row["tokens"] < 256 for row in dialogues[0] if row["split"] == "test")
    found = score(
        evaluate("infer", path, "--label", "kind", "--under-tokens", 256, *QUICK), "accuracy"
    )
    assert (found["n"], found["setting"]) == (short, "under 256 tokens")
    bare = [{k: v for k, v in row.items() if k != "tokens"} for row in dialogues[0]]
    other = write(tmp_path / "bare.jsonl", bare, embedding=dialogues[1])
    assert (
        "dial-embed --tokens"
        in command("infer", other, "--label", "kind", "--under-tokens", 256, code=1).stderr
    )
    assert (
        "fewer than 9"
        in command("infer", path, "--label", "kind", "--under-tokens", 9, code=1).stderr
    )


def test_a_hidden_layer_learns_what_a_linear_one_cannot(evaluate: Evaluate, tmp_path: Path):
    draw = np.random.default_rng(0)
    points = draw.normal(size=(900, 2))
    rows = [
        {"label": bool(x * y > 0), "split": s}
        for (x, y), s in zip(points, ["train", "val", "test"] * 300, strict=True)
    ]
    path = write(tmp_path / "xor.jsonl", rows, embedding=points)
    ask = ("infer", path, "--lr", "0.01", "--weight-decay", "0", "--epochs", 60, "--patience", 20)
    linear, both = (score(evaluate(*ask, "--hidden", h), "accuracy") for h in ("0", "0,32"))
    assert linear["value"] < 65 and both["value"] > 90
    assert both["chosen"]["hidden"] == 32


@pytest.mark.parametrize(
    ("change", "flags", "says"),
    [
        ({}, ("--label", "knid"), "did you mean kind?"),
        ({"kind": "a"}, ("--label", "kind"), "one class to learn, 'a': nothing to tell apart"),
        ({"kind": None}, ("--label", "kind"), "row 1 has no kind"),
        ({"split": "train"}, ("--label", "kind"), "no row has split = 'test'"),
        ({"split": "train"}, ("--label", "kind"), "--test-split names another"),
    ],
)
def test_what_cannot_be_learnt_from_is_said_in_one_line(
    command: Command, dialogues, tmp_path: Path, change: Record, flags: tuple, says: str
):
    path = write(
        tmp_path / "bad.jsonl", [row | change for row in dialogues[0]], embedding=dialogues[1]
    )
    said = command("infer", path, *flags, code=1).stderr
    assert says in said and "Traceback" not in said and "defect" not in said


def test_a_class_that_training_rows_lack_is_never_right(evaluate: Evaluate, tmp_path: Path):
    """Though its row lies where those of the first class do."""
    splits = {"train": "ab", "val": "ab", "test": "abc"}
    rows = [
        {"label": label, "split": split, "tokens": 3}
        for split, labels in splits.items()
        for label in labels
    ]
    axes = np.eye(2)[[int(row["label"] == "b") for row in rows]]
    path = write(tmp_path / "c.jsonl", rows, embedding=axes)
    found = evaluate("infer", path, *QUICK, "--each")
    assert score(found, "accuracy", "all")["each"] == [1, 1, 0]
    assert score(found, "majority", "all")["each"] == [1, 0, 0]
    few = evaluate("infer", path, *QUICK, "--under-tokens", 4)
    assert {record["setting"] for record in few} == {"under 4 tokens"}


def test_a_label_is_a_text_or_a_number_and_the_share_of_right_ones_a_plain_number():
    from dialtools.errors import DataError
    from dialtools.eval.tasks.infer import accuracy, classes
    from dialtools.streams.vectors import Embeddings

    part = Embeddings({"embedding": np.ones((2, 2))}, {"label": ["a", {"b": 1}]})
    with pytest.raises(DataError, match="label"):
        classes(part, ("label",))
    assert type(accuracy(np.array([0]), np.ones((1, 2)))) is float, "JSON has no other kind"
