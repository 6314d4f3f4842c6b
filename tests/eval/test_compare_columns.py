"""Score files as columns: which model is which, its seeds, and what keeps two from being paired."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dialtools.errors import ConfigError, DataError, GateError
from dialtools.eval.compare import resampled
from dialtools.eval.compare.columns import _row, columns_of
from dialtools.eval.compare.compare import evaluate
from dialtools.eval.compare.comparison import Comparison, Difference, Value
from dialtools.eval.compare.names import Column, Seed, with_names_of_the_first
from dialtools.eval.compare.outcome import check_gate, records, refuse_nothing, untested_notes
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.score import of_queries, of_runs, shares
from dialtools.eval.suite import Row
from dialtools.metrics import paired

RIGHT = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [0, 0, 0, 0]}


def record(name: str, **more: Any) -> dict[str, Any]:
    facts = {"task": "intent", "dataset": "d.parquet", "setting": "", "metric": "accuracy"}
    items = {"items": {"text": "same"}, "seed": 0}
    made = of_queries(100 * np.array(RIGHT[name], float), **facts, **items).record()
    assert "std" not in made, "of one run none is known"
    return made | {"model": f"models/{name}"} | more


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in RIGHT:
        write(f"{name}.jsonl", record(name))
    return tmp_path


def write(path: str, *records: dict[str, Any]) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("".join(f"{json.dumps(made)}\n" for made in records))


def columns(*inputs: str, **options: Any) -> dict[str, list[float]]:
    """Return the values of each column, those of its seeds together."""
    found, _ = columns_of(CompareOptions(inputs=inputs, **options))
    return {
        name: [seed.record["value"] for seeds in column.values() for seed in seeds]
        for name, column in found.items()
    }


def test_a_file_a_folder_a_glob_or_a_list_is_a_column_and_files_of_one_are_seeds(folder: Path):
    write("s/x-1.jsonl", record("a"))
    write("s/x-2.jsonl", record("c"))
    assert columns("a.jsonl", "b.jsonl", "a.jsonl") == {"a": [75], "b": [25]}
    for name, both in (("s", "s"), ("x", "s/x-*.jsonl"), ("n", "n=s/x-1.jsonl,s/x-2.jsonl")):
        assert columns(both, "b.jsonl") == {name: [75, 0], "b": [25]}
    write("k=v.jsonl", record("a"))
    assert columns("k=v.jsonl", "b.jsonl") == {"k=v": [75], "b": [25]}, "a file of that name"
    for none in ("none*.jsonl", "none/"):
        with pytest.raises(DataError):
            columns(none, "b.jsonl")


def test_a_file_without_a_score_is_refused(folder: Path):
    write("none.jsonl")
    for files in (["none.jsonl"], ["a.jsonl", "none.jsonl"], ["x=a.jsonl,none.jsonl"]):
        with pytest.raises(DataError, match=r"none\.jsonl: holds no scores"):
            columns(*files)


def test_seeds_are_of_one_data_set_whatever_the_embedding_file_of_each_is_called(folder: Path):
    def of_model(model: str, **facts: Any) -> dict[str, Any]:
        return record("a", model=model, dataset=f"{model}.parquet", **facts)

    def sizes(*inputs: str) -> list[dict[str, int]]:
        found, _ = columns_of(CompareOptions(inputs=inputs))
        return [
            {f"{row.task} {row.dataset}": len(seeds) for row, seeds in column.items()}
            for column in found.values()
        ]

    for seed in ("s-1", "s-2"):
        write(f"s/{seed}.jsonl", of_model(seed))
        write(f"s/{seed}-act.jsonl", of_model(seed, task="act"))
    write("base.jsonl", record("b", dataset="base.parquet"))
    assert sizes("s", "base.jsonl") == [{"act s-1": 2, "intent s-1": 2}, {"intent s-1": 1}]
    write("s/s-2.jsonl", of_model("s-2", items={"text": "other"}))
    assert sizes("s")[0] == {"act s-1": 2, "intent s-1": 1, "intent s-2": 1}
    write("t/1.jsonl", record("a", dataset="few"))
    write("t/2.jsonl", record("a", dataset="many"))
    assert sizes("t") == [{"intent few": 1, "intent many": 1}], "one model, learnt from two"


def test_files_of_one_column_are_parted_by_model_where_any_of_them_holds_several(folder: Path):
    write("m/1.jsonl", record("a"), record("b"))
    write("m/2.jsonl", record("c", model="models/a"))
    assert columns("m") == {"a": [75, 0], "b": [25]}


def test_a_file_of_several_models_is_a_column_for_each_and_published_numbers_are_left_out(
    folder: Path,
):
    published = record("a", published=True, model="paper")
    write("suite.jsonl", record("a"), record("b"), published)
    assert columns("suite.jsonl") == {"a": [75], "b": [25]}
    assert columns_of(CompareOptions(inputs=("suite.jsonl",)))[1] == 1
    write("twice.jsonl", record("a"), record("a"))
    with pytest.raises(DataError, match="intent d accuracy is here a second time, first at twice"):
        columns("twice.jsonl", "b.jsonl")


def test_files_of_one_model_over_several_tasks_are_one_column_unless_they_share_a_score(
    folder: Path,
):
    def oos(name: str, **more: Any) -> None:
        write(f"{name}-oos.jsonl", record(name, task="oos", model=f"models/{name}", **more))

    oos("a")
    oos("b")
    every = ("a.jsonl", "a-oos.jsonl", "b.jsonl", "b-oos.jsonl")
    assert columns(*every[:2], "b.jsonl") == {"a": [75, 75], "b": [25]}
    assert evaluate(CompareOptions(inputs=every, resamples=50)).tests == 2
    assert list(columns(*every, baseline="b-oos.jsonl")) == ["b", "a"]
    assert list(columns(*every, baseline="b-oos")) == ["b", "a"]
    assert list(columns("x=a.jsonl", "a-oos.jsonl")) == ["x", "a-oos"], "named by the user"

    same_model = {"model": "models/a"}
    for more in ({}, {"dataset": "e"}, {"items": {"text": "other"}}):
        write("other.jsonl", record("c", **same_model, **more))
        assert len(columns("a.jsonl", "a-oos.jsonl", "other.jsonl")) == 3, "which is which?"
    write("other.jsonl", record("c", **same_model, dataset="e", items={"text": "other"}))
    assert columns("a.jsonl", "other.jsonl") == {"a": [75, 0]}, "another data set"


def test_the_baseline_is_the_first_or_the_one_that_is_named(folder: Path):
    files = ("a.jsonl", "b.jsonl")
    assert list(columns(*files)) == ["a", "b"]
    for baseline in ("b", "b.jsonl"):
        assert list(columns(*files, baseline=baseline)) == ["b", "a"]
    assert list(columns(*files, baseline="c.jsonl")) == ["c", "a", "b"]
    assert list(columns(*files, names=("x", "y"), baseline="y")) == ["y", "x"]
    for options, says in (
        ({"baseline": "d"}, "no column 'd'"),
        ({"names": ("x",)}, "name each of the 2 columns once: a, b"),
        ({"names": ("x", "x")}, "name each of the 2 columns once"),
    ):
        with pytest.raises(ConfigError, match=says):
            columns(*files, **options)
    with pytest.raises(ConfigError, match="one model, and nothing to compare it with"):
        columns("a.jsonl", fail_if_worse=1.0)


def test_only_scores_whose_items_are_known_to_be_the_same_and_several_are_tested(folder: Path):
    def why(*, compared: bool = True, both: dict[str, Any] | None = None, **more: Any) -> str:
        for name, own in (("a", {}), ("b", more)):
            write(f"{name}.jsonl", record(name, **(both or {}), **own))
        found = evaluate(CompareOptions(inputs=("a.jsonl", "b.jsonl"), resamples=50))
        assert found.tests == (not found.untested) and bool(found.differences) == compared
        return "".join(reason for _, reason in found.untested)

    assert why() == why(items={"text": "same", "id": "1"}) == ""
    assert why(both={"groups": [0, 0, 1, 1]}) == "", "two dialogues are enough"
    other = why(items={"text": "other"}, compared=False)
    assert other == "other test items, or another order of them (text differs)"
    assert why(each=[1, 0], value=50, compared=False) == "another number of test items"
    for items in ({}, {"id": "same"}):
        assert why(items=items) == "nothing tells which its test items are"
    together = "it is of all items together, and not of single ones"
    assert why(each=[]) == why(each=[], items={}, both={"task": "space"}) == together
    unknown = why(each=[], items={})
    assert unknown == "nothing is known of its items (dial-eval --each keeps that)"
    assert why(each=[], both={"dataset": "average"}).startswith("an average of data sets")
    assert why(groups=[0, 0, 1, 1]) == "its items are grouped otherwise (dial-eval --group)"
    assert "no spread to judge by" in why(both={"groups": [0] * 4})


def test_what_is_not_known_of_a_difference_is_no_number_and_at_the_level_nothing_is_starred():
    plain = Difference(points=1.0, gap=-1.0)
    unknown = [plain.low, plain.high, plain.p, plain.adjusted]
    assert all(type(value) is float and value != value for value in unknown)
    assert plain.test == "" and not plain.significant
    assert not Difference(1.0, -1.0, adjusted=0.05).significant
    assert Difference(1.0, -1.0, adjusted=0.0499).significant
    row = Row("intent", "d", "", "accuracy")
    seeds = [Seed("w", row, {"value": value}) for value in (1.0, 2.0, 4.5)]
    comparison = Comparison({"a": {row: seeds}, "b": {row: seeds[:1]}, "c": {}}, [row], "holm")
    assert comparison.value(row, "a") == Value(2.5, float(np.std([1, 2, 4.5], ddof=1)), 3)
    one = comparison.value(row, "b")
    assert one is not None and (one.mean, one.seeds) == (1, 1) and one.std != one.std
    assert type(one.mean) is type(one.std) is float
    assert comparison.value(row, "c") is None
    assert (comparison.baseline, comparison.tests, comparison.published) == ("a", 0, 0)
    comparison.differences[row, "b"] = plain
    assert comparison.tests == 0
    plain.test = "bootstrap"
    assert comparison.tests == 1


def test_a_message_names_three_scores_and_counts_the_others_and_published_numbers():
    rows = [Row("intent", name, "", "accuracy") for name in "pqrst"]
    comparison = Comparison({"a": {}, "b": {}}, rows, "holm")
    for row in rows[:3]:
        comparison.set_aside(row, "b", "why")
    three = "not tested: intent p accuracy, intent q accuracy, intent r accuracy"
    assert list(untested_notes(comparison)) == [f"{three}: b: why"]
    for row in rows[2:]:
        comparison.set_aside(row, "b", "why")
    comparison.published = 1
    assert list(untested_notes(comparison)) == [
        f"{three} and 2 more: b: why",
        "1 published number left out: nothing is known of their items",
    ]


def test_a_record_tells_of_a_test_where_there_was_one():
    row, alone = (Row("intent", name, "", "accuracy") for name in "pq")
    seed = Seed("w", row, {"value": 2.0})
    columns = {
        "a": {row: [seed._replace(record={"value": 1.0})]},
        "b": {row: [seed], alone: [seed]},
    }
    comparison = Comparison(columns, [row, alone], "holm")
    comparison.differences[row, "b"] = Difference(1.0, -1.0)
    (both, one) = records(comparison)
    names = {"model": "b", "baseline": "a", "value": 2.0, "seeds": 1}
    mine = {"schema": "dialtools.comparison/1", **row._asdict(), **names}
    del mine["setting"]
    plain = mine | {"baseline_value": 1.0, "baseline_seeds": 1, "difference": 1.0}
    assert both == plain and one == mine | {"dataset": "q"}
    tested = Difference(1.0, -1.0, 0.5, 1.5, 0.01, 0.02, "bootstrap")
    comparison.differences[row, "b"] = tested
    judged = {"low": 0.5, "high": 1.5, "p": 0.01, "adjusted_p": 0.02, "test": "bootstrap"}
    judged |= {"correction": "holm", "tests": 1, "significant": True}
    assert records(comparison)[0] == plain | judged


def test_a_gate_names_the_worst_and_counts_the_others_above_it():
    rows = [Row("intent", name, "", "accuracy") for name in "pqr"]
    comparison = Comparison({"a": {}, "b": {}}, rows, "holm")
    with pytest.raises(DataError, match="nothing to compare"):
        refuse_nothing(comparison)
    for row, gap in zip(rows, (1.0, 3.0, 2.0), strict=True):
        comparison.differences[row, "b"] = Difference(-gap, gap)
    refuse_nothing(comparison)
    check_gate(comparison, 3.0)
    for points, more in ((2.0, "$"), (1.5, ", and 1 more$"), (0.5, ", and 2 more$")):
        says = f"b: intent q accuracy is worse than a's by 3.00, above {points:g}{more}"
        with pytest.raises(GateError, match=says):
            check_gate(comparison, points)


def test_items_make_the_score_to_a_hundredth_of_a_point(folder: Path):
    for value, fits in ((74.991, True), (75.009, True), (74.989, False), (75.011, False)):
        write("a.jsonl", record("a", value=value))
        options = CompareOptions(inputs=("a.jsonl", "b.jsonl"), resamples=50)
        if fits:
            assert evaluate(options).tests == 1
        else:
            with pytest.raises(DataError, match=r"its items make 75\.000"):
                evaluate(options)


def typed(monkeypatch: pytest.MonkeyPatch, *records: dict[str, Any]) -> None:
    """Let stdin hold these records."""
    lines = "".join(f"{json.dumps(made)}\n" for made in records).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))


def test_stdin_is_read_where_no_file_is_named_and_where_the_baseline_is_a_dash(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    typed(monkeypatch, record("a"))
    assert columns("b.jsonl", "c.jsonl", baseline="-") == {"-": [75], "b": [25], "c": [0]}
    (folder / "-").mkdir()
    typed(monkeypatch, record("a"), record("b"))
    assert columns() == {"a": [75], "b": [25]}, "whatever folder there is"


def test_a_baseline_is_a_column_before_it_is_a_file_and_a_file_is_read_whole(folder: Path):
    write("b/x.jsonl", record("c"))
    assert columns("a.jsonl", "b.jsonl", baseline="b") == {"b": [25], "a": [75]}
    named = {"names": ("x", "c.jsonl"), "baseline": "c.jsonl"}
    assert columns("a.jsonl", "b.jsonl", **named) == {"c.jsonl": [25], "x": [75]}
    write("c[1].jsonl", record("c"))
    assert list(columns("a.jsonl", baseline="c[1].jsonl")) == ["c[1]", "a"]
    with pytest.raises(ConfigError, match="two columns are named b"):
        columns("a.jsonl", "b.jsonl", baseline="b/../b.jsonl")
    write("d.jsonl", record("b"), record("a", published=True))
    assert columns_of(CompareOptions(inputs=("a.jsonl",), baseline="d.jsonl"))[1] == 1


def test_models_of_several_files_are_called_by_folder_then_by_path_and_no_third_time(folder: Path):
    for number in (1, 2, 3):
        write(f"{number}.jsonl", record("a"), record("b"))
    assert list(columns("1.jsonl", "2.jsonl")) == ["a", "b", "models/a", "models/b"]
    with pytest.raises(ConfigError, match="two columns are named models/a"):
        columns("1.jsonl", "2.jsonl", "3.jsonl")


def test_a_record_says_what_it_is_of_in_texts_and_groups_are_whole_numbers(folder: Path):
    for more, says in (
        ({"metric": 3}, "metric: expected a text"),
        ({"value": True}, "value: expected a number"),
        ({"value": "25"}, "value: expected a number, got a string"),
        ({"low": "x"}, "low: expected a number, got a string"),
        *(
            ({"groups": groups}, "groups: expected a number from 0 on for each item")
            for groups in ([0], [0, 0, 1, 1.0], [0, 2] * 2, ["0"] * 4, [-1] * 4, [0, True] * 2)
        ),
    ):
        write("b.jsonl", record("b", **more))
        with pytest.raises(DataError, match=says):
            columns("a.jsonl", "b.jsonl")


def test_a_data_set_is_called_as_its_file_without_what_score_and_embedding_files_end_in():
    names = {"d.jsonl": "d", "x/d.jsonl.gz": "d", "d.parquet": "d", "d.csv": "d.csv", "d": "d"}
    rows = {name: _row(record("a", dataset=name)) for name in (*names, ".jsonl")}
    assert {name: row.dataset for name, row in rows.items()} == {**names, ".jsonl": ".jsonl"}


def test_a_data_set_has_the_name_of_the_first_column_if_all_scores_of_both_are_of_its_items():
    def column(dataset: str, *, task: str = "act", **items: str) -> Column:
        rows = {metric: Row(task, dataset, "", metric) for metric in items}
        return {
            row: [Seed("w", row, {"items": {"text": items[metric]}})]
            for metric, row in rows.items()
        }

    def named(own: Column) -> set[str]:
        first = column("d", f1="x", recall="y")
        return {row.dataset for row in with_names_of_the_first({"a": first, "b": own})["b"]}

    for same in (column("e", f1="x"), column("e", f1="x", recall="y"), column("e", f1="x", n="z")):
        assert named(same) == {"d"}
    for other in (
        *(column("e", f1="x", recall="z"), column("e", f1="z", recall="y")),
        *(column("e", n="x"), column("e", task="infer", f1="x"), column("e")),
    ):
        assert named(other) <= {"e"}
    twins = column("p", f1="x") | column("q", f1="x")
    assert named(twins) == {"p", "q"}, "which of two is meant is not guessed"


def test_a_score_may_miss_its_items_by_a_hundredth_and_seeds_of_one_kind_are_swapped(folder: Path):
    def found(*inputs: str) -> Difference:
        every = evaluate(CompareOptions(inputs=inputs, resamples=50)).differences
        return next(iter(every.values()))

    write("c.jsonl", record("c", value=0.01))
    assert found("a.jsonl", "c.jsonl").test == "permutation"
    write("s/1.jsonl", record("a"))
    write("s/2.jsonl", record("a"))
    assert found("s", "b.jsonl").p == found("a.jsonl", "b.jsonl").p > 0, "of the mean of seeds"
    grouped = {"right": [1, 1, 1, 0], "binary": [1, 1, 1, 0], "out": [0, 0, 1, 1]}
    write("s/2.jsonl", record("a", each=grouped))
    assert found("s", "b.jsonl").test == found("b.jsonl", "s").test == "bootstrap"


def test_a_score_without_a_value_is_left_out_and_a_file_that_is_not_there_is_named(folder: Path):
    unknown = record("b", metric="auroc")
    del unknown["value"]
    write("b.jsonl", record("b"), unknown)
    assert columns("a.jsonl", "b.jsonl") == {"a": [75], "b": [25]}
    with pytest.raises(DataError, match=r"^none\.jsonl: no such file or directory$"):
        columns("a.jsonl", "none.jsonl")


def test_an_interval_is_in_points_and_items_that_do_not_count_tell_nothing(folder: Path):
    groups = [0, 0, 1, 2]
    write("a.jsonl", record("a", each=[None, 1, 1, 1], value=100, groups=groups))
    write("b.jsonl", record("b", each=[None, 0, 0, 0], value=0, groups=groups))
    found = evaluate(CompareOptions(inputs=("a.jsonl", "b.jsonl"), resamples=50))
    [difference] = found.differences.values()
    assert (difference.low, difference.high) == (-100, -100)
    assert (difference.test, difference.p) == ("permutation", 0.25), "2 of 8 swaps of 3 dialogues"


def test_intervals_hold_what_other_runs_on_other_items_would_differ_by(folder: Path):
    """Two models of one quality, on items of unlike difficulty, in better and worse runs."""
    held = []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        items, runs = draw.normal(size=(2, 200)), draw.normal(size=(2, 8, 1)) / 3
        for name, of_item, of_run in zip("ab", items, runs, strict=True):
            right = of_item + of_run + draw.normal(size=(8, 200)) > 0
            facts = {"setting": "1-shot", "metric": "accuracy", "seed": 0, "n": 200}
            told = of_runs(
                [*(100 * right.mean(1))],
                each=shares(right.mean(0)),
                **{"task": "intent", "dataset": "d", "items": {"text": "same"}, **facts},
            )
            write(f"{name}.jsonl", told.record())
        found = evaluate(CompareOptions(inputs=("a.jsonl", "b.jsonl"), resamples=300))
        [difference] = found.differences.values()
        assert difference.test == "bootstrap"
        held.append(difference.low <= 0 <= difference.high)
    assert np.mean(held) >= 0.9, "of the items alone it is some three quarters"


def test_runs_are_numbers_and_one_of_them_adds_nothing(folder: Path):
    write("c.jsonl", record("a", values=[75, "b"]))
    with pytest.raises(DataError, match="values: expected a number"):
        columns("a.jsonl", "c.jsonl")
    write("c.jsonl", record("a", values=[75]))
    found = evaluate(CompareOptions(inputs=("b.jsonl", "c.jsonl"), resamples=50))
    assert [d.test for d in found.differences.values()] == ["permutation"]


def test_a_file_is_one_seed_however_often_it_is_named(folder: Path):
    with pytest.raises(ConfigError, match=r"^x=a\.jsonl,a\.jsonl names a file twice"):
        columns("x=a.jsonl,a.jsonl", "b.jsonl")


def test_many_differences_are_resampled_some_at_a_time_with_the_same_figures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    options = CompareOptions(inputs=("a.jsonl", "b.jsonl", "c.jsonl"), test="bootstrap")
    together = records(evaluate(options))
    held: list[int] = []

    def bootstrap(statistics: Sequence[Any], *arguments: Any, **more: Any) -> np.ndarray:
        held.append(len(statistics))
        return paired.bootstrap(statistics, *arguments, **more)

    monkeypatch.setattr(resampled, "NUMBERS", options.resamples)
    monkeypatch.setattr(resampled, "paired", SimpleNamespace(**vars(paired) | locals()))
    assert records(evaluate(options)) == together
    assert held == [2, 2], "a model and the baseline"
