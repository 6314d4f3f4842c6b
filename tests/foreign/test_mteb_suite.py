"""mteb: its mock tasks on a folder that dial-train wrote, and its scores beside dial-eval's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foreign.conftest import Dial

pytest.importorskip("mteb", reason="needs the foreign extra")
pytest.importorskip("datasets")
ONE_TEXT = 100 / 640 + 1e-6  # that another machine may give another class
PLAIN = {
    "description": "Rows of the examples.",
    "dataset": {"path": "none", "revision": "none"},
    "type": "Classification",
    "category": "t2c",
    "modalities": ["text"],
    "eval_splits": ["test"],
    "eval_langs": ["eng-Latn"],
}


@pytest.fixture(scope="module")
def wrapped(learnt: Path) -> Any:
    """The folder as mteb holds a model of sentence-transformers."""
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper
    from sentence_transformers import SentenceTransformer

    return SentenceTransformerEncoderWrapper(SentenceTransformer(str(learnt), device="cpu"))


def test_mocks_of_every_kind_of_task_run(wrapped: Any):
    import mteb

    done = dict(mteb.mock_run(wrapped).items())
    told = {name: status for name, status in done.items() if status is not None}
    wrong = {name: s for name, s in told.items() if type(s).__name__ != "TaskResult"}
    assert wrong == {} and len(told) >= 25
    print(f"{len(told)} mock tasks of mteb")


def task_of(base: type, name: str, kind: str, main_score: str, data: Any, **settings: Any) -> Any:
    """Return a task of mteb whose data are here."""
    from mteb.abstasks.task_metadata import TaskMetadata

    metadata = TaskMetadata(**{**PLAIN, "name": name, "type": kind, "main_score": main_score})  # type: ignore[arg-type]

    def load_data(self: Any, **_: Any) -> None:
        self.dataset, self.data_loaded = data, True

    return type(name, (base,), {"metadata": metadata, "load_data": load_data, **settings})()


def scores_of(wrapped: Any, task: Any) -> dict[str, Any]:
    import mteb

    (result,) = mteb.evaluate(wrapped, task, cache=None, show_progress_bar=False).task_results
    return result.scores["test"][0]


def ours(dial: Dial, folder: Path, learnt: Path, rows: list[dict[str, Any]], ask: str) -> Any:
    """Return the score records of rows, embedded."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(lines)
    dial(f"dial-embed -q --model {learnt} rows.jsonl -o rows.parquet", cwd=folder)
    told = dial(f"dial-eval {ask} --json rows.parquet", cwd=folder)
    return {r["metric"]: r for r in map(json.loads, told.splitlines())}


def test_classification_is_that_of_mteb_run_by_run(
    dial: Dial, learnt: Path, wrapped: Any, intents: list[dict[str, str]], tmp_path: Path
):
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.classification import AbsTaskClassification

    parts = {
        part: [{k: row[k] for k in ("text", "label")} for row in intents if row["split"] == part]
        for part in ("train", "test")
    }
    data = DatasetDict({part: Dataset.from_list(rows) for part, rows in parts.items()})
    task = task_of(AbsTaskClassification, "Examples", "Classification", "accuracy", data)
    theirs = [run["accuracy"] for run in scores_of(wrapped, task)["scores_per_experiment"]]
    found = ours(dial, tmp_path, learnt, intents, "intent --method logreg")
    assert found["accuracy"]["values"] == pytest.approx([100 * x for x in theirs], abs=ONE_TEXT)


def test_clustering_is_that_of_mteb(
    dial: Dial, learnt: Path, wrapped: Any, intents: list[dict[str, str]], tmp_path: Path
):
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.clustering import AbsTaskClustering

    rows = [row for row in intents if row["split"] == "test"]
    columns = {"sentences": [r["text"] for r in rows], "labels": [r["label"] for r in rows]}
    task = task_of(
        AbsTaskClustering,
        "ExamplesClustering",
        "Clustering",
        "v_measure",
        DatasetDict({"test": Dataset.from_dict(columns)}),
        max_fraction_of_documents_to_embed=None,
    )
    theirs = scores_of(wrapped, task)["v_measure"]
    found = ours(dial, tmp_path, learnt, rows, "cluster --protocol mteb --part test")
    assert found["v-measure"]["value"] == pytest.approx(100 * theirs, abs=0.1)


def test_similarity_is_that_of_mteb(
    dial: Dial, learnt: Path, wrapped: Any, intents: list[dict[str, str]], tmp_path: Path
):
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS

    texts = [row["text"] for row in intents]
    rows = [
        {"text1": a, "text2": b, "score": i % 6, "split": "test"}
        for i, (a, b) in enumerate(zip(texts[:200], texts[40:240], strict=True))
    ]
    data = Dataset.from_list(rows).rename_columns({"text1": "sentence1", "text2": "sentence2"})
    task = task_of(AbsTaskSTS, "ExamplesSTS", "STS", "cosine_spearman", DatasetDict({"test": data}))
    theirs = scores_of(wrapped, task)
    found = ours(dial, tmp_path, learnt, rows, "sts --part test")
    for ours_, their in (("spearman", "cosine_spearman"), ("pearson", "cosine_pearson")):
        assert found[ours_]["value"] == pytest.approx(100 * theirs[their], abs=1e-4)


def test_mteb_reads_the_files_that_dial_eval_mteb_writes(dial: Dial, tmp_path: Path):
    from mteb.models import ModelMeta
    from mteb.results import TaskResult

    shared = {"schema": "dialtools.score/1", "task": "sts", "dataset": "stsb", "setting": "test"}
    facts = {"n": 1379, "model": "me/mine"}
    lines = [
        json.dumps({**shared, **facts, "metric": metric, "value": value}) + "\n"
        for metric, value in (("spearman", 82.0), ("pearson", 83.0))
    ]
    (tmp_path / "scores.jsonl").write_text("".join(lines))
    dial("dial-eval mteb scores.jsonl -o results --model-revision abc", cwd=tmp_path)
    meta = json.loads((tmp_path / "results/model_meta.json").read_text())
    assert ModelMeta(**meta).name == "me/mine"
    result = TaskResult.from_disk(tmp_path / "results/STSBenchmark.json")
    assert result.get_score() == pytest.approx(0.82)
