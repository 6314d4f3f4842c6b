"""Embedding files: what was written is read, whole or a part at a time, and asked for by name."""

from __future__ import annotations

import errno
import gzip
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialtools.errors import DataError, OutputError
from dialtools.streams.formats import EMBEDDING_FORMATS, FORMATS
from dialtools.streams.making import model_named, one_space
from dialtools.streams.provenance import companions
from dialtools.streams.sinks import writer
from dialtools.streams.vector_files import embedding_parts, holds_vectors, read_embeddings
from dialtools.streams.vectors import Embeddings, embedding_batch, embedding_lines

NUMBERS = st.floats(-9, 9, width=16)
BATCHES = st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4), min_size=1)
"""Of vectors of two dimensions."""


def write(path: Path, batches: Iterable[Any], **options: Any) -> str:
    kind = path.suffix[1:]
    with writer(str(path), format=kind, floats=True) as into:
        for batch in batches:
            batch = embedding_batch(*batch, **options)
            into(embedding_lines(batch) if FORMATS[kind].lines else batch)
    return str(path)


@settings(max_examples=20, deadline=None)
@given(BATCHES, st.booleans())
@pytest.mark.parametrize("kind", EMBEDDING_FORMATS)
def test_rows_are_read_as_they_were_written_in_one_file_or_two(kind, batches, float16):
    """Half of the ids are missing; numbers of 16 bits fit in either width."""
    vectors = np.concatenate([np.array(rows, np.float32) for rows in batches])
    ids = [None if n % 2 else f"é{n}" for n in range(len(vectors))]
    ends = np.cumsum([len(rows) for rows in batches])
    made = [
        ({"id": ids[end - len(rows) : end]}, {"embedding": np.array(rows)})
        for rows, end in zip(batches, ends, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / f"e.{kind}", made, float16=float16)
        whole, parts = read_embeddings([path]), list(embedding_parts([path]))
        np.testing.assert_array_equal(whole.matrix, vectors)
        np.testing.assert_array_equal(np.concatenate([part.matrix for part in parts]), vectors)
        for found in (whole.columns, *([parts[0].columns] * (len(parts) == 1))):
            assert found.get("id", [None] * len(ids)) == ids
        assert [whole.matrix.dtype, whole.name, holds_vectors(path)] == [np.float32, path, True]
        twice = read_embeddings([path, path], limit=len(ids) + 1)
        np.testing.assert_array_equal(twice.matrix, np.concatenate([vectors, vectors[:1]]))
        assert twice.columns == {name: [*column, column[0]] for name, column in found.items()}


def test_files_are_one_in_what_they_share_and_are_refused_where_vectors_differ(tmp_path: Path):
    def of(name: str, columns: dict[str, Any], **vectors: Any) -> str:
        matrices = {name: np.array([[*row]]) for name, row in vectors.items()}
        return write(tmp_path / name, [(columns, matrices)])

    one = of("1.parquet", {"id": [1], "a": [2]}, a_embedding=(1, 2), b_embedding=(3,))
    two = of("2.jsonl", {"b": [3], "id": [4]}, b_embedding=(4,), a_embedding=(5, 6))
    both = read_embeddings([one, two])
    assert both.columns == {"id": [1, 4]} and both.name == f"{one}, {two}"
    for name, lacks in (("a", two), ("b", one)):
        with pytest.raises(DataError, match=f"no column '{name}'; there are id") as told:
            both.select(np.array([0])).column(name)
        assert told.value.where == lacks, "not the one that has it"
    assert {name: matrix.tolist() for name, matrix in both.vectors.items()} == {
        "a_embedding": [[1, 2], [5, 6]],
        "b_embedding": [[3], [4]],
    }
    fewer = of("3.arrow", {}, a_embedding=(1, 2))
    longer = of("4.parquet", {}, a_embedding=(1, 2), b_embedding=(3, 4))
    for odd in (fewer, longer):
        with pytest.raises(DataError, match="its vectors are not those of") as told:
            read_embeddings([one, two, odd])
        assert str(told.value.where) == odd
    lines = tmp_path / "5.jsonl"
    lines.write_text('{"a_embedding":[1],"b_embedding":[1]}\n{"a_embedding":[2]}\n')
    with pytest.raises(DataError, match="1 of 2 rows have no b_embedding"):
        read_embeddings([str(lines)])


@pytest.mark.parametrize(
    ("lines", "holds"),
    [
        ([{"text": "a"}], False),
        ([{"embedding_of": [1]}], False),
        ([{"text": "a", "text_embedding": [1]}], True),
        ([], True),  # without rows it may be one
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_file_with_a_column_of_vectors_is_one_of_embeddings(tmp_path, kind, lines, holds):
    from dialtools.streams.sinks import write_records

    write_records(lines, str(tmp_path / f"x.{kind}"))
    assert holds_vectors(str(tmp_path / f"x.{kind}")) == holds


def test_vectors_are_the_last_of_a_line():
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0], pa.float32()), 2)
    batch = pa.RecordBatch.from_pydict({"embedding": vectors, "id": [7]})
    assert embedding_lines(batch) == b'{"id":7,"embedding":[1.0,2.0]}\n'


@pytest.mark.parametrize("kind", ["npy", "fbin"])
def test_columns_beside_a_matrix_are_replaced_with_it_or_where_it_is_not_there(tmp_path, kind):
    batch = [({"id": [1]}, {"embedding": np.ones((1, 2))})]
    write(tmp_path / f"e.{kind}", batch)
    with pytest.raises(OutputError, match="exists already"):
        write(tmp_path / f"e.{kind}", batch)
    (tmp_path / f"e.{kind}").unlink()
    path = write(tmp_path / f"e.{kind}", [({"id": [2]}, {"embedding": np.ones((1, 2))})])
    assert read_embeddings([path]).columns == {"id": [2]}


@pytest.mark.parametrize("kind", ["npy", "fbin"])
def test_a_matrix_keeps_its_columns_whichever_of_the_two_is_compressed(tmp_path: Path, kind: str):
    path = tmp_path / f"e.{kind}"
    write(path, [({"id": [1]}, {"embedding": np.ones((1, 2))})])
    plain = tmp_path / f"{path.name}.columns.jsonl"
    for file in (path, plain):
        Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes()))
    for matrix in (path, Path(f"{path}.gz")):
        for columns in (plain, Path(f"{plain}.gz")):
            aside = columns.rename(tmp_path / "aside")
            assert read_embeddings([str(matrix)]).columns == {"id": [1]}
            assert len(companions(matrix)) == 1, "that resumed jobs compare"
            aside.rename(columns)


@pytest.mark.parametrize("kind", ["npy", "fbin"])
def test_a_matrix_is_never_there_with_the_columns_of_another(tmp_path, kind, monkeypatch):
    path, names = tmp_path / f"e.{kind}", []
    write(path, [({"id": [1]}, {"embedding": np.ones((1, 2))})])
    replace = Path.replace

    def name(temporary: Path, final: Path) -> None:
        replace(temporary, final)
        if not final.name.startswith("."):  # as the old ones that go aside before
            names.append((final.name, path.exists()))

    monkeypatch.setattr(Path, "replace", name)
    with writer(str(path), format=kind, floats=True, overwrite=True) as into:
        into(embedding_batch({"id": [2]}, {"embedding": np.ones((1, 2))}))
    assert names == [(f"{path.name}.columns.jsonl", False), (path.name, True)]


@pytest.mark.parametrize("at", [1, 2])
def test_an_older_matrix_is_kept_where_the_disk_has_no_room_for_its_columns(
    tmp_path, monkeypatch, at
):
    """Nor for the matrix; a full disk may show itself only when all is to be brought there."""
    path, fsync, calls = tmp_path / "e.npy", os.fsync, count(1)
    write(path, [({"id": [1]}, {"embedding": np.ones((1, 2))})])

    def full(descriptor: int) -> None:
        if next(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OutputError, match="No space left"),
        writer(str(path), format="npy", overwrite=True) as into,
    ):
        into(embedding_batch({"id": [2]}, {"embedding": np.zeros((1, 2))}))
    kept = read_embeddings([str(path)])
    assert (kept.columns, kept.matrix.tolist()) == ({"id": [1]}, [[1, 1]])


def test_vectors_are_asked_for_by_their_name_or_as_the_only_ones():
    def of(*names: str) -> Embeddings:
        return Embeddings({name: np.full((1, 1), n) for n, name in enumerate(names)}, name="x")

    for names, asked, chosen in (
        (["embedding"], None, 0),
        (["text_embedding"], None, 0),
        (["a_embedding", "embedding"], None, 1),
        (["a_embedding", "b_embedding"], "b", 1),
        (["a_embedding", "b_embedding"], "b_embedding", 1),
    ):
        assert of(*names).chosen(asked)[0] == names[chosen]
        assert of(*names).chosen(asked)[1].item() == chosen
    for names, asked, missing in (
        (["a_embedding", "b_embedding"], None, "'embedding'; there are a_embedding, b_embedding"),
        (["a_embedding"], "b", "'b_embedding'; there are a_embedding"),
        ([], "b", "'b_embedding'; there are none"),
    ):
        with pytest.raises(DataError, match=f"no vectors {missing}"):
            of(*names).chosen(asked)
    assert (len(of()), len(of("embedding"))) == (0, 1)


def test_texts_are_those_of_the_field_that_the_vectors_are_of():
    columns = {name: [name] for name in ("text", "context", "query")}

    def texts(of: str, options: Any = None) -> list[str]:
        metadata = {"dialtools": json.dumps({"options": options})}
        return Embeddings({}, columns, metadata).texts(of)

    assert texts("context_embedding") == texts("context_embedding", {"field": ["query"]})
    assert texts("context_embedding") == ["context"]
    assert texts("embedding", {"field": ["query"]}) == ["query"]
    for told in (None, 5, {"field": 5}, {"field": []}, {"field": ["query", "context"]}):
        assert texts("embedding", told) == ["text"]
    del columns["text"]
    assert texts("embedding", {"field": [], "per": "record"}) == ["query"]
    with pytest.raises(DataError, match="no column a beside a_embedding") as error:
        texts("a_embedding")
    assert error.value.hint == "dial-embed --keep a carries it along"


def test_columns_are_kept_as_named_the_usual_ones_that_are_there_all_or_none():
    def kept(*keep: str, of: tuple[str, ...] = ("n", "text", "id")) -> list[str]:
        return Embeddings({}, {name: [] for name in of}, name="x").kept(keep, ("id", "text"))

    assert kept("text", "n") == ["text", "n"]
    assert kept() == kept("id", "text") == ["id", "text"]
    assert kept(of=("n", "text")) == kept("id", "text", of=("text",)) == ["text"]
    assert kept("all") == ["n", "text", "id"] and kept("none") == []
    assert kept("n", "all", of=("n", "all")) == ["n", "all"]
    for keep in (("id", "m"), ("m",), ("text", "id", "m")):
        with pytest.raises(DataError, match="--keep: no field 'm'; there are n, text, id") as told:
            kept(*keep)
        assert told.value.where == "x"
    with pytest.raises(DataError, match="there are none"):
        kept("m", of=())


def test_the_model_is_that_which_a_file_tells_or_none():
    def told(options: Any) -> str | None:
        return model_named({"dialtools": json.dumps({"options": options})})

    assert told({"model": "m"}) == "m"
    for rubbish in (None, [], {}, {"model": 5}):
        assert told(rubbish) is None


def test_rows_are_selected_with_what_is_beside_them():
    whole = Embeddings(
        {"embedding": np.arange(6).reshape(3, 2)}, {"id": ["a", "b", "c"]}, {"m": "1"}, "x"
    )
    some = whole.select(np.array([2, 0]))
    assert some.matrix.tolist() == [[4, 5], [0, 1]] and some.columns == {"id": ["c", "a"]}
    assert (some.metadata, some.name, len(some)) == ({"m": "1"}, "x", 2)


NAMES = map(str, count())
"""Of files: another each time, as what counts is what they hold."""


def transformed(
    kind: str | None = None, *, inputs: str = "a", contexts: bool = False, **files: str
) -> dict[str, str]:
    """Return the metadata of vectors of one model, as dial-embed writes it.

    Args:
        contexts: they alone are transformed.
    """
    digests = {source: {"sha256": file, "name": next(NAMES)} for source, file in files.items()}
    made_of = [{"sha256": inputs, "name": next(NAMES)}]
    facts = {"weights": "w", "pooling": "mean", "inputs": made_of, "files": digests}
    facts |= {"one_sided": True} if contexts else {}
    return {"dialtools": json.dumps({**facts, "options": {"transform": kind}})}


def mixed(weight: float | None) -> dict[str, str]:
    facts = {"weights": "w", "pooling": "mean", "options": {"compress": weight}}
    return {"dialtools": json.dumps(facts)}


def moved(file: str, **more: str) -> dict[str, str]:
    return transformed(file, transform=file, contexts=True, **more)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (transformed(), transformed(inputs="b"), True),
        (transformed(), transformed("center"), False),
        (transformed("center"), transformed("center"), True),
        (transformed("center"), transformed("center", inputs="b"), False),
        (transformed("center"), transformed("whiten"), False),
        (transformed("c", transform="1"), transformed("d", transform="1", inputs="b"), True),
        (transformed("c", transform="1"), transformed("c", transform="2"), False),
        # it may have been fitted to that input, and saved
        (transformed("c", transform="1"), transformed("center"), True),
        (transformed("center", **{"fit-on": "1"}), transformed("center", **{"fit-on": "2"}), False),
        (transformed("center"), {}, True),
        (transformed("to-response", contexts=True), transformed(), True),
        (transformed("to-response", contexts=True), transformed("center"), False),
        (moved("1"), moved("1", inputs="b"), True),
        (moved("1"), moved("2"), False),
        (mixed(0.5), mixed(0.5), True),
        (mixed(0.5), mixed(0.1), False),
        (mixed(0.5), mixed(None), False),
        (mixed(0.0), mixed(None), True),
    ],
)
def test_vectors_that_are_known_to_be_transformed_otherwise_are_of_another_space(
    one: dict[str, str], other: dict[str, str], same: bool
):
    for first, second in ((one, other), (other, one)):
        known = one_space({}, first, where="one")
        kept = {"dialtools": json.dumps(known)}  # in a router
        for space in (known, one_space({}, kept, where="router")):
            with nullcontext() if same else pytest.raises(DataError, match="otherwise"):
                one_space(space, second, where="other")
