"""dialtools drift: what is new, gone, grown and shrunk between two embedding files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from pair_corpus import as_lines

from dialtools.cli._records import RECORDS
from dialtools.cluster.drift import _groups

Row = dict[str, Any]
Run = Callable[..., subprocess.CompletedProcess]
KINDS = ("fly", "thanks", "pay", "cancel", "hello")


def month(seed: int, **counts: int) -> list[Row]:
    """Rows around the axis of each kind, as many as said."""
    draw = np.random.default_rng(seed)
    return [
        {
            "text": f"{kind} {i}",
            "embedding": (np.eye(6)[KINDS.index(kind)] + draw.normal(scale=0.05, size=6)).tolist(),
        }
        for kind, count in counts.items()
        for i in range(count)
    ]


MAY = month(0, fly=100, thanks=100, pay=60, cancel=40)
JUNE = month(1, fly=95, thanks=40, pay=120, hello=50)


@pytest.fixture
def drift(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Run:
    def run(
        *arguments: object, old: list[Row] = MAY, new: list[Row] = JUNE, code: int = 0
    ) -> subprocess.CompletedProcess:
        for name, rows in (("old", old), ("new", new)):
            (tmp_path / f"{name}.jsonl").write_bytes(as_lines(rows))
        named = {"-", "a.parquet"} & {*map(str, arguments)}
        files = () if named else ("old.jsonl", "new.jsonl")
        line = [str(scripts / "dialtools"), "drift", *map(str, arguments), *files]
        return ended(*line, code=code, env=environment, cwd=tmp_path, timeout=300)

    return run


def records(done: subprocess.CompletedProcess) -> tuple[Row, dict[str, Row]]:
    """The record of the files, and that of each cluster by its first word."""
    whole, *clusters = [orjson.loads(line) for line in done.stdout.splitlines()]
    page = RECORDS["drift"].fields
    required = {name for name, field in page.items() if field.required}
    assert all(required <= set(record) <= set(page) for record in (whole, *clusters))
    return whole, {record["words"][0]: record for record in clusters}


def test_each_cluster_says_what_has_become_of_it(drift: Run):
    done = drift("--clusters", 5)
    whole, found = records(done)
    assert {word: record["verdict"] for word, record in found.items()} == {
        "fly": "same",
        "thanks": "shrunk",
        "pay": "grown",
        "cancel": "gone",
        "hello": "new",
    }
    pay = found["pay"]
    assert (pay["old"], pay["new"]) == (60, 120)
    assert (pay["old_share"], pay["new_share"]) == pytest.approx((60 / 300, 120 / 305), abs=1e-6)
    assert pay["low"] < pay["new_share"] - pay["old_share"] < pay["high"]
    assert pay["p"] <= pay["adjusted_p"] < 0.05 and len(pay["nearest"]) == 5
    assert (whole["old"], whole["new"]) == (300, 305)
    assert whole["p"] == 0.001 and whole["distance"] > 5 * whole["chance"]
    told = done.stderr.decode()
    assert all(f"1 {verdict}" in told for verdict in ("new", "gone", "grown", "shrunk"))


def test_two_months_of_one_source_are_the_same(drift: Run):
    again = month(7, fly=100, thanks=100, pay=60, cancel=40)
    done = drift("--clusters", "2-8", new=again)
    whole, found = records(done)
    assert {record["verdict"] for record in found.values()} == {"same"}
    assert whole["p"] > 0.05 and "4 clusters, none changed" in done.stderr.decode()
    assert "no texts" not in done.stderr.decode()
    mute = [{"embedding": row["embedding"]} for row in again]
    assert "no texts, so that" in drift("--clusters", 4, new=mute).stderr.decode()


def test_corrections_are_for_all_clusters(drift: Run):
    new = month(1, fly=100, thanks=100, pay=82, cancel=40)
    ask = ("--clusters", 4, "--correct", "none", "--permutations", 19)
    whole, plain = records(drift(*ask, new=new))
    assert 20 * whole["p"] in range(1, 21)
    _, holm = records(drift("--clusters", 4, new=new))
    for word, record in plain.items():
        assert record["adjusted_p"] == record["p"] == holm[word]["p"]
    assert holm["pay"]["adjusted_p"] == pytest.approx(min(1, 4 * plain["pay"]["p"]))


def test_rows_of_a_dialogue_are_evidence_once(drift: Run):
    """Thirty rows of two talkative dialogues make no month of its own."""

    def talks(rows: list[Row], size: int) -> list[Row]:
        return [{**row, "dialogue_id": f"d{i // size}"} for i, row in enumerate(rows)]

    old, new = month(0, fly=40, thanks=40), month(1, fly=40, thanks=40, pay=30)
    _, found = records(drift("--clusters", 3, old=old, new=new))
    assert found["pay"]["verdict"] == "new"
    whole, found = records(drift("--clusters", 3, old=talks(old, 15), new=talks(new, 15), code=0))
    assert found["pay"]["verdict"] == "same" and found["pay"]["new"] == 30
    talks_of = {i // 15 for i, row in enumerate(new) if row["text"].startswith("pay")}
    share = len(talks_of) / len({i // 15 for i in range(len(new))})
    assert found["pay"]["new_dialogue_share"] == pytest.approx(share, abs=1e-6)
    assert found["pay"]["old_dialogue_share"] == 0
    assert whole["p"] > 0.01


def test_a_dialogue_of_each_file_is_its_own_though_their_names_are_one():
    old, new = (SimpleNamespace(columns={"dialogue_id": names}) for names in ("aab", "ba"))
    assert _groups(old, new).tolist() == [0, 0, 1, 2, 3]


def test_longer_dialogues_are_told(drift: Run):
    """They are in more clusters, though the rows of both files are drawn alike."""
    rows = month(0, fly=60, thanks=60)
    old, new = (
        [{**row, "dialogue_id": f"d{i % count}"} for i, row in enumerate(rows)]
        for count in (60, 40)
    )
    told = "a dialogue has 2.0 rows before, 3.0 after: longer ones are in more clusters"
    assert told in drift("--clusters", 2, old=old, new=new).stderr.decode()
    assert "longer" not in drift("--clusters", 2, old=old, new=old).stderr.decode()


@pytest.mark.parametrize(("dialogues", "certain"), [(1, False), (3, False), (5, True)])
def test_dialogues_that_are_too_few_to_tell_are_told(drift: Run, dialogues: int, certain: bool):
    old, new = (
        [{**row, "dialogue_id": f"d{i % dialogues}"} for i, row in enumerate(rows)]
        for rows in (month(1, fly=40), month(2, pay=40))
    )
    done = drift("--clusters", 2, old=old, new=new)
    told = f"{dialogues} dialogue{'s' * (dialogues > 1)} before, {dialogues} after: too few"
    assert (told in done.stderr.decode()) is not certain
    found = {cluster["verdict"] for cluster in records(done)[1].values()}
    assert found == ({"new", "gone"} if certain else {"same"})


def test_rows_are_evidence_each_if_one_file_tells_no_dialogues(drift: Run):
    old, new = month(0, fly=40, thanks=40), month(1, fly=40, thanks=40, pay=30)
    talks = [{**row, "dialogue_id": f"d{i // 15}"} for i, row in enumerate(new)]
    expected = records(drift("--clusters", 3, old=old, new=new))
    assert records(drift("--clusters", 3, old=old, new=talks)) == expected


def test_of_equal_p_the_larger_change_comes_first(drift: Run):
    old = month(0, fly=2500, thanks=2500)
    new = month(1, fly=500, thanks=2000, pay=2500)
    _, found = records(drift("--clusters", 3, old=old, new=new))
    assert [record["p"] == 0 for record in found.values()] == [True, True, False]
    assert list(found) == ["pay", "fly", "thanks"]


def test_a_sample_of_each_file_finds_the_clusters_and_the_distance(drift: Run):
    _, every = records(drift("--clusters", 5))
    whole, found = records(drift("--clusters", 5, "--max-rows", 120, "--max-tested", 50))
    assert {word: (r["old"], r["new"]) for word, r in found.items()} == {
        word: (r["old"], r["new"]) for word, r in every.items()
    }
    assert whole["p"] < 0.02


def test_noise_is_a_cluster_of_its_own_and_tables_have_their_formats(drift: Run, tmp_path: Path):
    strays = month(3, fly=1)
    strays[0]["embedding"] = [-1.0, -1, -1, -1, -1, 0]
    done = drift("--method", "hdbscan", "--min-size", 20, new=JUNE + strays)
    noise = [r for r in map(orjson.loads, done.stdout.splitlines()) if r.get("cluster") == -1]
    assert [(r["old"], r["new"], r["verdict"]) for r in noise] == [(0, 1, "same")]
    text = drift("--clusters", 5, "--to", "table").stdout.decode()
    assert text.startswith("300 rows before, 305 after · distance 0.")
    drift("--clusters", 5, "-o", "d.md")
    assert (tmp_path / "d.md").read_text().startswith("| what | cluster | words | a text |")


def test_vectors_of_two_models_are_not_compared(drift: Run, tmp_path: Path):
    for name, weights in (("a", "one"), ("b", "two")):
        facts = {"weights": weights, "pooling": "mean"}
        table = pa.table({"embedding": pa.array([[1.0, 0.0]] * 9, pa.list_(pa.float32(), 2))})
        table = table.replace_schema_metadata({"dialtools": orjson.dumps(facts)})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    told = drift("a.parquet", "b.parquet", code=1).stderr
    assert b"b.parquet: its vectors are of another model" in told


def test_a_seed_gives_the_same_bytes(drift: Run):
    assert drift("--clusters", "3-6").stdout == drift("--clusters", "3-6").stdout


@pytest.mark.parametrize(
    ("arguments", "new", "code", "told"),
    [
        (["old.jsonl", "-", "x"], JUNE, 2, "name two embedding files, OLD and NEW"),
        (["-", "-"], JUNE, 2, "stdin can be read once"),
        (
            [],
            [{"embedding": [1.0, 0.0]}],
            1,
            "new.jsonl: vectors of 2 dimensions beside vectors of",
        ),
        (["--clusters", 999], JUNE, 1, "too few for --clusters 999"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    drift: Run, arguments: list[Any], new: list[Row], code: int, told: str
):
    done = drift(*arguments, new=new, code=code)
    assert told in done.stderr.decode() and "defect" not in done.stderr.decode()
