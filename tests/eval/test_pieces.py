"""What tasks are made of, piece by piece: rows, labels, identities, leakage, scores, statistics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from score_files import write_npy

from dialtools.chance import sample_of_rows
from dialtools.corpora.splits import held_out
from dialtools.errors import ConfigError, DataError, GateError, ModelError
from dialtools.eval import curve, each, logreg, mixed, prepared, probe, sanity
from dialtools.eval.episodes import Episodes
from dialtools.eval.identity import differing, item_digests
from dialtools.eval.labelled import Labelled, labelled_rows, without_label
from dialtools.eval.options.act import ActOptions
from dialtools.eval.options.curve import CurveOptions
from dialtools.eval.options.entail import EntailOptions
from dialtools.eval.options.infer import InferOptions
from dialtools.eval.options.intent import IntentOptions
from dialtools.eval.options.oos import OosOptions
from dialtools.eval.options.space import SpaceOptions
from dialtools.eval.options.sts import StsOptions
from dialtools.eval.rows import Parts, groups, hold_out, read_parts, rows_by_part
from dialtools.eval.score import Score, check_gates, gated, of_queries, of_runs, shares
from dialtools.eval.suite import AVERAGE, Dataset, Row, Suite, with_tasks
from dialtools.eval.suite_job import find_places
from dialtools.eval.tasks import act, intent, oos, space
from dialtools.eval.tasks.entail import triplets
from dialtools.eval.tasks.infer import accuracy, classes, short_enough
from dialtools.eval.tasks.retrieve import given_lists, similarities
from dialtools.eval.tasks.sts import annotated, cosines, ordering
from dialtools.metrics import counts, f1
from dialtools.metrics.episodes import sample
from dialtools.metrics.resample import over_items
from dialtools.shown import listed
from dialtools.streams.vectors import Embeddings, embedding_batch


def part(count: int = 4, **columns: list[Any]) -> Embeddings:
    """Rows with vectors, a name, and some columns."""
    draw = np.random.default_rng(0)
    return Embeddings({"embedding": draw.normal(size=(count, 3))}, columns, {}, "f.parquet")


def test_items_are_told_by_the_columns_that_say_what_they_are():
    columns = {
        "text": ["a", "b", "c"],
        "label": [1, 2, 3],
        "other": [0, 0, 0],
        "id": ["x", "y", "z"],
    }
    every = item_digests(columns)
    assert list(every) == ["id", "text"] and all(len(digest) == 16 for digest in every.values())
    assert list(item_digests(columns, also=("label", "text"))) == ["id", "text", "label"]
    some = item_digests(columns, np.array([2, 0]))
    assert some == item_digests({"text": ["c", "a"], "id": ["z", "x"]}) != every
    assert differing(every, every) == [] and differing(every, {"turn": "1"}) is None
    assert differing(every, {"text": every["text"], "id": "0"}) == ["id"]


def test_items_are_the_same_whatever_kind_of_file_their_labels_come_from():
    of_json, of_csv = [1, 2, None, True], ["1", "2", "", "true"]
    with_gaps = [1.0, 2.0, float("nan"), True]
    first, *others = (
        item_digests({"label": values, "id": values}, also=("label",))
        for values in (of_json, of_csv, with_gaps)
    )
    assert all(other == first for other in others)
    for apart in ([1, 2, None, False], [1, 2.5, None, True], [1, 2, "None", True]):
        assert differing(first, item_digests({"label": apart}, also=("label",))) == ["label"]
    assert hold_out_of([1, 2.0, "3", None]) == hold_out_of(["1", 2, 3.0, None])


def hold_out_of(names: list[Any]) -> list[bool]:
    return [share for seed in range(20) for share in held_out(names, 0.5, seed=seed)]


def test_labels_are_texts_and_vectors_of_unit_length_unless_asked_otherwise():
    rows = part(2, label=[1, "b"])
    found = labelled_rows(rows, "label")
    assert found.labels == ["1", "b"] and found.classes(["b", "c", "1"]).tolist() == [2, 0]
    assert found.classes(["c"]).tolist() == [-1, -1]
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1)
    assert (labelled_rows(rows, "label", scaled=False).vectors == rows.matrix).all()
    own = labelled_rows(rows, "label", np.full((2, 4), 2.0)).vectors
    assert own.tolist() == [[0.5] * 4] * 2
    with pytest.raises(DataError, match="row 2 has no label"):
        labelled_rows(part(2, label=["a", None]), "label")
    with pytest.raises(DataError, match="holds no rows"):
        labelled_rows(part(0, label=[]), "label")
    kept = without_label(part(3, label=[1, "x", "1"]), "label", "1")
    assert kept.columns["label"] == ["x"] and without_label(rows, "label", None) is rows
    assert len(without_label(part(2, label=["a", None]), "label", "None")) == 2


def test_rows_of_a_split_are_scored_apart():
    rows = part(4, split=["b", "a", "b", None])
    by_part = rows_by_part(rows, split="split", part=None)
    assert [(k, v.columns["split"]) for k, v in by_part.items()] == [
        ("b", ["b", "b"]),
        ("a", ["a"]),
        ("", [None]),
    ]
    assert list(rows_by_part(rows, split="split", part="a")) == ["a"]
    for one, column in ((part(4), "split"), (rows, "none")):
        assert len(rows_by_part(one, split=column, part=None)[""]) == 4
    with pytest.raises(DataError, match="no column 'spilt'; there are split"):
        rows_by_part(rows, split="spilt", part=None)
    with pytest.raises(DataError, match="holds no rows"):
        rows_by_part(part(0), split="split", part=None)


def test_samples_and_held_out_rows_depend_on_the_seed_and_groups_on_dialogues():
    assert sample_of_rows(5, 5, seed=0).tolist() == [0, 1, 2, 3, 4]
    drawn = [sample_of_rows(100, 10, seed=seed).tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(set(drawn[0])) and len(drawn[0]) == 10
    rows, names = part(40, n=list(range(40))), [i // 2 for i in range(40)]
    out = [hold_out(rows, names, 0.3, seed=seed).validation.columns["n"] for seed in (0, 1)]
    assert out[0] != out[1] and all(len(own) % 2 == 0 and own for own in out)
    kept = hold_out(rows, names, 0.3, seed=0).train.columns["n"]
    assert sorted(kept + out[0]) == list(range(40))
    talks = part(4, dialogue_id=["x", "y", "x", None], client=[1, 2, 3, 4])
    assert groups(talks, None) == [0, 1, 0, 2] and groups(talks, "client") == []
    assert groups(part(2), None) == []
    with pytest.raises(DataError, match="no column 'clint'"):
        groups(talks, "clint")


def test_scores_of_runs_and_of_queries_by_hand():
    runs = of_runs([50.0, 60.0, 70.0], task="t", dataset="d", setting="", metric="m", n=9, seed=0)
    reach = stats.t.ppf(0.975, 2) * 10 / 3**0.5
    assert (runs.value, runs.std, runs.runs, runs.values) == (60, 10, 3, [50, 60, 70])
    assert (runs.low, runs.high) == pytest.approx((60 - reach, 60 + reach), abs=1e-2)
    facts = {"task": "t", "dataset": "d", "setting": "", "metric": "m", "seed": 3}
    values = np.array([60.0, 50, 60, 55])
    own = of_queries(values, **facts)
    assert (own.value, own.n, own.each, own.runs) == (56.25, 4, [0.6, 0.5, 0.6, 0.55], 1)
    assert own.low < 56.25 < own.high and own.record() == of_queries(values, **facts).record()
    grouped = of_queries(values, groups=[0, 0, 1, 1], **facts)
    assert (grouped.low, grouped.high) != (own.low, own.high)
    for metric, least in (("accuracy", 0), ("spearman", -100)):
        few = of_runs([0.0, 100.0], n=2, **{**facts, "metric": metric})
        assert (few.low, few.high) == (least, 100), "no interval goes beyond what may be"
    assert shares(np.array([1, 0.25, np.nan, 1 / 3])) == [1, 0.25, None, 0.333333]
    assert [type(v) for v in shares(np.array([1, 0.25]))] == [int, float]


def test_a_record_leaves_out_what_is_not_known_and_reads_back():
    nan = float("nan")
    score = Score("t", "d", "", "m", 1.0, nan, 2.0, n=5, seed=0, each=[1], items={"a": "b"})
    record = score.record()
    assert record == {
        **{
            "schema": "dialtools.score/1",
            "task": "t",
            "dataset": "d",
            "setting": "",
            "metric": "m",
        },
        **{
            "value": 1.0,
            "high": 2.0,
            "runs": 1,
            "n": 5,
            "seed": 0,
            "each": [1],
            "items": {"a": "b"},
        },
    }
    assert Score.from_record(record).record() == record
    short = score.record(each=False)
    assert short == {k: v for k, v in record.items() if k not in ("each", "items")}


def test_a_score_at_the_gate_passes():
    right = of_queries(
        100.0 * (np.arange(50) < 29), task="t", dataset="d", setting="", metric="m", seed=0
    )
    assert 100 * (29 / 50) < 58, "as floats have it"
    check_gates(gated([right], ("m=58",)))
    score = Score("t", "d", "s", "m", 50.0, 0, 0, 0, n=5, seed=0)
    check_gates(gated([score], ("m=50", "s m=50.0", "m=49.9")))
    for gate in ("m=50.01", "s m=51"):
        with pytest.raises(GateError, match=r"t s m is 50\.00, below"):
            check_gates(gated([score], (gate,)))
    with pytest.raises(ConfigError, match="no metric 'z m'") as refused:
        gated([score], ("z m=1",))
    assert refused.value.hint == "did you mean s m?"
    with pytest.raises(ConfigError, match="no metric 'n'"):
        check_gates(gated([score], ("n=1",)))
    score.value = float("nan")
    with pytest.raises(GateError):
        check_gates(gated([score], ("m=0",)))


@pytest.mark.parametrize("average", list(f1.AVERAGES))
def test_a_score_without_rows_is_that_of_the_rows_left(average: str):
    """Labels of which no row is left count 0, as in the score of these rows by themselves."""
    draw = np.random.default_rng(0)
    truth_NA, guess_NA = draw.random((2, 9, 5)) < 0.25
    out_N = np.arange(9) % 3 > 0
    listed_NA = [[np.flatnonzero(row).tolist() for row in table] for table in (truth_NA, guess_NA)]
    payload = {"truth": listed_NA[0], "guess": listed_NA[1], "labels": 5}
    sums_3A = f1.counts(truth_NA[~out_N], guess_NA[~out_N]).sum(0)
    expected = 100 * f1.AVERAGES[average](sums_3A)
    assert each.without(f"{average}-f1", payload, out_N) == pytest.approx(expected)

    truth_N, guess_RN = draw.integers(0, 4, 9), draw.integers(0, 4, (2, 9))
    payload = {"truth": truth_N.tolist(), "guess": guess_RN.tolist()}
    left = {"truth": truth_N[~out_N].tolist(), "guess": guess_RN[:, ~out_N].tolist()}
    expected = 100 * each.statistic(f"{average}-f1", left)(np.ones((1, 3)))[0]
    assert each.without(f"{average}-f1", payload, out_N) == pytest.approx(expected)


def test_leakage_is_counted_letter_by_letter_and_folded_and_scored_without():
    train = part(3, text=["Hello there!", "yes", ""])
    test = part(4, text=["hello THERE", "yes", "no", ""])
    score = of_queries(
        np.array([100.0, 100, 0, 100]), task="t", dataset="d", setting="", metric="m", seed=0
    )
    sanity.check([score], train, test, ["a", "a", "b"], ["a", "b", ["a", "c"], []])
    assert score.data["leakage"] == {"field": "text", "exact": 1, "normalised": 2}
    assert score.unleaked == 50  # "no" and the empty text are left
    known = {k: v for k, v in score.data["train"].items() if k != "items"}
    assert known == {"rows": 3, "classes": 2, "smallest": 1, "largest": 2, "majority": 66.67}
    assert {**score.data["test"], "items": 0} == {
        **{"rows": 4, "classes": 3, "smallest": 1, "largest": 2, "majority": 50.0, "items": 0}
    }
    assert sanity.balance(test, [["a", "a"], ["a"], [], ["b"]])["largest"] == 2, "a row counts once"
    assert sanity.note_on_rows(score.data) == (
        "2 classes, 1 to 2 training rows each; 2 of 4 test rows occur in training "
        "(1 letter by letter); `unleaked` is the score without them"
    )
    sanity.check([score], part(1, text=["yes"]), part(2, text=["yes", "yes"]), ["a"], ["a", "b"])
    assert sanity.note_on_rows(score.data) == (
        "1 class, 1 training row each; 2 of 2 test rows occur in training (2 letter by letter)"
    ), "nothing is left to be `unleaked`"
    assert score.data["leakage"]["exact"] == 2
    sanity.check([score], part(2), part(2), ["a", "b"], ["a", "b"])
    assert "leakage" not in score.data and "whether test rows occur" in sanity.note_on_rows(
        score.data
    )


def test_test_rows_of_classes_that_training_lacks_are_told():
    lost = sanity.unlearnt(["a", "b", "a"], ["a", "c", "d", "c"])
    assert lost == {"c": 2, "d": 1}
    assert sanity.note_on_unlearnt(lost, 4) == (
        "3 of 4 test rows are of classes without training rows (c, d): they count as wrong"
    )
    assert not sanity.unlearnt(["a", "b"], ["b"])


def test_the_text_of_a_row_is_what_was_embedded_of_it():
    turns = [[{"text": "a"}, "b"], ["c"]]
    rows = part(2, history=turns, response=["r", "s"], text=["t", "u"])
    assert sanity.embedded(rows) == ["text"]
    assert sanity.embedded(part(2, history=turns, text=["t", "u"], turn=[0, 1])) == ["history"]
    rows.metadata["dialtools"] = json.dumps({"options": {"field": ["history+response"]}})
    assert sanity.embedded(rows) == ["history", "response"]
    assert sanity.row_texts(rows, ["history", "response"]) == ["a\nb\nr", "c\ns"]
    rows.metadata["dialtools"] = json.dumps({"options": {"field": ["query"]}})
    assert sanity.embedded(rows) == [] and sanity.row_texts(rows, []) is None
    assert sanity.row_texts(rows, ["query"]) is None
    assert sanity.row_texts(part(1, text=[3]), ["text"]) is None
    assert sanity.folded("Hello,  THERE!") == "hello there"
    assert sanity.embedded(part(2, query=["a", "b"], utterance=["c", "d"])) == ["query"]
    assert sanity.embedded(part(2)) == sanity.embedded(part(2, turn=[0, 1], text=["a", "b"])) == []


def test_intents_of_a_snapshot_are_scored_run_by_run_by_their_prototypes():
    vectors = np.array([[3, 0], [0, 2], [1, 0.2], [2, 1], [0, 5], [1, 1.2]], float)
    task = prepared.Intents(
        file="f",
        seed=4,
        records=[],
        train_labels=["x", "y", "x"],
        test_labels=["x", "y", "x"],
        names=["x", "y"],
        episodes={2: [np.array([0, 1]), np.array([1, 2])], 1: [np.array([0, 1])]},
    )
    two, one = task.scores({"text": vectors})
    # (2, 1) is nearer to x and (0, 5) to y in all runs; (1, 1.2) is nearer to x in the second alone
    hits = np.array([[1, 1, 0], [1, 1, 1]])
    assert two.values == pytest.approx((100 * hits.mean(1)).tolist())
    assert two.each == hits.mean(0).tolist() and one.each == [1, 1, 0]
    assert (two.setting, two.metric, two.n, two.seed, two.runs) == ("2-shot", "accuracy", 3, 4, 2)
    assert (one.setting, one.value) == ("1-shot", pytest.approx(200 / 3))


LABELS = ["x", "y", "oos", "z"] * 6


@pytest.fixture
def intents(tmp_path: Path) -> tuple[list[dict[str, str]], CurveOptions]:
    rows = [
        {"text": f"t{i}", "intent": label, "part": "train" if i < 18 else "held"}
        for i, label in enumerate(LABELS)
    ]
    file = tmp_path / "i.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = {"label": "intent", "split": "part", "test_split": "held", "without": "oos"}
    drawn = {"shots": (1, 2), "runs": 2, "seed": 3}
    return rows, CurveOptions(inputs=("m",), intent=str(file), **drawn, **named)


def test_only_what_some_run_trains_on_is_embedded_and_all_test_rows(intents):
    rows, options = intents
    (task,) = prepared.prepare(options)
    known = [row for row in rows[:18] if row["intent"] != "oos"]
    assert task.names == ["x", "y", "z"] and task.seed == 3 and task.file == options.intent
    labels = [row["intent"] for row in known]
    drawn = {s: [sample(labels, s, seed=seed).train for seed in (3, 4)] for s in (1, 2)}
    texts = [record["text"] for _, record in task.records]
    found = {s: [[texts[i] for i in run] for run in runs] for s, runs in task.episodes.items()}
    assert found == {
        shots: [[known[row]["text"] for row in run] for run in runs]
        for shots, runs in drawn.items()
    }
    some = {row for runs in drawn.values() for run in runs for row in run}
    assert texts == [known[row]["text"] for row in sorted(some)] + ["t19", "t20", "t21", "t23"]
    assert task.train_labels == [labels[row] for row in sorted(some)] and len(some) < len(known)
    assert task.test_labels == ["z", "x", "y", "z"]


def test_no_intent_is_learnt_from_a_made_text_on_the_way_as_by_the_task(intents):
    rows, options = intents
    (before,) = prepared.prepare(options)
    made = [row | {"text": f"made {i}", "synthetic": True} for i, row in enumerate(rows[:18])]
    with Path(str(options.intent)).open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in made)
    (task,) = prepared.prepare(options)
    texts, again = ([record["text"] for _, record in t.records] for t in (before, task))
    assert texts == again


def test_what_is_out_of_scope_is_told_on_the_way_as_by_the_task(intents, tmp_path: Path):
    rows, options = intents
    options = replace(options, intent=None, oos=options.intent)
    (task,) = prepared.prepare(options)
    assert task.names == ["x", "y", "z", "oos"]
    vectors = np.random.default_rng(0).normal(size=(len(rows), 4))
    place = {row["text"]: i for i, row in enumerate(rows)}
    own = vectors[[place[record["text"]] for _, record in task.records]]
    found = {f"{s.setting} {s.metric}": s.values for s in task.scores({"text": own})}
    assert sorted(found) == sorted(options.metrics)
    asked = {"text": ["t18", "t19", "t20", "t21", "t22", "t23"], "intent": task.test_labels}
    assert {*map(repr, (s.items for s in task.scores({"text": own})))} == {
        repr(item_digests(asked, also=("intent",)))
    }

    embedded = tmp_path / "oos.jsonl"
    lines = ({**row, "embedding": vectors[i].tolist()} for i, row in enumerate(rows))
    embedded.write_text("".join(json.dumps(line) + "\n" for line in lines))
    names = {"label": "intent", "split": "part", "test_split": "held"}
    asked = OosOptions(inputs=(str(embedded),), shots=(1, 2), runs=2, seed=3, **names)
    whole = {f"{s.setting} {s.metric}": s.values for s in oos.evaluate(asked).scores}
    assert found == {name: pytest.approx(whole[name]) for name in found}


def test_labels_of_a_curve_are_called_as_other_commands_call_them(tmp_path: Path):
    parts = [(part, out) for part in ("train", "test") for out in (True, False, 1.0)]
    rows = [{"text": f"t{i}", "label": out, "split": part} for i, (part, out) in enumerate(parts)]
    file = tmp_path / "b.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = CurveOptions(inputs=("m",), oos=str(file), oos_label="true", shots=(1,))
    (task,) = prepared.prepare(asked)
    assert task.names == ["1", "false", "true"] and task.test_labels == ["true", "false", "1"]


def test_labels_and_splits_that_are_not_there_are_said(intents):
    rows, options = intents
    for change, says in (
        ({"label": "none"}, r"i\.jsonl:1: .*none"),
        ({"test_split": "dev"}, "dev"),
    ):
        with pytest.raises(DataError, match=says):
            prepared.prepare(replace(options, **change))
    Path(options.intent).write_text("".join(json.dumps(row) + "\n" for row in rows[::4] * 2))
    with pytest.raises(DataError, match="1 class to learn"):
        prepared.prepare(options)


def test_responses_are_chosen_among_those_of_consecutive_rows(tmp_path: Path):
    rows = [{"query": "q", "history": None, "response": f"r{i}"} for i in range(4)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = CurveOptions(
        inputs=("m",), select=str(tmp_path / "s.jsonl"), candidates=4, seed=5, runs=1
    )
    (task,) = prepared.prepare(options)
    assert task.fields == ("query", "response") and len(task.records) == 4
    queries = np.eye(4)[[0, 2, 1, 3]]  # the second and third find each other's response
    scores = {s.metric: s for s in task.scores({"query": queries, "response": np.eye(4)})}
    assert scores["top-1"].value == 50 and scores["top-1"].setting == "1-of-4 blocks"
    assert scores["top-1"].seed == 5 and scores["top-1"].dataset == options.select
    told = {name: [row[name] for row in rows] for name in rows[0]}
    assert scores["mrr"].items == item_digests(told), "by which compare pairs them"
    swapped = {s.metric: s.value for s in task.scores({"query": np.eye(4), "response": queries})}
    assert swapped["top-1"] == 50 and swapped["mrr"] == scores["mrr"].value
    with pytest.raises(DataError, match="4 records, fewer than the 5 candidates"):
        prepared.prepare(replace(options, candidates=5))
    (tmp_path / "s.jsonl").write_text('{"text":"a"}\n' * 4)
    with pytest.raises(DataError, match=r"s\.jsonl:1: no field context, .* or question; .* text"):
        prepared.prepare(options)


def test_points_of_runs_as_lines_of_a_table_and_of_a_picture():
    def row(run: str, step: int, value: float, **facts: Any) -> dict[str, Any]:
        return {"run": run, "step": step, "value": value, "task": "select", "metric": "mrr"} | facts

    shots = {"task": "intent", "metric": "accuracy", "setting": "1-shot"}
    rows = [
        row("a", 10, 50.256, low=40, high=60),
        row("a", 10, 7, **shots),
        row("a", 2000, 51.5),
        row("a", 2000, 8, **shots),
        row("b", 10, 1, setting="1-shot"),
        row("b", 10, 2, **shots),
    ]
    assert [curve.title(r) for r in rows[:2]] == ["mrr", "1-shot accuracy"]
    assert curve.table_rows(rows, ["1-shot accuracy", "mrr"]) == [
        ["a", "10", "7.00", "50.26"],
        ["a", "2,000", "8.00", "51.50"],
        ["b", "10", "2.00", "1.00"],
    ]
    lines = curve.lines_of(rows, ["mrr", "1-shot accuracy"])
    nothing = [np.nan, np.nan]
    np.testing.assert_equal(
        lines,
        {
            ("a", "mrr"): np.array([[10, 50.256, 40, 60], [2000, 51.5, *nothing]]),
            ("a", "1-shot accuracy"): np.array([[10, 7, *nothing], [2000, 8, *nothing]]),
            ("b", "mrr"): np.array([[10, 1, *nothing]]),
            ("b", "1-shot accuracy"): np.array([[10, 2, *nothing]]),
        },
    )


def test_snapshots_of_runs_stand_by_step_and_runs_have_short_names(tmp_path: Path):
    for run, steps in (("x/m", (10, 9)), ("y/m", (1,)), ("n", (2,))):
        for step in steps:
            folder = tmp_path / run / "snapshots" / f"step-{step}"
            folder.mkdir(parents=True)
            (folder / "dialtools.json").write_text(json.dumps({"weights": f"{run}{step}"}))
    (tmp_path / "n/snapshots/step-2b").mkdir()
    folders = [str(tmp_path / run) for run in ("x/m", "n", "x/m", "y/m")]
    found = curve.find_points(folders)
    assert [(p.run, p.step, p.weights, p.key) for p in found] == [
        (folders[0], 9, "x/m9", "step 9 x/m9"),
        (folders[0], 10, "x/m10", "step 10 x/m10"),
        ("n", 2, "n2", "step 2 n2"),
        (folders[3], 1, "y/m1", "step 1 y/m1"),
    ]
    (found[2].path / "dialtools.json").write_text("{}")
    with pytest.raises(ModelError, match="not a model directory"):
        curve.find_points([folders[1]])
    with pytest.raises(DataError, match="holds no snapshots"):
        curve.find_points([str(tmp_path)])
    with pytest.raises(DataError, match="nowhere: no such file or directory"):
        curve.find_points(["nowhere"])


def test_a_model_without_snapshots_is_a_point_at_the_step_that_it_tells(tmp_path: Path):
    places = {"Transformer": "", "Pooling": "1_Pooling"}
    modules = [{"type": f"sentence_transformers.models.{k}", "path": p} for k, p in places.items()]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match="not a model directory"):
        curve.find_points([str(tmp_path)])
    of_parts = []
    for part in ("model-00001-of-00002", "model-00002-of-00002"):
        (tmp_path / f"{part}.safetensors").write_bytes(b"weights")
        [foreign] = curve.find_points([str(tmp_path)])
        assert (foreign.step, foreign.path) == (0, tmp_path)
        of_parts.append(foreign.weights)
    assert of_parts[1].startswith(f"{of_parts[0]} model-00002-of-00002.safetensors:")
    told = {"weights": "w", "counts": {"steps": 7}}
    (tmp_path / "dialtools.json").write_text(json.dumps(told))
    [named] = curve.find_points([str(tmp_path)])
    assert named.key == f"step 7 w {named.beside}"
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    [pooled] = curve.find_points([str(tmp_path)])
    assert pooled.weights == "w" and pooled.key != named.key, "of other vectors"


def test_a_space_has_measures_without_intervals():
    rows = part(5, label=["a", "a", "b", "b", "b"])
    rows.metadata["dialtools"] = '{"options": {"model": "m"}}'
    options = SpaceOptions(inputs=("x",), max_rows=4, seed=3)
    scores = {score.metric: score.record() for score in space._scores(rows, "s", options)}
    assert {"uniformity", "alignment", "margin", "isotropy"} <= scores.keys()
    for record in scores.values():
        assert not {"low", "high", "std", "each"} & record.keys()
        assert (record["n"], record["runs"], record["seed"], record["setting"]) == (4, 1, 3, "s")
        assert record["model"] == "m", "by which compare brings the files of a model together"
    assert scores["margin"]["value"] == pytest.approx(
        scores["intra-cosine"]["value"] - scores["inter-cosine"]["value"]
    )
    with pytest.raises(DataError, match="1 row: a space"):
        space._scores(part(1), "s", options)
    assert len(space._scores(part(2), "s", options)) == 4


def test_every_kind_of_each_is_its_statistic():
    ones = np.ones((1, 4))
    numbers = {"right": [1, 0, 1, 1], "binary": [1, 1, 0, 1], "out": [0, 0, 1, 1]}
    four = (3 / 4 + 1 / 2 + 3 / 4 + 1) / 4
    for metric, payload, value in (
        ("accuracy", [1, 0, None, 0.5], 0.5),
        ("average", numbers, four),
        ("auroc", {"out": [0, 0, 1, 1], "rank": [[3, 1, 0, 2], [3, 2, 0, 1]]}, 0.875),
        ("accuracy", {"right": [1, 2, 0, 3], "of": [2, 2, 1, 3]}, 6 / 8),
        (
            "micro-f1",
            {"truth": [[0], [1], [], [0, 1]], "guess": [[0], [0], [1], [0]], "labels": 2},
            0.5,
        ),
        ("macro-f1", {"truth": [0, 1, 1, 0], "guess": [[0, 1, 0, 0]]}, (0.8 + 2 / 3) / 2),
        ("spearman", {"x": [1, 2, 3, 4], "y": [1, 3, 2, 4]}, 0.8),
        ("pearson", {"x": [1, 2, 3, 4], "y": [0, 2, 4, 6]}, 1.0),
    ):
        assert each.size(payload) == 4
        assert each.statistic(metric, payload)(ones)[0] == pytest.approx(value), metric
    assert each.without("accuracy", [1, 0, 0, 0], np.array([False, True, True, False])) == 50
    for bad in ([], {}, {"x": [1]}, {"right": 3, "of": [1]}):
        with pytest.raises(ValueError):
            each.statistic("accuracy", bad)
    for rank in ([], [[0]], [[0, 10**30]], [[0, 1], [0]]):
        with pytest.raises(ValueError, match=r"rank|Overflow"):
            each.statistic("aupr", {"out": [0, 1], "rank": rank})
    for old in ([1, 0.5], {"placement": [1, 0], "out": [0, 1]}):
        with pytest.raises(ValueError, match="score it again"):
            each.statistic("auroc", old)
    for labels in (0, each.MOST_LABELS + 1):
        with pytest.raises(ValueError, match="labels"):
            each.statistic("micro-f1", {"truth": [[0]], "guess": [[0]], "labels": labels})


def test_classes_of_one_column_or_whether_any_of_several_is_true():
    rows = part(4, qi=[0, "1", False, "No"], hi=["YES", 0, None, True])
    rows.columns["hi"][2] = 0
    assert classes(rows, ("qi",)) == ["0", "1", "false", "No"]
    assert classes(rows, ("qi", "hi")) == ["true", "true", "false", "true"]
    with pytest.raises(DataError, match="row 2 has no label"):
        classes(part(2, label=["a", None]), ("label",))
    assert accuracy(np.array([0, 1, -1]), np.array([[0.6, 0.4], [0.7, 0.3], [0.9, 0.1]])) == 1 / 3


def test_rows_of_fewer_tokens():
    def chosen(tokens: list[Any], under: int | None) -> list[Any]:
        options = InferOptions(inputs=("x",), under_tokens=under)
        return short_enough(part(len(tokens), tokens=tokens), options).columns["tokens"]

    assert chosen([3, 4, 5], 4) == [3] and chosen([3, 4], None) == [3, 4]
    for tokens, says in (([4, 5], "no row has fewer than 4"), ([3, "4"], "f.parquet:2: tokens")):
        with pytest.raises(DataError, match=says):
            chosen(tokens, 4)
    with pytest.raises(DataError, match="no column tokens"):
        short_enough(part(2), InferOptions(inputs=("x",), under_tokens=4))


def test_cosines_of_two_texts_and_the_scores_people_gave():
    rows = Embeddings(
        {"a_embedding": np.array([[3.0, 4], [1, 0]]), "b_embedding": np.array([[4.0, 3], [0, 2]])},
        {"score": [1, 2.5]},
    )
    options = StsOptions(inputs=("x",))
    assert cosines(rows, options) == pytest.approx([0.96, 0])
    assert cosines(rows, StsOptions(inputs=("x",), texts=("b", "a"))) == pytest.approx([0.96, 0])
    vectors = np.random.default_rng(0).normal(size=(99, 64)).astype(np.float32)
    same = Embeddings({"a_embedding": vectors, "b_embedding": vectors.copy()}, {})
    assert set(cosines(same, options)) == {1}, "a text is as like itself as any other text is"
    assert annotated(rows, options).tolist() == [1, 2.5]
    for bad in ("1", None, True, float("nan"), float("inf")):
        with pytest.raises(DataError, match=r"f\.parquet:2: score: expected a number"):
            annotated(part(2, score=[1, bad]), options)
    with pytest.raises(DataError, match="has vectors of 1 text"):
        cosines(part(2), options)
    assert ordering(np.array([0.5, -1, 0.5, 2])) == [1, 0, 1, 2]


def test_templates_join_the_training_rows_once_a_label_and_lambda_is_the_smallest_of_the_best():
    text, template = np.eye(4), np.array([[2.0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    rows = Embeddings(
        {"text_embedding": text, "template_embedding": template},
        {},
    )
    known = mixed.with_templates(Labelled(text, ["a", "a", "b", "b"]), rows)
    assert known.labels == ["a", "a", "b", "b", "a", "b", "b"]
    assert known.vectors[4:].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
    np.testing.assert_allclose(mixed.mixture(rows, 0.25)[0], [1, 0, 0, 0])
    np.testing.assert_allclose(mixed.mixture(rows, 0.25)[1], [0.25, 0.75, 0, 0])
    told = {0.0: 50.0, 0.9: 70.0, 0.3: 70.0}
    assert mixed.best((0.0, 0.9, 0.3), told.__getitem__) == (0.3, told)
    many = part(60, n=list(range(60)))
    nothing = many.select(np.zeros(0, np.int64))
    options = IntentOptions(inputs=("x",))
    held = [
        mixed.rows_to_choose_on(Parts(many, nothing, many), IntentOptions(inputs=("x",), seed=seed))
        for seed in (0, 1)
    ]
    assert held[0].validation.columns["n"] != held[1].validation.columns["n"]
    assert len(held[0].train) + len(held[0].validation) == 60
    given = mixed.rows_to_choose_on(Parts(many, part(2), many), options)
    assert (len(given.train), len(given.validation)) == (60, 2)
    with pytest.raises(DataError, match="none to choose lambda on"):
        mixed.rows_to_choose_on(Parts(part(1), nothing, many), options)


def test_undersamples_are_those_of_mteb():
    """The order that one run shuffled is shuffled again, with a generator of the same seed."""
    labels = [str(k) for k in np.random.default_rng(0).integers(0, 3, 30)]
    order = np.arange(30)
    for rows in logreg.undersamples(labels, 2, runs=3, seed=7):
        np.random.RandomState(7).shuffle(order)
        expected = [
            r for i, r in enumerate(order) if [labels[j] for j in order[:i]].count(labels[r]) < 2
        ]
        assert rows.tolist() == expected


def test_given_lists_name_ids_and_leave_out_the_query_itself():
    rows = part(
        4,
        id=list("abcd"),
        positives=[["a", "b"], None, ["a"], ["b"]],
        negatives=[["c"], None, [], ["a", "d"]],
    )
    lists = given_lists(rows)
    assert lists.queries.tolist() == [0, 3] and lists.sizes.tolist() == [2, 2]
    assert lists.candidate.tolist() == [1, 2, 1, 0] and lists.positive.tolist() == [True, False] * 2
    unit = rows.matrix / np.linalg.norm(rows.matrix, axis=1, keepdims=True)
    expected = [unit[q] @ unit[c] for q, c in ((0, 1), (0, 2), (3, 1), (3, 0))]
    np.testing.assert_allclose(similarities(rows.matrix, lists), expected)
    numbered = given_lists(part(2, positives=[[1], None], negatives=[[0], None]))
    assert len(numbered.queries) == 0  # nothing but itself is negative
    for columns, says in (
        ({"id": ["a", "a"], "positives": [None] * 2, "negatives": [None] * 2}, "not distinct"),
        ({"positives": [[1], None], "negatives": [[1], None]}, "'1' is positive and negative"),
        ({"positives": [[7], None], "negatives": [[], None]}, "names '7', which no row is"),
        ({"positives": ["1", None], "negatives": [[], None]}, "positives: expected a list of ids"),
    ):
        with pytest.raises(DataError, match=says):
            given_lists(part(2, **columns))


def test_triplets_of_each_premise_all_of_them_or_the_first():
    angles = np.linspace(0, 1, 7)
    rows = Embeddings(
        {
            "premise_embedding": np.tile([1.0, 0], (7, 1)),
            "hypothesis_embedding": np.column_stack([np.cos(angles), np.sin(angles)]),
        },
        {
            "premise": list("pqpppqr"),
            "label": [
                "entailment",
                "entailment",
                "contradiction",
                "neutral",
                "contradiction",
                "neutral",
                "contradiction",
            ],
        },
    )
    found = triplets(rows, EntailOptions(inputs=("x",)))
    np.testing.assert_allclose(found.entailment, np.cos(angles[[0, 0]]))
    np.testing.assert_allclose(found.contradiction, np.cos(angles[[2, 4]]))
    assert (found.anchor.tolist(), found.dropped, found.rows.tolist()) == ([0, 0], 2, [0, 2, 4])
    first = triplets(rows, EntailOptions(inputs=("x",), triplets="first"))
    assert (first.anchor.tolist(), first.rows.tolist()) == ([0], [0, 2])


def test_parts_of_files_have_one_number_of_dimensions(tmp_path: Path):
    few, wide = (
        str(write_npy(tmp_path / f"{d}.npy", [{"label": "a"}] * 2, np.ones((2, d)))) for d in (3, 4)
    )
    parts = read_parts(IntentOptions(train=few, test=few))
    assert [len(part) for part in parts] == [2, 0, 2]
    with pytest.raises(DataError, match="vectors of 4 dimensions beside vectors of 3"):
        read_parts(IntentOptions(train=few, test=wide))


def test_parts_of_two_models_are_refused_and_of_one_are_not(tmp_path: Path):
    def written(name: str, weights: str, split: str) -> str:
        columns = {"label": ["a", "b"], "split": [split] * 2}
        batch = embedding_batch(columns, {"embedding": np.eye(2)})
        facts = {"dialtools": json.dumps({"weights": weights, "options": {"model": weights}})}
        table = pa.Table.from_batches([batch]).replace_schema_metadata(facts)
        pq.write_table(table, tmp_path / name)
        return str(tmp_path / name)

    train, test = written("train.parquet", "one", "train"), written("test.parquet", "one", "test")
    other = written("other.parquet", "two", "test")
    assert len(read_parts(IntentOptions(train=train, test=test)).test) == 2
    assert len(read_parts(IntentOptions(inputs=(train, test))).test) == 2
    for options in (IntentOptions(train=train, test=other), IntentOptions(inputs=(train, other))):
        with pytest.raises(DataError, match=r"other\.parquet: its vectors are of another model"):
            read_parts(options)


@pytest.mark.parametrize("scaled", [True, False])
def test_what_learns_from_vectors_as_they_are_refuses_those_of_other_lengths(
    tmp_path: Path, scaled: bool
):
    def written(name: str, normalize: object, length: float) -> str:
        draw = np.random.default_rng(0)
        vectors_ND = length * np.repeat(np.eye(2), 10, axis=0) + draw.normal(size=(20, 2)) / 20
        columns = {"label": ["a"] * 10 + ["b"] * 10, "id": [*range(20)]}
        table = pa.Table.from_batches([embedding_batch(columns, {"embedding": vectors_ND})])
        facts = {"dialtools": json.dumps({"weights": "w", "normalize": normalize})}
        pq.write_table(table.replace_schema_metadata(facts), tmp_path / name)
        return str(tmp_path / name)

    train = written("train.parquet", scaled, 1)
    alike, other = written("alike.parquet", scaled, 1), written("other.parquet", not scaled, 9)
    untold = written("untold.parquet", [], 1)
    message = r"other\.parquet: vectors of (any length, t.* 1|length 1, t.* any length)$"
    for test in (alike, untold, other):
        files = {"train": train, "test": test}
        regression = IntentOptions(**files, method="logreg", shots=(4,), runs=1)
        layer = InferOptions(**files, validation_share=0.5)
        if test == other:
            for evaluate, options in (
                (intent.evaluate, regression),
                (probe.read_probe_parts, layer),
                (read_parts, IntentOptions(inputs=(train, test))),
            ):
                with pytest.raises(DataError, match=message):
                    evaluate(options)
        else:
            assert intent.evaluate(regression).scores[0].value == 100
            assert len(probe.read_probe_parts(layer).test) == 20
        assert intent.evaluate(IntentOptions(**files, shots=(4,), runs=1)).scores[0].value == 100


def test_acts_are_ones_in_the_columns_of_their_names():
    assert f1.indicators([["b"], [], ["a", "z"]], ["a", "b"]).tolist() == [[0, 1], [0, 0], [1, 0]]


def test_acts_are_those_of_the_turn_or_of_the_next_of_all_or_of_one_speaker():
    turns = {"dialogue_id": list("dddde"), "turn": [0, 1, 2, 3, 0], "speaker": list("ususs")}
    rows = part(5, **turns, acts=[["a"], ["b"], None, ["c", "a"], []])
    for target, speaker, chosen in (
        ("next", None, {0: ["b"], 2: ["c", "a"]}),
        ("next", "s", {0: ["b"], 2: ["c", "a"]}),
        ("current", None, {0: ["a"], 1: ["b"], 3: ["c", "a"], 4: []}),
        ("current", "s", {1: ["b"], 3: ["c", "a"], 4: []}),
        ("current", "u", {0: ["a"]}),
    ):
        found = act.examples(rows, ActOptions(inputs=("x",), target=target, speaker=speaker))
        assert found.columns["turn"] == [turns["turn"][row] for row in chosen]
        assert found.columns[act.TARGET] == list(chosen.values())
        np.testing.assert_array_equal(found.matrix, rows.matrix[list(chosen)])
    with pytest.raises(DataError, match="no row has acts to predict"):
        act.examples(rows, ActOptions(inputs=("x",), speaker="u"))
    for wrong in ("a", ["a", 3], [3]):
        rows.columns["acts"] = [["a"], wrong, None, None, None]
        with pytest.raises(DataError, match="row 2: acts: expected a list of names, got"):
            act.examples(rows, ActOptions(inputs=("x",), target="current"))


def test_acts_that_none_can_guess_are_named_in_the_order_of_the_rows():
    names = list("zyxwvutsrq")  # of sets the order would be chance
    data = {"train": {"smallest": 1, "largest": 1, "classes": 1}}
    *_, lost = act._notes(data, Parts([["a"]], [], [["a", *names[:5]], names[4:]]))
    assert lost.startswith(f"no training row has {listed(names)}: never guessed")


def test_acts_that_no_test_row_has_are_named_as_the_macro_average_counts_them():
    """Three acts that are always told right have a macro-F1 of 33 where the test rows have one."""
    data = {"train": {"smallest": 1, "largest": 1, "classes": 3}}
    *_, absent = act._notes(data, Parts([["c", "a"], ["b", "c"]], [], [["a"]]))
    assert absent == "no test row has c, b: F1 0 in the macro average"
    counts_N3A = f1.counts(np.array([[1, 0, 0]]), np.array([[1, 0, 0]]))
    assert f1.macro(counts_N3A.sum(0)) == pytest.approx(1 / 3)


def test_intervals_of_f1_are_over_rows_or_over_groups_of_them():
    draw = np.random.default_rng(0)
    truth, guess = (draw.integers(0, 2, (30, 4)) for _ in range(2))
    facts = {"task": "act", "dataset": "d", "setting": "s", "seed": 3}
    for groups_N in ([], [row // 5 for row in range(30)]):
        scores = act._f1_scores(truth, guess, {**facts, "groups": groups_N})
        assert [s.metric for s in scores] == ["micro-f1", "macro-f1", "weighted-f1", "samples-f1"]
        for score, (name, average) in zip(scores, f1.AVERAGES.items(), strict=False):
            sides = ([np.flatnonzero(row).tolist() for row in side] for side in (truth, guess))
            expected = over_items(
                counts.label_f1(*sides, 4, name),
                30,
                seed=3,
                groups_N=np.array(groups_N) if groups_N else None,
            )
            found = score.value, score.low, score.high
            assert found == pytest.approx(tuple(100 * x for x in expected), abs=1e-9)
            assert expected[0] == pytest.approx(average(f1.counts(truth, guess).sum(0)))
            assert each.statistic(score.metric, score.each)(np.ones((1, 30)))[0] == pytest.approx(
                expected[0]
            )


def test_the_sets_of_a_suite_are_looked_for_in_each_folder_and_numbered(tmp_path: Path):
    suite = Suite("t", [Dataset("sts", n, n, ["m"], files={"other": "o"}) for n in ("x", "y")])
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, stems in ((one, "xyo"), (two, "yo")):
        folder.mkdir()
        for stem in stems:
            write_npy(folder / f"{stem}.npy", [{}], np.ones((1, 2)))
    (two / "x.jsonl").write_text('{"text":"a"}\n')
    places = find_places(suite, [str(one), str(two)])
    assert [place.key for place in places] == [
        f"{folder}: set {number}, sts {'xy'[number - 1]}"
        for folder in (one, two)
        for number in (1, 2)
    ]
    assert places[1].files == {stem: str(one / f"{stem}.npy") for stem in "yo"}
    missing = [place.missing for place in places]
    assert missing == ["", "", "x.jsonl holds records, no embeddings", ""]
    (two / "y.npy").unlink()
    with pytest.raises(DataError, match="no data set of t is here"):
        find_places(suite, [str(one), str(two)])
    with pytest.raises(DataError, match="no such folder"):
        find_places(suite, [str(one), str(tmp_path / "four")])


def test_averages_of_a_suite_are_over_all_its_sets_of_a_task():
    sets = [
        Dataset("act", "x", "x", ["p", "m", "n"], published={"A": [0, 1, 2], "B": [0, 5, 6]}),
        Dataset("act", "y", "y", ["n", "m"], published={"A": [3, 4]}),
        Dataset("sts", "z", "z", ["m"], ["s"], published={"A": [9]}),
    ]
    suite = Suite("t", sets)
    average = [Row("act", AVERAGE, "", metric) for metric in ("m", "n")]
    rows = [Row("act", n, "", m) for n, m in ("xp", "xm", "xn", "yn", "ym")]
    assert suite.rows() == [*rows, *average, Row("sts", "z", "s", "m")]
    published = suite.published()
    assert [published["A"][row] for row in average] == [(1 + 4) / 2, (2 + 3) / 2]
    assert not published["B"].keys() & set(average)
    assert (
        with_tasks(suite, ["sts"]).sets == sets[2:] and with_tasks(suite, ["act"]).sets == sets[:2]
    )
    with pytest.raises(ConfigError, match="has no task 'oos'"):
        with_tasks(suite, ["sts", "oos"])


def test_episodes_come_from_a_file_or_from_seeds_and_are_written_as_they_were(tmp_path: Path):
    run = {"seed": 4, "train_idx": [0, 2], "val_idx": [1]}
    several = {"x": {"shots": {"1": [run]}}, "y": {"shots": {"2": [{"train_idx": [1]}]}}}
    (tmp_path / "e.json").write_text(json.dumps(several))
    path = str(tmp_path / "e.json")

    def chosen(**options: Any) -> Episodes:
        return Episodes(IntentOptions(inputs=("x",), **{"episodes": path} | options))

    (episode,) = chosen(episode_set="x").take(["a", "b", "a"], 1)
    assert (episode.seed, episode.train.tolist(), episode.val.tolist()) == (4, [0, 2], [1])
    (episode,) = chosen(episode_set="y").take(["a", "b"], 2)
    assert (episode.seed, episode.val.tolist()) == (0, [])
    for options, labels, shots, error, says in (
        ({"episode_set": "z"}, "ab", 1, ConfigError, "choose from x, y"),
        ({}, "ab", 1, ConfigError, "choose from x, y"),
        ({"episode_set": "x"}, "ab", 1, DataError, "rows must be 0 to 1"),
        ({"episode_set": "x"}, "abc", 5, ConfigError, "no 5-shot runs; there are 1"),
    ):
        with pytest.raises(error, match=says):
            chosen(**options).take(list(labels), shots)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="not JSON"):
        chosen(episodes=str(tmp_path / "deep.json")).take(["a"], 1)
    drawn = Episodes(IntentOptions(inputs=("x",), seed=3, runs=2, save_episodes=f"{path}.out"))
    episodes = drawn.take(list("aabb"), 1)
    assert [e.seed for e in episodes] == [3, 4]
    drawn.export()
    shots = json.loads(Path(f"{path}.out").read_text())["shots"]
    assert shots == {
        "1": [
            {"seed": e.seed, "train_idx": e.train.tolist(), "val_idx": e.val.tolist()}
            for e in episodes
        ]
    }
