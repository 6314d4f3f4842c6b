"""dial-eval intent --method logreg and dial-eval mteb: MTEB's classification and files."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
from score_files import Evaluate, Record, Toy, halves, score
from written import json_value

from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.eval import logreg
from dialtools.eval.compare import mteb
from dialtools.eval.labelled import Labelled
from dialtools.eval.options.intent import IntentOptions
from dialtools.eval.options.mteb import MtebOptions

Command = Callable[..., subprocess.CompletedProcess]
# all-MiniLM-L6-v2 on Banking77Classification, run by run, as MTEB 1.12.75 published them
PUBLISHED = [
    *(0.798052, 0.801623, 0.812987, 0.805519, 0.791883),
    *(0.804870, 0.790909, 0.788961, 0.809091, 0.800325),
]
ONE_TEXT = 1 / 3080


def slow_runs(toy: Toy, shots: int, runs: int, seed: int) -> list[tuple[float, float, float]]:
    """MTEB's experiments, one after the other, on vectors as they are."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score

    labels, found, order = toy.label["train"], [], list(range(len(toy.label["train"])))
    for _ in range(runs):
        np.random.RandomState(seed).shuffle(order)
        rows = [
            i
            for label in dict.fromkeys(labels)
            for i in [j for j in order if labels[j] == label][:shots]
        ]
        rows.sort(key=order.index)
        model = LogisticRegression(max_iter=100, random_state=seed)
        guess = model.fit(toy.vectors["train"][rows], [labels[i] for i in rows]).predict(
            toy.vectors["test"]
        )
        truth = toy.label["test"]
        found.append(
            (
                accuracy_score(truth, guess),
                *(f1_score(truth, guess, average=kind) for kind in ("macro", "weighted")),
            )
        )
    return found


@pytest.mark.parametrize("seed", [0, 3])
def test_regression_is_that_of_mteb_run_by_run(
    evaluate: Evaluate, toy: Toy, toy_files: tuple[Path, Path], seed: int
):
    ask = ("intent", *halves(toy_files), "--method", "logreg", "--seed", seed)
    records = evaluate(*ask, "--shots", 3, "--runs", 4)
    expected = np.array(slow_runs(toy, 3, 4, 42 + seed)).T * 100
    for metric, values in zip(("accuracy", "macro-f1", "weighted-f1"), expected, strict=True):
        assert score(records, metric, "3-shot logreg")["values"] == pytest.approx(
            values.tolist(), abs=1e-4
        ), metric
    assert {r["setting"] for r in evaluate(*ask)} == {"8-shot logreg"}


def banking(**facts: object) -> list[Record]:
    """Score records as `intent --method logreg` makes of BANK77."""
    shared = json_value("""
        {"schema": "dialtools.score/1", "task": "intent", "dataset": "banking77.parquet",
         "setting": "8-shot logreg", "n": 3080, "runs": 10, "seed": 0, "model": "models/mine",
         "data": {"train": {"rows": 10003}}}
    """)
    return [
        {**shared, "metric": m, "value": v, "values": [v] * 10, **facts}
        for m, v in (("accuracy", 80.0), ("macro-f1", 79.0), ("weighted-f1", 78.0))
    ]


def similarity(n: int, setting: str = "test") -> list[Record]:
    shared = {
        "schema": "dialtools.score/1",
        "task": "sts",
        "dataset": "stsb",
        "setting": setting,
        "n": n,
        "model": "models/mine",
    }
    return [
        {**shared, "metric": metric, "value": value}
        for metric, value in (("spearman", 82.0), ("pearson", 83.0))
    ]


def file(path: Path, records: list[Record]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_files_are_laid_out_as_mtebs(command: Command, tmp_path: Path):
    path, folder = file(tmp_path / "s.jsonl", banking() + similarity(1379)), tmp_path / "results"
    done = command("mteb", path, "-o", folder, "--model-name", "me/mine", "--model-revision", "abc")
    found = {one.name: json.loads(one.read_text()) for one in folder.iterdir()}
    assert (
        set(found) == {"Banking77Classification.json", "STSBenchmark.json", "model_meta.json"}
        and "refused" not in done.stderr
    )
    bank = found["Banking77Classification.json"]
    assert set(bank) == {
        "dataset_revision",
        "task_name",
        "mteb_version",
        "scores",
        "evaluation_time",
        "kg_co2_emissions",
    }
    assert bank["task_name"] == "Banking77Classification" and bank["mteb_version"] is None
    test = bank["scores"]["test"][0]
    assert (test["main_score"], test["hf_subset"], test["languages"]) == (
        0.8,
        "default",
        ["eng-Latn"],
    )
    assert (
        test["scores_per_experiment"] == [{"accuracy": 0.8, "f1": 0.79, "f1_weighted": 0.78}] * 10
    )
    sts = found["STSBenchmark.json"]["scores"]["test"][0]
    assert (
        (sts["main_score"], sts["cosine_pearson"]) == (sts["cosine_spearman"], 0.83) == (0.82, 0.83)
    )
    assert (
        found["model_meta.json"]["name"] == "me/mine"
        and found["model_meta.json"]["revision"] == "abc"
    )
    assert "exists already" in command("mteb", path, "-o", folder, code=1).stderr
    command("mteb", path, "-o", folder, "--overwrite")
    assert json.loads((folder / "model_meta.json").read_text())["name"] == "models/mine"


@pytest.mark.parametrize(
    ("records", "why"),
    [
        (banking(n=3000), "3,000 test rows, those of Banking77Classification are 3,080"),
        (banking(setting="5-shot"), "is intent --method logreg with 8 shots, 10 runs"),
        (banking(seed=1), "is intent --method logreg"),
        (banking(runs=9), "is intent --method logreg"),
        (banking(data={"train": {"rows": 900}}), "900 training rows"),
        (banking()[:1], "is intent --method logreg"),
        (similarity(500), "no part has the 1,379 rows of STSBenchmark"),
        (banking(dataset="clinc150"), "no task of MTEB is scored so"),
        (banking(task="oos"), "no task of MTEB"),
    ],
)
def test_what_mteb_does_otherwise_is_refused_with_a_line(
    command: Command, tmp_path: Path, records: list[Record], why: str
):
    failed = command(
        "mteb", file(tmp_path / "s.jsonl", records), "-o", tmp_path / "results", code=1
    )
    assert why in failed.stderr and not (tmp_path / "results").exists()
    beside = file(
        tmp_path / "s.jsonl",
        records + (banking() if records[0]["task"] == "sts" else similarity(1379)),
    )
    done = command("mteb", beside, "-o", tmp_path / "results")
    assert f"refused: {records[0]['task']} " in done.stderr and why in done.stderr
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_a_data_set_of_another_name_can_be_said_to_be_a_task(command: Command, tmp_path: Path):
    path = file(tmp_path / "s.jsonl", banking(dataset="mine"))
    wrong = ("--task", "mime=Banking77Classification")
    refused = command("mteb", path, "-o", tmp_path / "results", *wrong, code=2).stderr
    assert "--task: no score is of data set 'mime'" in refused and "did you mean mine?" in refused
    command("mteb", path, "-o", tmp_path / "results", "--task", "mine=Banking77Classification")
    assert (
        "did you mean Banking77Classification"
        in command(
            "mteb", path, "-o", tmp_path / "r", "--task", "mine=Banking7Classification", code=2
        ).stderr
    )
    assert "-o DIR is needed" in command("mteb", path, code=2).stderr
    two = file(
        tmp_path / "two.jsonl", banking() + [{**r, "model": "other"} for r in similarity(1379)]
    )
    assert "several models" in command("mteb", two, "-o", tmp_path / "r", code=1).stderr


def test_no_file_is_written_where_one_of_them_exists_and_they_are_for_people_too(tmp_path: Path):
    export = mteb.Export({"a.json": {"x": 1}, "b.json": {}})
    (tmp_path / "b.json").write_text("mine")
    with pytest.raises(OutputError, match=r"b\.json"):
        mteb.write_results(export, str(tmp_path), overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]
    mteb.write_results(export, str(tmp_path / "x" / "y"), overwrite=False)
    assert (tmp_path / "x" / "y" / "a.json").read_text() == '{\n  "x": 1\n}\n'


def test_a_data_set_has_mtebs_name_in_any_letters_or_the_one_that_it_is_known_by():
    for dataset in ("Banking77Classification", "banking77CLASSIFICATION", "BANKING77"):
        assert mteb._mteb_name("intent", dataset, {}) == "Banking77Classification"


def test_training_rows_are_those_of_mteb_where_it_has_some():
    for data in (None, {"train": 5}, {"train": {"rows": "10003"}}):
        with pytest.raises(ValueError, match=r"^0 training rows, those of Banking77"):
            mteb.result_file("Banking77Classification", banking(data=data))
    for undefined in ({"values": [None] * 10}, {"n": [3080]}):
        with pytest.raises(ValueError, match=r"10 runs|^0 test rows"):
            mteb.result_file("Banking77Classification", banking(**undefined))
    learnt = [{**record, "data": {"train": {"rows": 5}}} for record in similarity(1379)]
    assert mteb.result_file("STSBenchmark", learnt)["task_name"] == "STSBenchmark"


def test_scores_of_several_models_are_of_one_that_is_named(tmp_path: Path):
    records = [{**r, "model": m} for r, m in zip(similarity(1379), "ab", strict=True)]
    path = str(file(tmp_path / "s.jsonl", records))
    export = mteb.evaluate(MtebOptions(inputs=(path,), output="d", model_name="me/mine"))
    assert export.files["model_meta.json"]["name"] == "me/mine"
    with pytest.raises(ConfigError) as error:
        mteb.evaluate(MtebOptions(inputs=(path,), output="d", task=("qqqqqqqq=STSBenchmark",)))
    assert error.value.hint == "choose from stsb"


def test_a_result_is_of_one_run_of_one_data_set_and_has_a_model(command: Command, tmp_path: Path):
    twice = file(tmp_path / "twice.jsonl", similarity(1379) + banking(dataset="bank77") + banking())
    done = command("mteb", twice, "-o", tmp_path / "r", "--model-name", "m")
    both = "refused: intent bank77, intent banking77.parquet: Banking77Classification is here more"
    assert both in done.stderr
    assert {path.name for path in (tmp_path / "r").iterdir()} == {
        "STSBenchmark.json",
        "model_meta.json",
    }
    nameless = file(tmp_path / "n.jsonl", banking(model=None))
    refused = command("mteb", nameless, "-o", tmp_path / "n", code=1).stderr
    assert "nothing tells the model" in refused and not (tmp_path / "n").exists()


def test_the_part_of_similarities_is_the_one_with_mtebs_rows():
    for parts, chosen in (
        ({"test": 500, "": 1379, "all": 1379}, ""),
        ({"test": 500, "all": 1379}, "all"),
        ({"": 1379, "test": 1379}, "test"),
        ({"dev": 1379, "all": 500}, "test"),
    ):
        records = [{"setting": setting, "n": n} for setting, n in parts.items()]
        assert mteb._sts_setting("STSBenchmark", records) == chosen


def test_a_refusal_names_the_files_and_the_task_that_scores_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = file(tmp_path / "s.jsonl", similarity(1379))
    wrong = MtebOptions(inputs=(str(path),), output="d", task=("stsb=Banking77Classification",))
    says = r"s\.jsonl: sts stsb: Banking77Classification is scored by dial-eval intent"
    with pytest.raises(DataError, match=says):
        mteb.evaluate(wrong)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    with pytest.raises(DataError, match=r"^<stdin>: sts stsb: Banking77"):
        mteb.evaluate(MtebOptions(output="d", task=wrong.task))


def test_classes_of_a_regression_are_numbered_by_name():
    names = list("fbdaecgh")
    rows = Labelled(np.eye(8), names)
    options = IntentOptions(inputs=("x",), method="logreg", shots=(1,), runs=2)
    facts = {"task": "intent", "dataset": "d", "seed": 0}
    found = logreg.scores(rows, rows, options, "", facts)
    assert found[1].each["truth"] == [sorted(names).index(name) for name in names]
    assert len(found[0].each) == 8, "a share of each row, not of each run"


def test_a_regression_is_fitted_by_one_thread_and_its_end_is_no_warning(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[int] = []
    limits = threadpoolctl.threadpool_limits

    def noted(threads: int) -> threadpoolctl.threadpool_limits:
        asked.append(threads)
        return limits(threads)

    assert logreg.ITERATIONS == 100, "MTEB's"
    monkeypatch.setattr(threadpoolctl, "threadpool_limits", noted)
    monkeypatch.setattr(logreg, "ITERATIONS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logreg.predict(np.eye(4), np.arange(4), np.eye(4), seed=0)
    assert asked == [1]


@pytest.mark.shared
@pytest.mark.exhaustive
@pytest.mark.slow
def test_minilm_gets_the_published_numbers_run_by_run(
    command: Command, scripts: Path, shared: Path, minilm: str, tmp_path: Path
):
    rows = shared / "data" / "eval" / "banking77.jsonl.gz"
    line = [scripts / "dial-embed", "-q", "--model", minilm, rows, "-o"]
    subprocess.run([*line, tmp_path / "banking77.parquet"], check=True)
    command(
        "intent", "--method", "logreg", tmp_path / "banking77.parquet", "-o", tmp_path / "s.jsonl"
    )
    command("mteb", tmp_path / "s.jsonl", "-o", tmp_path / "results")
    found = json.loads((tmp_path / "results" / "Banking77Classification.json").read_text())[
        "scores"
    ]["test"][0]
    runs = [run["accuracy"] for run in found["scores_per_experiment"]]
    assert runs == pytest.approx(PUBLISHED, abs=1.5 * ONE_TEXT)
    assert found["main_score"] == pytest.approx(0.800422, abs=ONE_TEXT)
