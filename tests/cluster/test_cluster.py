"""dialtools cluster: rows that are alike come together, and each cluster says what it is."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from hypothesis import given
from hypothesis import strategies as st
from pair_corpus import as_lines

from dialtools.advance import silent
from dialtools.cli._records import RECORDS
from dialtools.cluster import methods
from dialtools.cluster.job import Clustering
from dialtools.cluster.methods import best_count
from dialtools.cluster.options import LINKAGES, METHODS, ClusterOptions
from dialtools.cluster.stability import Stability, best_matches, stability
from dialtools.cluster.summary import telling_words
from dialtools.errors import DataError
from dialtools.metrics.clusterings import adjusted_rand, contingency
from dialtools.metrics.space import unit

Run = Callable[..., subprocess.CompletedProcess]
Row = dict[str, Any]
KINDS = {"fly": ("fly to {}", 14), "thanks": ("thanks for {}", 9), "pay": ("pay with {}", 6)}
"""A template and how many rows there are of it."""


def rows_of_kinds() -> list[Row]:
    """Rows of three kinds, each around an axis of its own, one kind after another."""
    draw, rows = np.random.default_rng(0), []
    for axis, (kind, (template, count)) in enumerate(KINDS.items()):
        for i in range(count):
            vector = np.eye(5)[axis] + draw.normal(scale=0.05, size=5)
            text = template.format(f"it {i // 2}")
            rows.append({"id": f"{kind}{i}", "text": text, "embedding": vector.tolist()})
    return rows


ROWS = rows_of_kinds()
UNITS = unit(np.array([row["embedding"] for row in ROWS], np.float32))
SCATTERED = unit(np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32))
STRAYS = [
    {"id": f"stray{i}", "text": "?", "embedding": vector}
    for i, vector in enumerate([[0, 0, 0, 1, 0], [-1, -1, 0, 0, 0], [0, 0, 0, 0, -1]])
]


@pytest.fixture
def cluster(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Run:
    """Run it on rows, by default those above."""

    def run(
        *arguments: object,
        rows: list[Row] | None = None,
        code: int = 0,
        environment: dict[str, str] = environment,
    ) -> subprocess.CompletedProcess:
        (tmp_path / "v.jsonl").write_bytes(as_lines(ROWS if rows is None else rows))
        line = [str(scripts / "dialtools"), "cluster", *map(str, arguments), "v.jsonl"]
        return ended(*line, code=code, env=environment, cwd=tmp_path, timeout=300)

    return run


def lines(blob: bytes) -> list[Row]:
    return [orjson.loads(line) for line in blob.splitlines()]


def test_a_limit_takes_the_first_rows(cluster: Run):
    done = cluster("--clusters", 2, "-n", 20)
    assert [row["id"] for row in lines(done.stdout)] == [row["id"] for row in ROWS[:20]]


def test_a_field_that_one_of_the_files_lacks_is_told(cluster: Run, tmp_path: Path):
    more = [{"embedding": row["embedding"], "id": row["id"], "mood": "calm"} for row in ROWS]
    (tmp_path / "w.jsonl").write_bytes(as_lines(more))
    told = cluster("--clusters", 2, "w.jsonl").stderr.decode()
    assert "no text: w.jsonl has none" in told and "mood" not in told
    told = cluster("--clusters", 2, "--keep", "all", "w.jsonl").stderr.decode()
    assert "no text: w.jsonl has none" in told and "no mood: v.jsonl has none" in told
    assert "has none" not in cluster("--clusters", 2, "--keep", "id", "w.jsonl").stderr.decode()


def test_fields_that_are_written_anew_are_told(cluster: Run):
    scored = [row | {"distance": 7, "probability": 8} for row in ROWS]
    done = cluster("--clusters", 3, "--keep", "all", rows=scored)
    first = lines(done.stdout)[0]
    assert first["distance"] < 2 and first["probability"] == 8
    assert "3 clusters; written anew: distance (" in done.stderr.decode()


def clusters(done: subprocess.CompletedProcess) -> dict[str, int]:
    return {row["id"]: row["cluster"] for row in lines(done.stdout)}


EXPECTED = {row["id"]: list(KINDS).index(row["id"].rstrip("0123456789")) for row in ROWS}
ASKED = {
    "kmeans": ("--clusters", "3"),
    "agglomerative": ("--distance", "0.2"),
    "hdbscan": ("--min-size", "4"),
}


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_a_kind_are_in_a_cluster_and_the_largest_is_the_first(cluster: Run, method: str):
    assert clusters(cluster("--method", method, *ASKED[method])) == EXPECTED


@pytest.mark.parametrize("method", ["kmeans", "agglomerative"])
def test_of_bounds_the_number_with_the_highest_silhouette_is_taken(cluster: Run, method: str):
    assert clusters(cluster("--method", method, "--clusters", "2-8")) == EXPECTED
    assert clusters(cluster("--method", method, "--clusters", "3-900")) == EXPECTED


@pytest.mark.parametrize("linkage", LINKAGES)
def test_agglomerative_clusters_are_scikit_learns(linkage: str):
    from sklearn.cluster import AgglomerativeClustering

    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    metric = "euclidean" if linkage == "ward" else "cosine"
    theirs = AgglomerativeClustering(7, metric=metric, linkage=linkage).fit_predict(x)
    asked = ClusterOptions(method="agglomerative", linkage=linkage, clusters="7")
    ours = methods.find(x, asked, seed=0).labels
    assert adjusted_rand(contingency(ours, theirs)) == 1


def test_a_row_says_which_it_is_and_how_far_from_its_centroid(cluster: Run):
    rows = lines(cluster("--clusters", 3).stdout)
    assert list(rows[0]) == ["row", "id", "text", "cluster", "distance"][1:]
    x = np.array([row["embedding"] for row in ROWS])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for kind in range(3):
        own = [i for i, row in enumerate(ROWS) if EXPECTED[row["id"]] == kind]
        centre = x[own].sum(0) / np.linalg.norm(x[own].sum(0))
        found = [rows[i]["distance"] for i in own]
        assert found == pytest.approx((1 - x[own] @ centre).tolist(), abs=1e-5)


def test_what_is_near_nothing_is_noise_and_is_told(cluster: Run):
    ask = ("--method", "hdbscan", "--min-size", 4, "--save-summary", "s.jsonl")
    done = cluster(*ask, rows=ROWS + STRAYS)
    rows = {row["id"]: row for row in lines(done.stdout)}
    for stray in STRAYS:
        row = rows[stray["id"]]
        assert row["cluster"] == -1 and "distance" not in row and row["probability"] == 0
    assert rows["fly0"]["probability"] > 0
    assert "32 rows, 3 clusters; 9.4% noise" in done.stderr.decode()


def test_the_summary_tells_size_medoid_nearest_texts_and_words(cluster: Run, tmp_path: Path):
    hdbscan = ("--method", "hdbscan", "--min-size", 4)
    cluster(*hdbscan, "--save-summary", "s.jsonl", rows=ROWS + STRAYS)
    whole, *found, noise = lines((tmp_path / "s.jsonl").read_bytes())
    page = RECORDS["cluster"].fields
    required = {name for name, field in page.items() if field.required}
    assert all(required <= set(record) <= set(page) for record in (whole, *found, noise))
    assert (whole["size"], whole["clusters"], whole["noise"]) == (32, 3, 3)
    assert 0.8 < whole["silhouette"] < 1 and "cluster" not in whole
    assert noise == {**noise, "cluster": -1, "size": 3}
    assert sum(record["share"] for record in (*found, noise)) == pytest.approx(1, abs=1e-5)
    assert [record["size"] for record in found] == [14, 9, 6]
    assert [record["words"][0] for record in found] == ["fly", "for", "pay"]
    for record in found:
        own = [row for row in ROWS if EXPECTED[row["id"]] == record["cluster"]]
        x = np.array([row["embedding"] for row in own])
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        medoid = own[int((1 - x @ x.T).mean(1).argmin())]
        assert record["medoid"] == medoid["id"] and record["nearest"][0] == medoid["text"]
        distinct = len({row["text"] for row in own})
        assert len(set(record["nearest"])) == len(record["nearest"]) == min(5, distinct)


def test_a_word_that_is_everywhere_tells_nothing():
    texts = ["the cat", "the cat sat", "the dog", "the dog sat", "the noise"]
    labels = np.array([0, 0, 1, 1, -1])
    assert [words[0] for words in telling_words(texts, labels, 2)] == ["cat", "dog"]
    assert [words[-2:] for words in telling_words(texts, labels, 2)] == [["the", "sat"]] * 2


def test_a_word_that_is_rarer_in_a_cluster_than_elsewhere_tells_nothing_of_it():
    own = ["pay ok", "pay ok", "pay ok", "pay now", "pay now", "pay"]
    texts = [*own, "now ok", "now ok", "now", "now", "now", "now"]
    assert telling_words(texts, np.repeat([0, 1], 6), 2)[0] == ["pay", "ok", "now"]


def test_words_of_scripts_without_blanks_are_of_several_characters_and_do_not_overlap():
    said = {
        "refund": ["我要退款 now", "退款多久到账", "申请退款", "退款到哪"],
        "invoice": ["电子发票在哪里", "怎么开电子发票", "我要电子发票", "电子发票呢"],
        "cancel": ["อยากยกเลิกตั๋ว", "ขอยกเลิกห้อง", "ยกเลิกได้ไหม", "ช่วยยกเลิกที"],
    }
    texts = [text for own in said.values() for text in own]
    refund, invoice, cancel = telling_words(texts, np.repeat([0, 1, 2], 4), 3)
    assert (refund[0], invoice[0], cancel[0]) == ("退款", "电子发票", "ยกเลิก") and "now" in refund
    for words in (refund, invoice, cancel):
        assert not any(a in b for a in words for b in words if a != b) and min(map(len, words)) > 1


def test_a_word_of_one_text_tells_of_no_cluster():
    texts = ["order 4711 4711 please", "order 4712 please", "cancel 4713 now", "cancel 4714 now"]
    labels = np.array([0, 0, 1, 1])
    told = [set(words[:2]) for words in telling_words(texts, labels, 2)]
    assert told == [{"order", "please"}, {"cancel", "now"}]


def test_rows_beyond_the_sample_join_the_nearest_centroid(cluster: Run):
    assert clusters(cluster("--clusters", 3, "--max-rows", 15)) == EXPECTED
    ask = ("--method", "hdbscan", "--min-size", 3, "--max-rows", 25)
    rows = {row["id"]: row for row in lines(cluster(*ask, rows=ROWS + STRAYS).stdout)}
    assert sum("probability" not in row for row in rows.values()) == 7
    assert all(rows[stray["id"]]["cluster"] == -1 for stray in STRAYS)


def test_clusters_that_samples_find_again_are_stable(cluster: Run, tmp_path: Path):
    ask = ("--stability", 4, "--save-summary", "s.jsonl", "--overwrite")
    done = cluster("--clusters", 3, *ask)
    assert "stability 1.00" in done.stderr.decode()
    whole, *found = lines((tmp_path / "s.jsonl").read_bytes())
    assert whole["stability"] == 1 and [record["stability"] for record in found] == [1, 1, 1]
    cluster("--clusters", 9, "--restarts", 1, *ask)  # kinds are cut somewhere
    whole, *found = lines((tmp_path / "s.jsonl").read_bytes())
    assert whole["low"] < whole["stability"] < 1
    assert min(record["stability"] for record in found) < 0.8
    told = cluster("--clusters", 24, *ask, code=1).stderr.decode()
    assert "--stability clusters four fifths of the rows: " in told


def test_the_most_alike_cluster_is_by_shared_rows_of_the_rows_of_either():
    before, found = np.array([0, 0, 0, 1, 1, -1]), np.array([5, 5, 2, 2, -1, 5])
    assert best_matches(before, found, 3)[:2].tolist() == [2 / 4, 1 / 3]
    assert np.isnan(best_matches(before, found, 3)[2])


def test_samples_are_told_into_as_many_clusters_without_another_search():
    asked, tried = ClusterOptions(clusters="2-20"), list[int]()
    found = methods.find(UNITS, asked, seed=0)
    sure = stability(UNITS, found, asked, 3, seed=0, advance=tried.append)
    assert len(found) == 3 and tried == [1, 1, 1] and sure.rand.tolist() == [1, 1, 1]


def test_nothing_is_more_alike_than_the_same():
    mean, low, high = Stability(np.array([1.0, 1.0, 0.9]), np.zeros((3, 0))).overall()
    assert low < mean < high == 1


def test_a_cluster_that_no_sample_met_has_no_stability_and_nobody_is_warned():
    jaccard = np.array([[1.0, np.nan, np.nan], [0.5, 0.25, np.nan]])
    found = Stability(np.ones(2), jaccard).of_clusters()
    assert found.tolist()[:2] == [0.75, 0.25] and np.isnan(found[2])


def test_a_dialogue_is_the_mean_of_its_first_user_turns(cluster: Run):
    def turn(talk: str, place: int, speaker: str, kind: int) -> Row:
        vector = np.eye(3)[kind].tolist()
        facts = {"dialogue_id": talk, "turn": place, "speaker": speaker}
        return {**facts, "text": f"{talk}{place}", "embedding": vector}

    rows = [
        turn("a", 2, "user", 1),  # out of order
        turn("a", 0, "user", 0),
        turn("a", 1, "system", 2),
        turn("b", 0, "system", 2),
        turn("b", 1, "user", 1),
        turn("c", 0, "customer", 0),
        turn("d", 0, "system", 0),
    ]
    done = cluster("--per", "dialogue", "--clusters", 2, rows=rows)
    found = {row["dialogue_id"]: (row["text"], row["cluster"]) for row in lines(done.stdout)}
    assert found == {"a": ("a0", 0), "b": ("b1", 1), "c": ("c0", 0)}
    assert "1 dialogue without a turn of the user" in done.stderr.decode()
    ask = ("--per", "dialogue", "--turns", 2, "--clusters", 1, "--keep", "all")
    first = lines(cluster(*ask, rows=rows).stdout)[0]
    assert first["text"] == "a0 / a2" and "turn" not in first
    # halfway between the axes, of which the cluster has three halves each
    assert first["distance"] == pytest.approx(0, abs=1e-6)


def test_dialogues_need_no_texts_and_turns_are_numbers_where_they_are_told(cluster: Run):
    def of_two(**first: Any) -> list[Row]:
        both = {"dialogue_id": "a", "speaker": "user", "embedding": [1.0, 0.0]}
        return [{**both, **first}, {**both, "turn": 1}]

    for turn in (0, None):
        done = cluster("--per", "dialogue", "--clusters", 1, rows=of_two(turn=turn))
        assert len(lines(done.stdout)) == 1
    rows = of_two(turn="first")
    told = cluster("--per", "dialogue", "--clusters", 1, rows=rows, code=1).stderr.decode()
    assert "turn: expected a whole number, 0 or more, got a string" in told


def test_columns_give_columns_with_what_made_them(cluster: Run, tmp_path: Path):
    ask = ("--clusters", 3, "--keep", "all")
    for name in ("out.parquet", "out.arrows"):
        cluster(*ask, "-o", name)
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["id", "text", "cluster", "distance"]
    assert {row["id"]: row["cluster"] for row in table.to_pylist()} == EXPECTED
    told = json.loads(table.schema.metadata[b"dialtools"])
    assert told["command"] == "dialtools cluster"
    assert told["counts"] == {"rows": 29, "clusters": 3, "noise": 0}
    streamed = pa.ipc.open_stream(tmp_path / "out.arrows").read_all()
    assert streamed.to_pylist() == table.to_pylist()


def test_prices_nanoseconds_and_hashes_go_along_into_a_table(
    scripts: Path, environment: dict[str, str], tmp_path: Path
):
    own = {
        "price": pa.array([None, *[Decimal("1.50")] * (len(ROWS) - 1)]),
        "at": pa.array(range(len(ROWS)), pa.timestamp("ns")),
        "id": pa.array(range(2**64 - len(ROWS), 2**64), pa.uint64()),
    }
    vectors = pa.array([row["embedding"] for row in ROWS], pa.list_(pa.float32(), 5))
    pq.write_table(pa.table({**own, "embedding": vectors}), tmp_path / "v.parquet")
    line = [str(scripts / "dialtools"), "cluster", "--clusters", "3", "--keep", "all"]
    line += ["v.parquet", "-o", "out.parquet"]
    subprocess.run(line, check=True, env=environment, cwd=tmp_path, timeout=300)
    told = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert {name: told[name] for name in own} == {n: c.to_pylist() for n, c in own.items()}


def test_rows_without_ids_and_texts_are_told_by_their_number(cluster: Run):
    rows = [{"embedding": row["embedding"]} for row in ROWS]
    done = cluster("--clusters", 3, rows=rows)
    assert [row["row"] for row in lines(done.stdout)] == list(range(29))
    assert b"texts" not in done.stderr
    done = cluster("--clusters", 3, "--table", rows=rows)
    assert done.stdout.decode().splitlines()[0] == "29 rows · 3 clusters · silhouette 0.99"
    assert b"no texts, so that clusters have no words" in done.stderr


def test_where_not_all_rows_have_an_id_their_numbers_tell_them(cluster: Run, tmp_path: Path):
    rows = [row if i % 2 else row | {"id": ""} for i, row in enumerate(ROWS)]
    done = cluster("--clusters", 3, "--save-summary", "s.jsonl", rows=rows)
    assert [(row["row"], row["id"]) for row in lines(done.stdout)] == [
        (i, row["id"]) for i, row in enumerate(rows)
    ]
    medoids = [row["medoid"] for row in lines((tmp_path / "s.jsonl").read_bytes())[1:]]
    assert [ROWS[medoid]["id"].rstrip("0123456789") for medoid in medoids] == [*KINDS]


def test_the_table_stands_on_stdout_in_place_of_the_rows(cluster: Run, tmp_path: Path):
    done = cluster("--clusters", 3, "--table", "-q")
    assert "fly" in done.stdout.decode() and "{" not in done.stdout.decode()
    assert done.stderr == b""
    both = cluster("--clusters", 3, "--table", "-o", "rows.jsonl", "-q")
    assert both.stdout == done.stdout
    assert len(lines((tmp_path / "rows.jsonl").read_bytes())) == 29
    cluster("--clusters", 3, "--save-summary", "s.csv", "-q")
    whole, first, *_ = csv.DictReader((tmp_path / "s.csv").open(newline=""))
    assert whole["clusters"] == "3" and json.loads(first["words"])[0] == "fly"
    cluster("--clusters", 3, "--save-summary", "s.md", "-q")
    assert (tmp_path / "s.md").read_text().startswith("| cluster | words | medoid | rows | share |")


def test_a_person_sees_the_table_where_the_rows_are_not(
    scripts: Path, environment: dict[str, str], tmp_path: Path
):
    (tmp_path / "v.jsonl").write_bytes(as_lines(ROWS))
    line = [str(scripts / "dialtools"), "cluster", "--clusters", "3", "v.jsonl"]
    ours, theirs = os.openpty()
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=theirs, env=environment, cwd=tmp_path
    ) as process:
        os.close(theirs)
        seen = bytearray()
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while block := os.read(ours, 65536):
                seen += block
        assert process.stdout and len(lines(process.stdout.read())) == 29
    os.close(ours)
    assert process.returncode == 0
    assert "29 rows · 3 clusters" in seen.decode() and "29 rows, 3 clusters (" in seen.decode()


def test_a_seed_gives_the_same_bytes_with_any_number_of_threads(
    cluster: Run, environment: dict[str, str]
):
    several = environment | {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}
    ask = ("--clusters", "4-9", "--restarts", 1)
    assert cluster(*ask).stdout == cluster(*ask, environment=several).stdout


ZEROS: list[Row] = [{"id": str(zero), "embedding": [zero, zero]} for zero in (0.0, -0.0)]


@pytest.mark.parametrize(
    ("arguments", "rows", "told"),
    [
        (["--clusters", 30], ROWS, "29 distinct vectors in 29 rows: too few for --clusters 30"),
        (["--clusters", "2-9"], ROWS[:1] * 5, "1 distinct vector in 5 rows: too few"),
        (["--clusters", 2], ZEROS, "1 distinct vector in 2 rows: too few"),
        (["--method", "hdbscan", "--min-size", 99], ROWS, "29 rows; a cluster has 99 at least"),
        (["--keep", "tex"], ROWS, "--keep: no field 'tex'; there are id, text"),
        (["--text", "tex"], ROWS, "no column 'tex'"),
        (["--vectors", "x"], ROWS, "no vectors 'x_embedding'; there are embedding"),
        (["--per", "dialogue"], ROWS, "no column 'speaker'"),
        ([], [{"id": "a"}], "holds no embeddings"),
    ],
)
def test_what_cannot_be_clustered_is_one_line(
    cluster: Run, arguments: list[Any], rows: list[Row], told: str
):
    done = cluster(*arguments, rows=rows, code=1)
    assert told in done.stderr.decode() and "defect" not in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--clusters", "9-5"], "bounds go up"),
        (["--clusters", "1-5"], "bounds go up, from 2"),
        (["--clusters", "some"], "a number such as 20, or bounds such as 5-50"),
        (["--distance", 0.5], "--distance goes with --method agglomerative"),
        (["--linkage", "ward"], "--linkage goes with --method agglomerative"),
        (
            ["--method", "agglomerative", "--linkage", "ward", "--distance", 0.5],
            "--distance is of cosines, which --linkage ward does not join by",
        ),
        (
            ["--method", "agglomerative", "--clusters", 7, "--distance", 0.5],
            "--clusters has no meaning beside --distance",
        ),
        (["--min-samples", 3], "--min-samples goes with --method hdbscan"),
        (["--table", "--to", "parquet"], "--to parquet is for rows, whose place --table takes"),
        (["--table", "--keep", "all"], "--keep is for rows, whose place --table takes"),
        (["--save-summary", "s.txt"], "name it .jsonl, .csv, .md, .tex"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(cluster: Run, arguments: list[Any], told: str):
    assert told in cluster(*arguments, code=2).stderr.decode()


@pytest.mark.parametrize("method", ["agglomerative", "hdbscan"])
def test_pairs_of_more_rows_than_memory_should_hold_are_refused(
    method: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(methods, "MOST_PAIRED", 20)
    x = np.eye(30, dtype=np.float32)
    with pytest.raises(
        DataError, match=r"30 rows: \w+ holds all pairs, of 20 rows at most"
    ) as error:
        methods.find(x, ClusterOptions(method=method, clusters="3"), seed=0)
    assert error.value.hint and "--max-rows 20" in error.value.hint


@given(st.integers(2, 40), st.integers(0, 300), st.data())
def test_the_best_number_is_found_where_scores_rise_and_fall(
    low: int, width: int, data: st.DataObject
):
    top = data.draw(st.integers(low, low + width))
    tried: list[int] = []

    def score(count: int) -> float:
        tried.append(count)
        return -abs(count - top)

    assert best_count(low, low + width, score) == top
    assert len(tried) == len(set(tried)) <= 40


def test_a_number_is_tried_on_rows_from_all_over_and_is_none_that_those_do_not_allow(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(methods, "TRIED_ON", 12)  # the first twelve are of one kind
    assert len(methods.find(UNITS, ClusterOptions(clusters="2-20"), seed=0)) == 3


def test_restarts_find_closer_clusters():
    asked = (ClusterOptions(clusters="9", restarts=restarts) for restarts in (1, 20))
    once, often = (methods.find(SCATTERED, options, seed=0).distance.mean() for options in asked)
    assert often < 0.95 * once


def test_another_seed_finds_other_clusters(tmp_path: Path):
    file = tmp_path / "v.jsonl"
    file.write_bytes(as_lines([{"embedding": row.tolist()} for row in SCATTERED]))

    def labels(seed: int) -> list[int]:
        run = Clustering(ClusterOptions(inputs=(str(file),), clusters="9", restarts=1, seed=seed))
        run.find(silent)
        return run.clusters.labels.tolist()

    assert labels(0) == labels(0) != labels(1)


def test_more_min_samples_leave_more_noise_and_no_more_than_there_are_rows():
    def noise(count: int) -> int:
        asked = ClusterOptions(method="hdbscan", min_size=4, min_samples=count)
        return methods.find(SCATTERED, asked, seed=0).noise

    assert 0 < noise(2) < noise(8)
    with pytest.raises(DataError, match="60 rows; a cluster has 99 at least"):
        noise(99)


def test_rows_beyond_the_sample_join_alike_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch):
    asked = ClusterOptions(clusters="3", max_rows=9)
    whole = methods.find(UNITS, asked, seed=0)
    monkeypatch.setattr(methods, "BLOCK", 4)
    found = methods.find(UNITS, asked, seed=0)
    assert found.labels.tolist() == whole.labels.tolist()
    assert found.distance == pytest.approx(whole.distance, abs=1e-6)


# five directions at right angles, each twice, so that all five join at one distance
RIGHT_ANGLED = np.eye(5, dtype=np.float32)[[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_as_many_clusters_as_asked_for_are_joined_where_distances_are_equal(
    linkage: str, count: int
):
    asked = ClusterOptions(method="agglomerative", linkage=linkage, clusters=str(count))
    found = methods.find(RIGHT_ANGLED, asked, seed=0)
    assert len(found) == count
    assert (found.labels[::2] == found.labels[1::2]).all()


@pytest.mark.parametrize("linkage", LINKAGES)
def test_of_bounds_none_below_what_is_there_is_the_best_where_distances_are_equal(linkage: str):
    x = np.vstack([RIGHT_ANGLED, [[0, 0, 0, 0.1, 1]] * 2]).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    asked = ClusterOptions(method="agglomerative", linkage=linkage, clusters="2-10")
    assert len(methods.find(x, asked, seed=0)) == 5
