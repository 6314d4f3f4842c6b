"""Score files as columns: which model is which, its seeds, and what keeps two from being paired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dialtools.errors import ConfigError, DataError
from dialtools.eval.compare.columns import columns_of
from dialtools.eval.compare.compare import evaluate
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.score import of_queries

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
    with pytest.raises(ConfigError, match="one model: nothing to compare it with"):
        columns("a.jsonl")


def test_only_scores_whose_items_are_known_to_be_the_same_and_several_are_tested(folder: Path):
    def why(**more: Any) -> list[str]:
        write("b.jsonl", record("b", **more))
        found = evaluate(CompareOptions(inputs=("a.jsonl", "b.jsonl"), resamples=50))
        assert found.tests == (not found.untested)
        return [reason for _, reason in found.untested]

    assert why() == []
    assert why(items={"text": "other"}) == ["other test items (text differs)"]
    assert why(items={}) == ["nothing tells which its test items are"]
    assert why(each=[]) == ["nothing is known of its items (dial-eval --each keeps that)"]
    assert why(groups=[0, 0, 1, 1]) == ["its items are grouped otherwise (dial-eval --group)"]
    write("a.jsonl", record("a", groups=[0] * 4))
    (one,) = why(groups=[0] * 4)
    assert "no spread to judge by" in one
    write("a.jsonl", record("a", value=74.0))
    with pytest.raises(DataError, match=r"its items make 75.000, the value is 74.000"):
        why()
