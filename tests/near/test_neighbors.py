"""dialtools neighbors: pairs of a row and those nearest to it, and groups of near ones."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from near.conftest import Near, at, rows
from pair_corpus import as_lines

from dialtools.advance import silent
from dialtools.errors import DataError
from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.near import find, groups, neighbors
from dialtools.near.approximate import Graph
from dialtools.near.neighbors import Join
from dialtools.near.options import NeighborOptions
from dialtools.near.rows import Rows, columns_of, told
from dialtools.streams.making import one_space
from dialtools.streams.vectors import Embeddings

PLACES = {"a": 0, "b": 0, "c": 10, "d": 30, "e": 180}
"""Degrees on a circle; the texts of a and b are equal, too."""
TEXTS = {"a": "hello", "b": "hello", "c": "hallo", "d": "hi", "e": "bye"}
ROWS = [
    {"id": k, "text": TEXTS[k], "n": i, "embedding": at(PLACES[k])} for i, k in enumerate("abcde")
]
ASKED = [{"id": "x", "text": "hello", "embedding": at(9)}]


def names(found: Any) -> list[str]:
    return [f"{row['id']}-{row['near_id']}" for row in rows(found)]


def test_a_record_is_a_row_and_one_of_its_nearest_the_nearest_first(near: Near):
    found = rows(near("neighbors", "r.jsonl", "-k", 2, r=ROWS))
    told = ("row", "near", "rank", "cosine", "id", "text", "near_id", "near_text")
    assert all(tuple(row) == told for row in found)
    assert found[3] == {
        "row": 1,
        "near": 2,
        "rank": 2,
        "cosine": 0.984808,
        "id": "b",
        "text": "hello",
        "near_id": "c",
        "near_text": "hallo",
    }


def test_a_file_among_itself_is_a_file_by_itself(near: Near):
    by_itself = near("neighbors", "r.jsonl", "-k", 2, r=ROWS).stdout
    assert near("neighbors", "r.jsonl", "r.jsonl", "-k", 2).stdout == by_itself


def test_no_rows_have_the_columns_of_some(near: Near, tmp_path: Path):
    near("neighbors", "r.jsonl", "-n", 0, "-o", "none.parquet", r=ROWS)
    near("neighbors", "r.jsonl", "-n", 1, "-o", "one.parquet")
    none, one = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("none", "one"))
    assert none.schema.equals(one.schema) and (len(none), len(one)) == (0, 4)


def test_a_row_that_is_no_longer_there_has_no_place(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(as_lines(ROWS))
    kept = Rows(distinct=True).read(str(path))
    assert kept.number.tolist() == [0, 2, 3, 4]
    assert kept.place_of(np.array([0, 1, 2, 4, 9])).tolist() == [0, -1, 1, 3, -1]


def test_a_file_that_tells_nothing_of_its_model_is_of_any():
    headed = {"weights": "w", "pooling": "mean", "head": "h"}
    assert one_space(headed, {}, where="plain") == headed
    told = json.dumps({"weights": "w", "pooling": "mean"})
    with pytest.raises(DataError, match=r"told: .* of another model, pooling or head"):
        one_space(headed, {"dialtools": told}, where="told")


def test_a_limit_asks_for_the_first_rows_among_all(near: Near):
    records = [{"embedding": at(angle)} for angle in (0, 50, 60, 1)]
    found = rows(near("neighbors", "-n", 2, "-k", 1, "v.jsonl", v=records))
    assert [(row["row"], row["near"]) for row in found] == [(0, 3), (1, 2)]


def test_a_row_is_not_near_itself_but_its_equal_is_and_of_equals_the_lower_comes_first(near: Near):
    found = near("neighbors", "r.jsonl", "-k", 2, r=ROWS)
    assert names(found) == ["a-b", "a-c", "b-a", "b-c", "c-a", "c-b", "d-c", "d-a", "e-d", "e-c"]


def test_distinct_texts_are_a_row_each_the_first_of_them(near: Near):
    found = near("neighbors", "r.jsonl", "-k", 2, "--distinct", r=ROWS)
    assert names(found) == ["a-c", "a-d", "c-a", "c-d", "d-c", "d-a", "e-d", "e-c"]
    assert [row["row"] for row in rows(found)][2:4] == [2, 2]


def test_what_is_near_has_a_least_cosine_as_it_is_told(near: Near):
    assert names(near("neighbors", "r.jsonl", "--min-cosine", 0.939693, r=ROWS)) == (
        ["a-b", "a-c", "b-a", "b-c", "c-a", "c-b", "c-d", "d-c"]
    )
    done = near("neighbors", "r.jsonl", "--min-cosine", 1)
    assert names(done) == ["a-b", "b-a"]
    assert "2 pairs of 5 rows; 3 rows without" in done.stderr.decode()


def test_another_file_is_searched_with_all_its_rows_equal_ones_too(near: Near):
    found = near("neighbors", "asked.jsonl", "r.jsonl", "-k", 3, asked=ASKED, r=ROWS)
    assert names(found) == ["x-c", "x-a", "x-b"]
    piped = near("neighbors", "-", "r.jsonl", "-k", 3, stdin=as_lines(ASKED))
    assert piped.stdout == found.stdout
    distinct = near("neighbors", "asked.jsonl", "r.jsonl", "-k", 2, "--distinct")
    assert names(distinct) == ["x-c", "x-a"]


def test_the_fields_that_are_told_are_chosen(near: Near):
    def told(*keep: str) -> set[str]:
        return set(rows(near("neighbors", "r.jsonl", *keep, r=ROWS))[0])

    own = {"row", "near", "rank", "cosine"}
    assert told("--keep", "none") == own
    assert told("--keep", "n") == own | {"n", "near_n"}
    every = {"id", "text", "n"}
    assert told("--keep", "all") == own | every | {f"near_{name}" for name in every}
    assert b"no field m; there are id, text, n" in near(
        "neighbors", "r.jsonl", "--keep", "m", code=1
    ).stderr.replace(b"'", b"")


def test_fields_that_are_written_anew_are_told(near: Near):
    ranked = [row | {"rank": 7, "near_n": 8, "size": 9, "n": 1} for row in ROWS]
    done = near("neighbors", "r.jsonl", "-k", 1, "--keep", "all", r=ranked)
    assert rows(done)[0]["rank"] == rows(done)[0]["near_n"] == 1
    assert "; written anew: rank, near_n (" in done.stderr.decode()
    done = near("neighbors", "r.jsonl", "--groups", "--min-cosine", 0, "--keep", "all")
    assert "; written anew: size (" in done.stderr.decode()
    done = near("neighbors", "e.jsonl", "r.jsonl", "-k", 1, "--keep", "n,rank", e=[*ranked[:2]])
    assert "; written anew: rank (" in done.stderr.decode()


def test_contexts_are_searched_among_responses_without_their_own(near: Near):
    pairs = [
        {"id": i, "context_embedding": at(10 * i), "response_embedding": at(10 * i + 4)}
        for i in range(4)
    ]
    found = near("neighbors", "--vectors", "context,response", "p.jsonl", "-k", 1, p=pairs)
    assert names(found) == ["0-1", "1-0", "2-1", "3-2"]
    alone = near("neighbors", "p.jsonl", code=1).stderr.decode()
    assert "there are context_embedding, response_embedding" in alone


def test_tables_hold_what_lines_hold_and_how_it_was_made(near: Near, tmp_path: Path):
    lines = rows(near("neighbors", "r.jsonl", r=ROWS))
    for name in ("n.parquet", "n.arrow"):
        near("neighbors", "r.jsonl", "-o", name)
    table = pq.read_table(tmp_path / "n.parquet")
    assert table.to_pylist() == lines
    assert pa.ipc.open_file(tmp_path / "n.arrow").read_all().to_pylist() == lines
    told = json.loads(table.schema.metadata[b"dialtools"])
    assert told["command"] == "dialtools neighbors" and told["options"]["k"] == 10


def test_groups_are_chains_of_near_rows(near: Near):
    done = near("neighbors", "r.jsonl", "--groups", "--min-cosine", 0.9, r=ROWS)
    found = rows(done)
    assert [(row["id"], row["group"], row["size"]) for row in found] == [
        ("a", 0, 4),
        ("b", 0, 4),
        ("c", 0, 4),
        ("d", 0, 4),  # 30 degrees from a, 20 from c
    ]
    assert "1 group of 4 rows; 5 rows in all" in done.stderr.decode()
    apart = near("neighbors", "r.jsonl", "--groups", "--min-cosine", 0.95, "--distinct")
    assert [row["id"] for row in rows(apart)] == ["a", "c"]
    assert near("neighbors", "x.jsonl", "--groups", "--min-cosine", 1, x=ASKED).stdout == b""


def test_rows_without_a_vector_are_a_group_only_if_0_is_near_enough(near: Near):
    zeros = [{"text": text, "embedding": [0.0, 0.0]} for text in "xy"]
    assert near("neighbors", "z.jsonl", "--groups", "--min-cosine", 0.1, z=zeros).stdout == b""
    found = rows(near("neighbors", "z.jsonl", "--groups", "--min-cosine", 0))
    assert [row["size"] for row in found] == [2, 2]


def embedded(path: Path, weights: str) -> None:
    facts = {"weights": weights, "pooling": "mean", "options": {"model": f"the {weights}"}}
    table = pa.table({"embedding": pa.array([at(1)], pa.list_(pa.float32(), 2))})
    pq.write_table(table.replace_schema_metadata({"dialtools": json.dumps(facts)}), path)


def test_vectors_of_two_models_are_not_compared(near: Near, tmp_path: Path):
    for name in ("one", "two"):
        embedded(tmp_path / f"{name}.parquet", name)
    told = near("neighbors", "one.parquet", "two.parquet", code=1).stderr.decode()
    assert "two.parquet: its vectors are of another model" in told and "the two" in told
    near("neighbors", "one.parquet", "one.parquet")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["r.jsonl", "short.jsonl"], 1, "vectors of 1 dimension beside vectors of 2"),
        (["bare.jsonl"], 1, "bare.jsonl: holds no embeddings"),
        (["empty.jsonl"], 1, "empty.jsonl: holds no rows"),
        (["bare.jsonl", "--distinct"], 1, "holds no embeddings"),
        (["short.jsonl", "--distinct"], 1, "no column text beside embedding"),
        (["r.jsonl", "r.jsonl", "r.jsonl"], 2, "two files at most"),
        (["-", "-"], 2, "stdin can be read once"),
        (["--vectors", "a,b"], 2, "in a named file, not in stdin"),
        (["--vectors", "a,b,c", "r.jsonl"], 2, "--vectors names two at most"),
        (["r.jsonl", "--groups"], 2, "--groups needs --min-cosine"),
        (["r.jsonl", "short.jsonl", "--groups", "--min-cosine", 0.5], 2, "of all rows of one file"),
        (["r.jsonl", "--min-cosine", 1.5], 2, "--min-cosine: '1.5': must be 1 or less"),
        (["r.jsonl", "--memory", "1MB"], 2, "must be 512MB or more"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_line(
    near: Near, arguments: list[Any], code: int, told: str
):
    files = {"r": ROWS, "short": [{"embedding": [1.0]}], "bare": [{"text": "x"}], "empty": []}
    said = near("neighbors", *arguments, code=code, **files).stderr.decode()
    assert told in said and said.startswith("dialtools neighbors: ")
    assert len(said.splitlines()) <= 2


def test_a_graph_finds_most_and_tells_how_many(near: Near):
    pytest.importorskip("usearch", reason="needs the extra dialtools[ann]")
    draw = np.random.default_rng(0)
    many = [{"embedding": vector} for vector in draw.normal(size=(300, 8)).tolist()]
    exact = near("neighbors", "m.jsonl", "-k", 3, m=many)
    done = near("neighbors", "m.jsonl", "-k", 3, "--approximate")
    recall = float(done.stderr.decode().split("approximate: ")[1].split()[0])
    both = set(exact.stdout.splitlines()) & set(done.stdout.splitlines())
    assert 0.9 < recall <= 1 and len(both) > 0.9 * 900
    assert done.stdout == near("neighbors", "m.jsonl", "-k", 3, "--approximate").stdout


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_no_path_of_a_graph_leads_to_is_no_neighbour():
    pytest.importorskip("usearch", reason="needs the extra dialtools[ann]")
    draw = np.random.default_rng(0)
    among = UnitVectors()
    among.add_distinct(np.eye(8)[draw.integers(0, 8, 1000)] + draw.normal(size=(1000, 8)) * 1e-4)
    graph = Graph(among, count=1000, floor=-np.inf, seed=0)
    number, cosine = graph(among.rows[:5], silent)
    assert np.isfinite(cosine[number >= 0]).all()


# the search

EIGHTHS = st.integers(-2, 2).map(lambda n: n / 2)
VECTORS = st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("joined")


def joined(folder: Path, vectors: list[Any], **options: Any) -> Join:
    path = folder / "v.jsonl"
    path.write_bytes(as_lines([{"embedding": vector} for vector in vectors]))
    join = Join(NeighborOptions(inputs=(str(path),), keep=("none",), **options))
    join.read()
    return join


def cosines(vectors: list[Any]) -> np.ndarray:
    matrix = np.array(vectors, np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = matrix / np.where(lengths > 0, lengths, 1)
    return np.round(unit @ unit.T, 6)


def test_many_copies_of_many_texts_take_the_memory_of_what_is_told(folder: Path):
    kinds = np.random.default_rng(0).normal(size=(100, 4)).round(3).tolist()
    join = joined(folder, kinds * 100, k=100, limit=100)
    tracemalloc.start()
    (found,) = join.batches(silent)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 10_000
    assert most < 20e6  # 10^6 pairs would be 8 MB a column


SIZES = st.sampled_from([(1, 1, 1), (3, 2, 4), (1024, 8192, 1024)])


@contextmanager
def blocks(queries: int, vectors: int, told: int) -> Iterator[None]:
    """Set how many queries, vectors and rows that are told are taken at once."""
    with (
        patch.multiple(find, QUERIES_AT_ONCE=queries, AT_ONCE=vectors),
        patch.multiple(groups, QUERIES_AT_ONCE=queries, AT_ONCE=vectors, LINKS_AT_ONCE=vectors),
        patch.multiple(neighbors, ROWS_OF_BATCH=told, AT_WORK=1 << 30),
    ):
        yield


@given(VECTORS, st.integers(1, 12), st.sampled_from([None, 0.0, 0.5, 1.0]), SIZES)
def test_the_search_in_blocks_is_the_sorting_of_all_cosines(
    folder: Path, vectors: list[Any], k: int, least: float | None, sizes: tuple[int, int, int]
):
    join = joined(folder, vectors, k=k, min_cosine=least)
    least = -1 if least is None else least
    done: list[int] = []
    with blocks(*sizes):
        found = [row for batch in join.batches(done.append) for row in batch.to_pylist()]
    assert sum(done) == len(vectors)
    cosine = cosines(vectors)
    for i in range(len(vectors)):
        near = [row["near"] for row in found if row["row"] == i]
        others = [j for j in range(len(vectors)) if j != i and cosine[i, j] >= least]
        best = sorted((cosine[i, j] for j in others), reverse=True)[:k]
        # of what differs by less than float32 holds, either may be the nearer
        np.testing.assert_allclose(cosine[i, near], best, atol=2e-6)
        assert set(near) <= set(others)
        for j in near:  # but of equal vectors it is the lower row
            lower = [n for n in others if n < j and vectors[n] == vectors[j]]
            assert lower == [n for n in near[: near.index(j)] if vectors[n] == vectors[j]]
    assert [row["rank"] for row in found] == [
        rank
        for i in range(len(vectors))
        for rank in range(1, sum(r["row"] == i for r in found) + 1)
    ]
    assert all(abs(row["cosine"] - cosine[row["row"], row["near"]]) < 2e-6 for row in found)


@given(VECTORS, st.sampled_from([0.5, 0.8, 1.0]), SIZES)
def test_groups_in_blocks_are_the_connected_components(
    folder: Path, vectors: list[Any], least: float, sizes: tuple[int, int, int]
):
    vectors = [vector for vector in vectors if any(vector)] or [(1.0, 0.0)]
    join = joined(folder, vectors, min_cosine=least)
    with blocks(*sizes):
        batches = list(groups.Groups(join.queries, least=least).batches(lambda _: None))
    found = {row["row"]: row["group"] for batch in batches for row in batch.to_pylist()}
    group = list(range(len(vectors)))
    for _ in vectors:  # the lowest row goes a link farther each time
        group = [min(group[j] for j in np.flatnonzero(line >= least)) for line in cosines(vectors)]
    together = {i: g for i, g in enumerate(group) if group.count(g) > 1}
    assert found == together


def test_links_are_folded_as_they_come(tmp_path: Path):
    queries = joined(tmp_path, [(1.0, 0.0)] * 3 + [at(angle) for angle in range(60)]).queries
    most: list[int] = []
    fold = groups._folded

    def watched(group_V: np.ndarray, links: list[np.ndarray]) -> np.ndarray:
        most.append(sum(link.shape[1] for link in links))
        return fold(group_V, links)

    with blocks(4, 4, 8), patch.object(groups, "_folded", watched):  # 4 links wait, too
        groups.linked(queries, least=-1.0, advance=lambda _: None)
    assert max(most) <= 4 + 4 * 4


def test_rows_are_taken_of_texts_that_no_column_of_32_bits_holds():
    rows = Embeddings({"embedding": np.eye(2)}, {"text": ["a", "b"], "turns": [["a"], []]}, {}, "x")
    table = told(rows, ["text", "turns"], first=0)  # of all parts, one behind another
    assert table.schema.field("text").type == pa.large_string()
    assert table.schema.field("turns").type == pa.large_list(pa.large_string())
    assert columns_of(table, np.array([1]))["text"].to_pylist() == ["b"]


def test_hashes_of_64_bits_are_ids_as_others_and_ids_of_two_kinds_are_refused(near: Near):
    hashed = [row | {"id": 2**64 - 1 - i} for i, row in enumerate(ROWS)]
    found = rows(near("neighbors", "r.jsonl", "-k", 1, r=hashed))
    assert [row["id"] for row in found] == [row["id"] for row in hashed]
    done = near("neighbors", "r.jsonl", r=[*ROWS, ROWS[0] | {"id": 7}], code=1)
    assert b"r.jsonl: a field is not of one type: " in done.stderr and b"--keep" in done.stderr


def test_less_memory_makes_the_same_pairs(near: Near):
    draw = np.random.default_rng(1)
    many = [{"embedding": vector} for vector in draw.normal(size=(3000, 4)).tolist()]
    one = near("neighbors", "m.jsonl", "-k", 2, m=many)
    less = near("neighbors", "m.jsonl", "-k", 2, "--memory", "512MB")
    assert less.stdout == one.stdout and len(orjson.loads(one.stdout.split(b"\n")[0])) == 4
