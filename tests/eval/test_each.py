"""Scores keep what every test item adds to them, and which the items are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from score_files import Evaluate, Record, Toy, halves, score, write

from dialtools.eval import each

Command = Callable[..., subprocess.CompletedProcess]
QUICK = ("--lr", "0.1", "--weight-decay", "0", "--epochs", 5)
N = 40  # pairs of each task that scores pairs


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of three classes in three splits; those to validate on are those learnt from."""
    toy = Toy(["oos", "book", "greet"], each=10)
    source = {"train": "train", "val": "train", "test": "test"}
    rows = [{**row, "split": split} for split in source for row in toy.rows(source[split])]
    vectors = np.concatenate([toy.vectors[part] for part in source.values()])
    return write(tmp_path_factory.mktemp("each") / "labelled.jsonl", rows, embedding=vectors)


def relabelled(labelled: Path, name: str, change: Callable[[int, Record], Record]) -> Path:
    """The same file with other columns."""
    rows = [json.loads(line) for line in labelled.read_text().splitlines()]
    path = labelled.with_name(name)
    path.write_text("".join(json.dumps(row | change(i, row)) + "\n" for i, row in enumerate(rows)))
    return path


def with_acts(i: int, row: Record) -> Record:
    return {"labels": sorted({row["label"], ("book", "greet")[i % 2]})}


def with_words(i: int, row: Record) -> Record:
    return {"text": f"text {i % 7} {i % 5} {i}"}


@pytest.fixture(scope="module")
def asked(labelled: Path) -> dict[str, list[object]]:
    """For each task a line that scores a small file."""
    draw = np.random.default_rng(0)
    one, other = draw.normal(size=(2, N, 4))
    alike = [{"split": "ab"[i % 2], "score": int(draw.integers(0, 4))} for i in range(N)]
    kinds = ("entailment", "contradiction", "neutral")

    def pairs(name: str, rows: list[Record], **vectors: np.ndarray) -> Path:
        return write(labelled.with_name(name), rows, **vectors)

    select = pairs(
        "pairs.jsonl",
        [{"response": f"r{i % 17}"} for i in range(N)],
        context_embedding=one,
        response_embedding=other,
    )
    sts = pairs("sts.jsonl", alike, text1_embedding=one, text2_embedding=other)
    entail = pairs(
        "nli.jsonl",
        [{"premise": f"p{i // 4}", "label": kinds[i % 3]} for i in range(N)],
        premise_embedding=np.repeat(one[: N // 4], 4, 0),
        hypothesis_embedding=other,
    )
    words = relabelled(labelled, "similar.jsonl", with_words)
    return {
        "intent": ["intent", labelled, "--runs", 3, "--shots", "1,2"],
        "intent logreg": ["intent", labelled, "--runs", 3, "--method", "logreg"],
        "intent knn": ["intent", labelled, "--method", "knn"],
        "oos": ["oos", labelled, "--runs", 3, "--shots", "1", "--each"],
        "select": ["select", select, "--candidates", 8],
        "act": ["act", relabelled(labelled, "acts.jsonl", with_acts), *QUICK],
        "infer": ["infer", labelled, *QUICK],
        "retrieve": ["retrieve", "--lists", "bm25", words],
        "sts": ["sts", sts],
        "entail": ["entail", entail],
    }


TASKS = (
    *("intent", "intent logreg", "intent knn", "oos", "select"),
    *("act", "infer", "retrieve", "sts", "entail"),
)


@pytest.mark.parametrize("task", TASKS)
def test_the_items_make_the_score_again_and_can_be_left_out(
    evaluate: Evaluate, asked: dict[str, list], task: str
):
    records = evaluate(*asked[task])
    for record in records:
        whole = np.ones((1, each.size(record["each"])))
        again = 100 * each.statistic(record["metric"], record["each"])(whole)[0]
        assert again == pytest.approx(record["value"], abs=1e-4), (
            record["setting"],
            record["metric"],
        )
        assert record["items"] or task == "sts"
    bare = evaluate(*asked[task], "--no-each")
    assert not any({"each", "items"} & set(record) for record in bare)
    assert [r["value"] for r in bare] == [r["value"] for r in records]


def test_numbers_are_short_and_a_row_that_does_not_count_is_null(
    evaluate: Evaluate, asked: dict[str, list]
):
    records = evaluate(*asked["oos"])
    inside = score(records, "in-accuracy", "1-shot mean")
    assert [v is None for v in inside["each"]] == [
        v is not None for v in score(records, "oos-recall", "1-shot mean")["each"]
    ]
    assert all(v is None or 3 * v == pytest.approx(round(3 * v), abs=1e-5) for v in inside["each"])
    assert all(isinstance(v, int) for v in evaluate(*asked["intent knn"])[0]["each"])


def test_items_are_the_same_for_other_vectors_and_fewer_columns_but_not_in_another_order(
    evaluate: Evaluate, tmp_path: Path
):
    from dialtools.eval import identity as items

    toy = Toy(["a", "b"])
    train = write(tmp_path / "train.jsonl", toy.rows("train"), embedding=toy.vectors["train"])

    def of(name: str, rows: list[Record], vectors: np.ndarray) -> dict[str, str]:
        return evaluate(
            "intent", "--train", train, "--test", write(tmp_path / name, rows, embedding=vectors)
        )[0]["items"]

    rows, vectors = toy.rows("test"), toy.vectors["test"]
    plain = of("plain.jsonl", rows, vectors)
    assert items.differing(plain, of("other.jsonl", rows, -vectors)) == []
    assert (
        items.differing(plain, of("few.jsonl", [{"label": r["label"]} for r in rows], vectors))
        == []
    )
    assert "text" in (items.differing(plain, of("turned.jsonl", rows[::-1], vectors[::-1])) or ())
    assert items.differing({"text": "1"}, {"id": "1"}) is None


def test_classes_are_counted_and_test_texts_that_training_rows_repeat_are_found(
    command: Command, process: Command, tmp_path: Path
):
    axes = np.eye(3)
    train = [
        {"text": "Where's my card?", "label": "card"},
        {"text": "pay the bill", "label": "pay"},
        {"text": "hello", "label": "pay"},
    ]
    test = [
        {"text": "where's   my card", "label": "card"},
        {"text": "hello", "label": "card"},
        {"text": "pay", "label": "pay"},
    ]
    files = (
        write(tmp_path / "train.jsonl", train, embedding=axes),
        write(tmp_path / "test.jsonl", test, embedding=axes),
    )
    done = command("intent", "--method", "knn", *halves(files), "--json")
    record = json.loads(done.stdout)
    about = record["data"]["train"]
    assert (
        about["rows"],
        about["classes"],
        about["smallest"],
        about["largest"],
        about["majority"],
    ) == (3, 2, 1, 2, 66.67)
    assert record["data"]["leakage"] == {"field": "text", "exact": 1, "normalised": 2}
    # neighbours are the rows of the same number: right, wrong (hello is `pay` in training), right
    assert record["value"] == pytest.approx(200 / 3) and record["unleaked"] == 100
    assert "2 of 3 test rows occur in training (1 letter by letter); `unleaked`" in done.stderr
    assert process("intent", "--method", "knn", *halves(files), "-q").stderr == ""


@pytest.mark.parametrize(
    ("metric", "adds"),
    [
        ("accuracy", [1, 0]),
        ("accuracy", {"right": [1, 0], "of": [1, 2]}),
        ("weighted-f1", {"truth": [0, 1], "guess": [[0, 0]]}),
        ("micro-f1", {"truth": [[0], [1]], "guess": [[0], [0]], "labels": 2}),
    ],
)
def test_of_no_row_there_is_no_score(metric: str, adds: object):
    assert np.isnan(each.without(metric, adds, np.array([True, True])))
    assert each.without(metric, adds, np.array([False, True])) == 100


def test_without_texts_leakage_is_not_known_and_histories_are_texts_too(
    command: Command, tmp_path: Path
):
    quick = ("--lr", "0.1", "--weight-decay", "0", "--epochs", 2)
    draw = np.random.default_rng(0)
    rows = [
        {"label": i % 2, "split": split} for split in ("train", "val", "test") for i in range(6)
    ]
    path = write(tmp_path / "bare.jsonl", rows, embedding=draw.normal(size=(18, 3)))
    done = command("infer", path, *quick, "--json")
    assert (
        "no texts here" in done.stderr
        and "leakage" not in json.loads(done.stdout.splitlines()[0])["data"]
    )
    said = [
        {**row, "history": [{"text": f"Hi {i % 12}"}, {"text": "yes"}]}
        for i, row in enumerate(rows)
    ]
    record = json.loads(
        command(
            "infer",
            write(tmp_path / "said.jsonl", said, embedding=draw.normal(size=(18, 3))),
            *quick,
            "--json",
        ).stdout.splitlines()[0]
    )
    assert record["data"]["leakage"] == {"field": "history", "exact": 6, "normalised": 6}
    assert "unleaked" not in record, "no test row is left"


@pytest.mark.shared
@pytest.mark.parametrize(("name", "found"), [("clinc150", 19), ("banking77", 25)])
def test_the_known_overlaps_of_published_sets_are_found(
    published, tmp_path: Path, name: str, found: int
):
    from dialtools.eval.sanity import folded, repeated

    texts = {
        split: [folded(row["text"]) for row in published(name) if row["split"] == split]
        for split in ("train", "test")
    }
    assert repeated(texts["train"], texts["test"]).sum() == found
