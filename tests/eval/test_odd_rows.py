"""Rows, lists and files that are not as they should be: episodes, labels, texts, what items add."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dialtools.errors import ConfigError, DataError
from dialtools.eval import each, mixed, prepared, sanity
from dialtools.eval.episodes import Episodes
from dialtools.eval.identity import item_digests
from dialtools.eval.labelled import labelled_rows
from dialtools.eval.options.curve import CurveOptions
from dialtools.eval.options.intent import IntentOptions
from dialtools.eval.options.space import SpaceOptions
from dialtools.eval.rows import Parts, groups, hold_out
from dialtools.eval.score import Score, of_queries
from dialtools.eval.tasks import space
from dialtools.streams.vectors import Embeddings

FACTS = {"task": "t", "dataset": "d", "setting": "", "metric": "accuracy"}


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def part(count: int, **columns: list[Any]) -> Embeddings:
    return Embeddings({"embedding": np.eye(count, 2)}, columns, {}, "f.parquet")


@pytest.mark.parametrize(
    "content",
    [[], {}, [{"shots": {}}], {"shots": [1]}, {"x": 3}, {"x": {}, "y": 3}, {"x": {"shots": [1]}}],
)
def test_a_file_that_holds_no_episodes_is_refused_whole(tmp_path: Path, content: Any):
    (tmp_path / "e.json").write_text(json.dumps(content))
    options = IntentOptions(inputs=("x",), episodes=str(tmp_path / "e.json"), episode_set="x")
    with pytest.raises(DataError, match=r'e\.json: expected {"shots": {"1":'):
        Episodes(options).take(["a", "b"], 1)


def test_a_name_for_a_data_set_without_one_is_refused(tmp_path: Path):
    (tmp_path / "e.json").write_text(json.dumps({"shots": {"1": [{"train_idx": [0]}]}}))
    options = IntentOptions(inputs=("x",), episodes=str(tmp_path / "e.json"), episode_set="x")
    with pytest.raises(ConfigError, match="--episode-set: the file of --episodes is of one set"):
        Episodes(options).take(["a", "b"], 1)
    with pytest.raises(ConfigError, match="no 5-shot runs; there are 1"):
        Episodes(replace(options, episode_set=None)).take(["a", "b"], 5)


@pytest.mark.parametrize("rows", [[], [-1, 0], [0, 2]])
def test_an_episode_is_of_some_training_rows_and_of_no_others(tmp_path: Path, rows: list[int]):
    (tmp_path / "e.json").write_text(json.dumps({"shots": {"1": [{"train_idx": rows}]}}))
    options = IntentOptions(inputs=("x",), episodes=str(tmp_path / "e.json"))
    with pytest.raises(DataError, match="1-shot: rows must be 0 to 1, the training rows"):
        Episodes(options).take(["a", "b"], 1)


@pytest.mark.parametrize("rows", [[0, 1.0], [True], ["0"], "", {}, 0])
def test_rows_of_an_episode_are_a_list_of_whole_numbers(tmp_path: Path, rows: Any):
    for run in ({"train_idx": rows}, {"train_idx": [0], "val_idx": rows}):
        (tmp_path / "e.json").write_text(json.dumps({"x": {"shots": {"1": [run]}}}))
        options = IntentOptions(inputs=("x",), episodes=str(tmp_path / "e.json"))
        with pytest.raises(DataError, match='each run needs "train_idx", a list of row numbers'):
            Episodes(options).take(["a", "b"], 1)
        with pytest.raises(ConfigError, match="--episode-set: choose from x"):
            Episodes(replace(options, episode_set="y")).take(["a", "b"], 1)


def test_episodes_that_nobody_took_are_not_written(tmp_path: Path):
    options = IntentOptions(inputs=("x",), save_episodes=str(tmp_path / "e.json"), runs=1)
    drawn = Episodes(options)
    drawn.export()
    assert not (tmp_path / "e.json").exists()
    drawn.take(["a", "b"], 1)
    drawn.export()
    assert (tmp_path / "e.json").exists()


def test_classes_with_too_few_rows_for_their_shots_are_told_with_what_was_learnt_from():
    drawn = Episodes(IntentOptions(inputs=("x",), runs=2))
    drawn.take([*"aaaaa", *"bbbbbbbb", *"ccccccccc"], 5)
    (note,) = drawn.notes
    assert "2 classes with fewer than 9 rows: half of the" in note and "least 3 rows)" in note
    drawn.take([*"aaaaa", *"bbbbb"], 3)
    assert drawn.notes == [note], "of 5 rows 3 are learnt from"


def test_it_is_told_that_a_single_run_has_no_interval():
    drawn = Episodes(IntentOptions(inputs=("x",), runs=1))
    for shots in (1, 2):
        drawn.take([*"aaaa", *"bbbb"], shots)
    assert drawn.notes == [
        "1-shot, 2-shot: one run has no interval; others would draw other examples"
    ]


def test_rows_are_grouped_by_a_column_of_any_name():
    assert groups(part(4, client=[7, 7, 8, None]), "client") == [0, 0, 1, 2]


def test_a_label_is_a_name():
    with pytest.raises(DataError, match=r"f\.parquet:2: label: expected "):
        labelled_rows(part(2, label=["a", ["b"]]), "label")


def test_a_label_is_the_same_whether_its_accent_is_a_character_of_its_own_or_not():
    rows = part(3, label=["e\u0301", "\u00e9", "b"])
    assert labelled_rows(rows, "label").labels == ["\u00e9", "\u00e9", "b"]


def test_texts_are_compared_where_every_row_of_both_files_has_some():
    def told(train: list[Any], test: list[Any]) -> bool:
        rows = [part(2, text=texts) for texts in (train, test)]
        score = of_queries(np.ones(2), seed=0, **FACTS)
        sanity.check([score], *rows, ["a", "b"], ["a", "b"])
        assert (score.unleaked is None) == (not set(train) & set(test))
        return "leakage" in score.data

    assert told(["a", "b"], ["a", "c"]) and told(["a", "b"], ["c", "d"])
    for texts in ([1, 2], ["a", 2]):
        assert not told(texts, ["b", "c"]) and not told(["b", "c"], texts)
    sizes = dict.fromkeys(("rows", "classes", "smallest", "largest", "majority"), 0)
    assert sanity.balance(part(0), []) == {**sizes, "items": {}}
    assert sanity.balance(part(1, text=["t"]), ["a"])["majority"] == 100


def test_of_several_fields_that_were_embedded_all_must_be_there():
    rows = part(2, history=[["a"], ["b"]])
    rows.metadata["dialtools"] = json.dumps({"options": {"field": ["history+response"]}})
    assert sanity.embedded(rows) == []
    assert sanity.row_texts(rows, ["history", "response"]) is None
    assert sanity.row_texts(rows, ["history"]) == ["a", "b"]
    assert sanity.row_texts(part(0), []) is None


def test_lambda_is_chosen_on_a_tenth_of_the_rows_that_the_seed_draws():
    many = part(200, n=list(range(200)))
    parts = Parts(many, part(0), many)
    own = mixed.rows_to_choose_on(parts, IntentOptions(inputs=("x",), seed=3)).validation
    assert own.columns["n"] == hold_out(many, range(200), 0.1, seed=3).validation.columns["n"]
    for seed in range(50):  # of which some hold out the only row
        with pytest.raises(DataError, match="1 training rows: none to choose lambda on"):
            alone = Parts(part(1), part(0), part(1))
            mixed.rows_to_choose_on(alone, IntentOptions(inputs=("x",), seed=seed))


def test_items_of_any_type_have_a_digest():
    assert item_digests({"text": [Decimal("1.5")]}) == item_digests({"text": ["1.5"]})


def test_scores_without_some_items_are_plain_numbers_and_labels_are_so_many_at_most():
    found = each.without("accuracy", [1, 0, 0], np.array([False, True, False]))
    assert type(found) is float and found == 50
    for labels in (1, each.MOST_LABELS):
        acts = {"truth": [[0]], "guess": [[0]], "labels": labels}
        assert each.statistic("micro-f1", acts)(np.ones((1, 1))) == [1]


def test_what_is_asked_on_the_way_has_rows_in_scope_and_rows_out_of_it(tmp_path: Path):
    rows = [{"split": s, "label": n, "text": f"{s} {n}"} for s in ("train", "test") for n in "abo"]

    def prepare(split: str, left_out: str) -> list[prepared.Prepared]:
        kept = [row for row in rows if row["split"] != split or row["label"] not in left_out]
        file = write(tmp_path / "o.jsonl", *kept)
        return prepared.prepare(CurveOptions(inputs=("m",), oos=file, oos_label="o", shots=(1,)))

    (task,) = prepare("test", "b")
    assert len(task.records) == 5
    for split, left_out, says in (
        ("train", "o", "no training row is labelled 'o'; there are a, b$"),
        ("test", "o", "no test row is labelled 'o'; there are a, b$"),
        ("test", "ab", "every test row is labelled 'o': none is in scope"),
    ):
        with pytest.raises(DataError, match=says):
            prepare(split, left_out)


def test_rows_that_are_left_out_may_leave_none_to_test(tmp_path: Path):
    named = [("train", "a"), ("train", "b"), ("train", "c"), ("test", "a")]
    file = write(tmp_path / "i.jsonl", *({"split": s, "label": n, "text": n} for s, n in named))
    assert len(prepared.prepare(CurveOptions(inputs=("m",), intent=file))) == 1
    with pytest.raises(DataError, match="2 classes to learn, 0 rows to test: nothing to tell"):
        prepared.prepare(CurveOptions(inputs=("m",), intent=file, without="a"))


def test_a_file_is_of_pairs_or_of_intents_and_holds_some(tmp_path: Path):
    pair = [{"history": ["q"], "response": f"r{i}"} for i in range(101)]
    for count, candidates in ((1, 1), (2, 2), (99, 99), (101, 100)):
        task = prepared.prepare_file(write(tmp_path / "p.jsonl", *pair[:count]), seed=3)
        assert isinstance(task, prepared.Selections)
        assert (task.options.candidates, task.options.seed) == (candidates, 3)
    rows = [{"split": s, "label": n, "text": n} for s in ("train", "test") for n in "ab"]
    intents = prepared.prepare_file(write(tmp_path / "i.jsonl", *rows), seed=3)
    assert isinstance(intents, prepared.Intents) and intents.seed == 3
    assert list(intents.episodes) == [1, 5], "as dial-eval curve has them"
    with pytest.raises(DataError, match=r"p\.jsonl: holds no records"):
        prepared.prepare_file(write(tmp_path / "p.jsonl"), seed=3)


def test_the_figure_of_a_task_is_the_mean_of_its_headlines():
    scores = [
        Score("t", "d", "", metric, value, 0, 0, 0, n=1, seed=0)
        for metric, value in (("top-1", 1.0), ("mrr", 50.0), ("accuracy", 4.0))
    ]
    figure = prepared.headline(scores)
    assert type(figure) is float and figure == 2.5


def test_of_a_space_only_what_is_known_is_told():
    def told(*labels: str) -> set[str]:
        rows = part(2, label=list(labels))
        return {score.metric for score in space._scores(rows, "", SpaceOptions(inputs=("x",)))}

    every = {"uniformity", "average-cosine", "effective-rank", "isotropy"}
    assert told("a", "b") == every | {"inter-cosine"}
    assert told("a", "a") == every | {"intra-cosine", "alignment"}


def test_what_rounding_leaves_below_zero_is_shown_as_zero():
    assert str(Score("space", "d", "", "alignment", -3.5e-16, n=1, seed=0).value) == "0.0"
