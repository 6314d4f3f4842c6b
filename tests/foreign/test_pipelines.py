"""Pipelines through the tools that people have: what comes back is what went in."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from foreign.conftest import ROOT, TOOLS, Dial

CHATS = f"{ROOT}/examples/dialogues.jsonl.gz"


def tool(name: str) -> None:
    if not shutil.which(name, path=TOOLS):
        pytest.skip(f"needs {name}")


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def folder(dial: Dial, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Turns as a table, and pairs of the same dialogues."""
    home = tmp_path_factory.mktemp("pipes")
    tool("jq")
    dial(f"dial-pairs -q --kind dialogue -n 50 {CHATS} > chats.jsonl", cwd=home)
    rows = ".id as $id | .turns | to_entries[] | [$id, .key, .value.speaker, .value.text] | @csv"
    head = "dialogue_id,turn,speaker,text"
    dial(f"(echo {head}; jq -r '{rows}' chats.jsonl) > chats.csv", cwd=home)
    dial("dial-pairs -q --window 1 chats.jsonl -o pairs.parquet", cwd=home)
    return home


def test_jq_takes_fields_out_and_its_indented_records_come_back(dial: Dial, folder: Path):
    pairs, counts = "dial-pairs -q --window 1 chats.jsonl", "dial-freq -q --to jsonl"
    texts = dial(f"{pairs} | jq -c '{{text: .response}}' | {counts}", cwd=folder)
    field = dial(f"{pairs} | jq -c '{{response}}' | {counts} --field response", cwd=folder)
    assert texts == field != ""
    assert dial("jq . chats.jsonl | jq -s . | dial-pairs -q", cwd=folder) == dial(
        "dial-pairs -q chats.jsonl", cwd=folder
    )


@pytest.mark.parametrize(
    ("record", "way"),
    [
        ([{"comments": ["a", "b"]}], ".[] | .turns = .comments"),
        ({"id": 1, "_embedded": {"threads": ["a", "b"]}}, ".turns = ._embedded.threads"),
        ({"page": [{"in": {"said": ["a", "b"]}}]}, ".page[] | .turns = .in.said"),
    ],
)
def test_what_a_hint_says_of_turns_of_another_name_takes_them_out(
    dial: Dial, tmp_path: Path, record: Any, way: str
):
    tool("jq")
    said = json.dumps(record).replace('"a", "b"', '{"text": "a"}, {"text": "b"}')
    (tmp_path / "log.json").write_text(said)
    told = dial("dial-pairs log.json 2>&1 >out || cat out > /dev/null", cwd=tmp_path)
    assert f"`jq -c '{way}'`" in told
    assert '"response":"b"' in dial(f"jq -c '{way}' log.json | dial-pairs -q", cwd=tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "mlr --icsv --ojsonl cat chats.csv | dial-pairs --order-column turn",
        "mlr --icsv --ojson cat chats.csv | dial-pairs --order-column turn",
        "mlr --csv shuffle chats.csv | dial-pairs --from csv --unsorted --order-column turn",
        "csvsort -c dialogue_id,turn chats.csv | dial-pairs --from csv",
        "csvjson chats.csv | dial-pairs --order-column turn",
        "csvjson --stream chats.csv | dial-pairs --order-column turn",
    ],
)
def test_tables_of_turns_through_other_tools_give_the_same_pairs(
    line: str, dial: Dial, folder: Path
):
    tool(line.split()[0])
    through, direct = (
        Counter((r["dialogue_id"], *r["context"], r["response"]) for r in records(text))
        for text in (
            dial(f"{line} -q --window 1", cwd=folder),
            dial("dial-pairs -q --window 1 chats.jsonl", cwd=folder),
        )
    )
    assert through == direct and direct


@pytest.mark.parametrize("line", ["mlr --ijsonl --ocsv cut -f text,count", "in2csv -f ndjson"])
def test_frequencies_become_a_table(line: str, dial: Dial, folder: Path):
    tool(line.split()[0])
    counts = "dial-freq -q --to jsonl chats.jsonl"
    rows = dial(f"{counts} | {line} | csvcut -c text,count | csvjson", cwd=folder)
    expected = [(r["text"], r["count"]) for r in records(dial(counts, cwd=folder))]
    assert [(r["text"], int(r["count"])) for r in json.loads(rows)] == expected


def test_duckdb_takes_pairs_and_gives_pairs(dial: Dial, folder: Path):
    import duckdb

    chosen = f"FROM '{folder}/pairs.parquet' WHERE length(response) > 20"
    duckdb.sql(f"COPY (SELECT * {chosen}) TO '{folder}/long.parquet'")
    duckdb.sql(f"COPY (SELECT * {chosen}) TO '{folder}/long.json'")
    ((count,),) = duckdb.sql(f"SELECT count(*) {chosen}").fetchall()
    for name in ("long.parquet", "long.json"):
        told = dial(f"dial-freq -q --field response --to jsonl {name}", cwd=folder)
        assert sum(r["count"] for r in records(told)) == count > 0


@pytest.mark.parametrize("suffix", ["arrow", "feather", "parquet"])
def test_polars_and_pandas_read_what_is_written_and_write_what_is_read(
    suffix: str, dial: Dial, folder: Path
):
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    path, back = folder / f"p.{suffix}", folder / f"back.{suffix}"
    dial(f"dial-pairs -q --window 1 chats.jsonl -o {path}", cwd=folder)
    expected = [r["response"] for r in records(dial("dial-pairs -q chats.jsonl", cwd=folder))]
    if suffix == "parquet":
        table, frame = polars.read_parquet(path), pandas.read_parquet(path)
        table.write_parquet(back)
    else:
        table, frame = polars.read_ipc(path), pandas.read_feather(path)
        table.write_ipc(back)
    assert table["response"].to_list() == frame["response"].tolist() == expected
    counts = "dial-freq -q --no-rank --field response --to jsonl {} | sort"
    assert dial(counts.format(back), cwd=folder) == dial(counts.format(path), cwd=folder)


def test_streams_of_polars_are_read(dial: Dial, folder: Path):
    polars = pytest.importorskip("polars")
    polars.DataFrame({"text": ["a", "b", "a"]}).write_ipc_stream(folder / "texts.arrows")
    told = dial("dial-freq -q --to jsonl < texts.arrows", cwd=folder)
    assert {r["text"]: r["count"] for r in records(told)} == {"a": 2, "b": 1}


def test_lance_keeps_vectors_for_dial_eval(dial: Dial, folder: Path):
    lance = pytest.importorskip("lance")
    import numpy as np
    import pyarrow.parquet as pq

    from dialtools.streams.sinks import writer
    from dialtools.streams.vectors import embedding_batch

    vectors = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    labels = [("a", "b")[i % 2] for i in range(60)]
    with writer(str(folder / "v.parquet"), format="parquet", floats=True) as write:
        write(embedding_batch({"label": labels}, {"embedding": vectors}))
    data = lance.write_dataset(pq.read_table(folder / "v.parquet"), str(folder / "v.lance"))
    pq.write_table(data.to_table(), folder / "w.parquet")
    space = "dial-eval space --json {} | jq -c '[.metric, .value]'"
    one, other = (dial(space.format(name), cwd=folder) for name in ("v.parquet", "w.parquet"))
    assert one == other != ""
