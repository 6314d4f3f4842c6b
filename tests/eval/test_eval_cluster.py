"""dial-eval cluster: clusters against labels, and the protocols of DSTC11's track 2 and of MTEB."""

from __future__ import annotations

import json
import random
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from oracles import slow_clusterings
from score_files import Evaluate, Record, score, unit, write

from dialtools.eval.options.cluster import ClusterOptions
from dialtools.eval.tasks import cluster
from dialtools.metrics.clusterings import MEASURES, adjusted_rand, contingency
from dialtools.metrics.resample import of_resampled_tables, over_resamples

Command = Callable[..., subprocess.CompletedProcess]
SPREAD = 0.35


def labelled(count: int, *, seed: int = 0) -> tuple[list[Record], np.ndarray]:
    """Rows of four labels, each around an axis, near enough that some go astray."""
    draw = np.random.default_rng(seed)
    kinds = draw.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    vectors = np.eye(6)[kinds] + draw.normal(scale=SPREAD, size=(count, 6))
    vectors *= draw.uniform(0.2, 3, (count, 1))
    rows = [
        {"id": str(i), "label": "abcd"[kind], "split": "train" if i % 2 else "test"}
        for i, kind in enumerate(kinds)
    ]
    return rows, vectors.astype(np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows, vectors = labelled(240)
    return write(tmp_path_factory.mktemp("cluster") / "v.jsonl", rows, embedding=vectors)


def of(path: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """The vectors and labels of a split."""
    rows, vectors = labelled(240)
    chosen = [i for i, row in enumerate(rows) if row["split"] == split]
    return vectors[chosen], np.array([rows[i]["label"] for i in chosen])


def test_each_run_is_scikit_learns_k_means_of_unit_vectors(evaluate: Evaluate, path: Path):
    from sklearn.cluster import KMeans

    records = evaluate("cluster", "--part", "test", "--runs", 3, "--seed", 5, path)
    x, labels = of(path, "test")
    names = np.unique(labels, return_inverse=True)[1].tolist()
    for metric in MEASURES:
        slow = getattr(slow_clusterings, {"ari": "adjusted_rand"}.get(metric, metric))
        expected = []
        for seed in (5, 6, 7):
            found = KMeans(4, n_init=10, random_state=seed).fit_predict(unit(x))
            expected.append(100 * slow(found.tolist(), names))
        assert score(records, metric)["values"] == pytest.approx(expected), metric
    told = score(records, "accuracy", "test kmeans")
    assert told["data"] == {"clusters": 4.0, "labels": 4} and told["n"] == len(labels)
    assert sum(told["each"]) / len(labels) == pytest.approx(told["value"] / 100, abs=1e-5)


@pytest.mark.parametrize(
    ("protocol", "steps"),
    [("rows", 2 * (3 + len(MEASURES))), ("induce", 3 + len(MEASURES)), ("mteb", 2 * 3)],
)
def test_each_run_and_each_interval_is_a_step_that_a_person_sees(
    path: Path, protocol: str, steps: int
):
    told: list[int] = []
    cluster.evaluate(ClusterOptions(inputs=(str(path),), protocol=protocol, runs=3), told.append)
    assert sum(told) == steps


def test_parts_are_scored_apart_and_a_label_may_be_left_out(evaluate: Evaluate, path: Path):
    records = evaluate("cluster", "--runs", 2, "--without", "d", "--name", "mine", path)
    assert {r["setting"] for r in records} == {"test kmeans", "train kmeans"}
    assert {r["dataset"] for r in records} == {"mine"}
    assert all(r["data"]["labels"] == 3 for r in records)


def test_where_nothing_is_drawn_there_is_one_run_and_rows_are_resampled(
    evaluate: Evaluate, command: Command, path: Path
):
    ask = ("cluster", "--part", "test", "--method", "agglomerative", "--clusters", "2-9", path)
    found = score(evaluate(*ask), "ari", "test agglomerative")
    assert found["runs"] == 1 and "std" not in found
    assert found["low"] < found["value"] < found["high"]
    assert f"{found['data']['clusters']:.0f} clusters, 4 labels" in command(*ask).stderr
    noisy = ("cluster", "--part", "test", "--method", "hdbscan", "--min-size", 8, path)
    assert "% noise" in command(*noisy).stderr
    told = score(evaluate(*noisy), "nmi")["data"]
    assert told["clusters"] < 10 and 0 < told["noise"] < 1


def test_twelve_rows_in_their_clusters_do_not_tell_that_all_are(evaluate: Evaluate, tmp_path: Path):
    rows = [{"label": "abc"[i % 3]} for i in range(12)]
    path = write(tmp_path / "v.jsonl", rows, embedding=np.eye(3)[np.arange(12) % 3])
    found = score(evaluate("cluster", "--method", "agglomerative", path), "accuracy")
    assert found["value"] == found["high"] == 100
    assert found["low"] == pytest.approx(100 * 11 / (11 + 2.201**2), abs=0.01)  # t(11)


def test_an_interval_of_a_table_holds_the_measure_though_resamples_have_more_structure():
    draw = np.random.default_rng(0)
    table = contingency(draw.integers(0, 20, 400), draw.integers(0, 20, 400))
    assert abs(adjusted_rand(table)) < 0.01
    resampled = of_resampled_tables(table, MEASURES.values(), seed=0, resamples=200)
    for measure, again in zip(MEASURES.values(), resampled, strict=True):
        low, high = over_resamples(again, measure(table), 400)
        assert low < measure(table) < high


def test_the_interval_of_a_table_of_many_clusters_takes_the_memory_of_some_tables():
    draw = np.random.default_rng(0)
    table = contingency(draw.integers(0, 200, 2000), draw.integers(0, 40, 2000))
    tracemalloc.start()
    of_resampled_tables(table, [MEASURES["precision"]], seed=0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * table.nbytes


def test_mtebs_protocol_is_its_code(evaluate: Evaluate, path: Path):
    """One generator for documents and draws, one model, vectors as they are."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import v_measure_score

    ask = ("cluster", "--protocol", "mteb", "--part", "test", "--share", 0.5, "--seed", 1)
    found = score(evaluate(*ask, "--runs", 3, path), "v-measure", "test mteb")
    x, labels = of(path, "test")
    draw = random.Random(43)
    documents = draw.sample(range(len(labels)), k=int(0.5 * len(labels)))
    x, labels = x[documents], labels[documents]
    kinds = len(np.unique(labels))
    model = MiniBatchKMeans(kinds, batch_size=512, init="k-means++", n_init=1, random_state=43)
    expected = []
    for _ in range(3):
        rows = draw.choices(range(len(labels)), k=16_384)
        expected.append(100 * v_measure_score(labels[rows], model.fit_predict(x[rows])))
    assert found["values"] == pytest.approx(expected, abs=1e-6)


def test_mtebs_protocol_takes_vectors_whose_squares_no_32_bits_hold(
    evaluate: Evaluate, path: Path, tmp_path: Path
):
    rows, vectors = labelled(240)
    large = write(tmp_path / "v.jsonl", rows, embedding=vectors * np.float32(2.0**100))
    ask = ("cluster", "--protocol", "mteb", "--part", "test", "--runs", 2)
    assert evaluate(*ask, large)[0]["values"] == evaluate(*ask, path)[0]["values"]


def test_induced_intents_are_learnt_and_told_of_test_rows(
    evaluate: Evaluate, path: Path, tmp_path: Path
):
    """Each distinct row of a cluster once, classes balanced, as sitod.evaluate has it."""
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LogisticRegression

    rows, vectors = labelled(240)
    train = [i for i, row in enumerate(rows) if row["split"] == "train"]
    twice = [*rows, *(rows[i] for i in train[:30])]
    again = np.concatenate([vectors, vectors[train[:30]]])
    twin = write(tmp_path / "twice.jsonl", twice, embedding=again)
    x, _ = of(path, "train")
    test, labels = of(path, "test")
    x = unit(np.concatenate([x, x[:30]]))
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(x)
    once = np.unique(np.column_stack([clusters, x]), axis=0, return_index=True)[1]
    model = LogisticRegression(class_weight="balanced", random_state=0)
    guess = model.fit(x[np.sort(once)], clusters[np.sort(once)]).predict(unit(test))
    numbers = np.unique(labels, return_inverse=True)[1].tolist()
    found = evaluate("cluster", "--protocol", "induce", "--runs", 1, twin)
    expected = 100 * slow_clusterings.accuracy(guess.tolist(), numbers)
    assert score(found, "accuracy", "induced kmeans")["value"] == pytest.approx(expected, abs=1e-6)

    parts = {
        name: [i for i, row in enumerate(twice) if row["split"] == name]
        for name in ("train", "test")
    }
    for name, chosen in parts.items():
        write(tmp_path / f"{name}.jsonl", [twice[i] for i in chosen], embedding=again[chosen])
    files = ("--train", tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl")
    by_files = evaluate("cluster", "--protocol", "induce", "--runs", 1, *files)
    for name in MEASURES:
        assert score(by_files, name)["value"] == score(found, name)["value"]


def test_a_cluster_that_is_all_there_is_gives_every_test_row_its_class(
    evaluate: Evaluate, path: Path
):
    found = evaluate("cluster", "--protocol", "induce", "--clusters", 1, "--runs", 1, path)
    assert score(found, "nmi")["value"] == 0
    assert score(found, "recall")["value"] == 100


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--protocol", "mteb", "--method", "hdbscan"], 2, "--protocol mteb is of k-means"),
        (["--clusters", "many"], 2, "a number such as 20, or bounds such as 5-50, or labels"),
        (["--label", "lable"], 1, "no column 'lable'"),
        (["--label", "split", "--part", "test"], 1, "all rows are labelled 'test'"),
        (["--clusters", 999], 1, "too few for --clusters 999"),
        (["--protocol", "induce", "--split", "parts"], 1, "no column 'parts'"),
    ],
)
def test_what_cannot_be_scored_is_one_line(
    command: Command, path: Path, arguments: list[object], code: int, told: str
):
    assert told in command("cluster", *arguments, path, code=code).stderr


def test_a_suite_can_name_it(command: Command, evaluate: Evaluate, path: Path, tmp_path: Path):
    (tmp_path / "s.toml").write_text(
        'title = "s"\n[[set]]\ntask = "cluster"\nname = "V"\nfile = "v"\n'
        'metrics = ["nmi", "ari"]\noptions = { part = "test", runs = 2 }\n'
    )
    records = evaluate("suite", tmp_path / "s.toml", path.parent)
    alone = evaluate("cluster", "--part", "test", "--runs", 2, path)
    assert score(records, "ari")["value"] == score(alone, "ari")["value"]


def test_two_encoders_accuracies_are_compared_row_by_row(command: Command, tmp_path: Path):
    rows, vectors = labelled(240)
    worse = vectors + np.random.default_rng(9).normal(scale=0.5, size=vectors.shape)
    for name, matrix in (("a", vectors), ("b", worse)):
        embedded = write(tmp_path / f"{name}.v.jsonl", rows, embedding=matrix)
        ask = ("cluster", "--part", "test", "--runs", 10, "--name", "v")
        command(*ask, "-o", tmp_path / f"{name}.jsonl", embedded)
    done = command("compare", "--to", "jsonl", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    records = {row["metric"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert records["accuracy"]["p"] < 0.05
    assert "p" not in records["nmi"]
