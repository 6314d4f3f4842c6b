"""docs/vectors.md: each recipe finds, in files as dial-embed writes them, what all others find."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dialtools.errors import DataError
from dialtools.streams.sinks import writer
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import embedding_batch

PAGE = (Path(__file__).resolve().parents[2] / "docs/vectors.md").read_text(encoding="utf-8")
RECIPES = dict(
    re.findall(r"\*\*(\w+)\*\*[^`]*(?:`[^`\n]+`[^`]*)*```python\n(.*?)```", PAGE, re.DOTALL)
)
ROWS, DIMENSIONS = 40, 384


def batches() -> list[pa.RecordBatch]:
    """Unit vectors with texts, in two batches, as two shards are."""
    vectors = np.random.default_rng(0).normal(size=(ROWS, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        embedding_batch({"text": [f"text {i}" for i in part]}, {"embedding": vectors[part]})
        for part in np.array_split(np.arange(ROWS), 2)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("vectors")
    for kind in ("parquet", "npy", "fbin"):
        with writer(str(home / f"tickets.{kind}"), format=kind, floats=True) as write:
            for batch in batches():
                write(batch)
    return home


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_finds_the_nearest_rows(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    code = RECIPES[name]
    for package in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(package, reason=f"needs {package}")
    monkeypatch.chdir(folder)
    found: dict[str, Any] = {}
    exec(code, found)
    vectors = read_embeddings(["tickets.parquet"]).matrix
    expected = [f"text {i}" for i in np.argsort(-vectors @ vectors[0])[:3]]
    assert expected[0] == "text 0"
    assert found["nearest"] == expected


def test_the_page_has_the_recipes_that_it_tells_of():
    tools = ("DuckDB", "Polars", "Arrow", "pandas", "NumPy", "FAISS", "usearch", "Lance")
    assert tuple(RECIPES) == tools


def test_arrow_files_are_read_by_polars_and_pandas_and_streams_by_polars(folder: Path):
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    for name in ("v.arrow", "v.feather", "v.arrows"):
        with writer(str(folder / name), format="arrow", floats=True) as write:
            for batch in batches():
                write(batch)
    expected = read_embeddings([str(folder / "tickets.parquet")])
    for name in ("v.arrow", "v.feather"):
        table, frame = polars.read_ipc(folder / name), pandas.read_feather(folder / name)
        assert table["text"].to_list() == frame["text"].tolist() == expected.columns["text"]
        assert (table["embedding"].to_numpy() == expected.matrix).all()
        assert (np.stack(frame["embedding"]) == expected.matrix).all()
    stream = polars.read_ipc_stream(folder / "v.arrows")
    assert (stream["embedding"].to_numpy() == expected.matrix).all()


# the matrix of fbin


def test_fbin_is_rows_and_dimensions_and_then_the_numbers(folder: Path):
    content = (folder / "tickets.fbin").read_bytes()
    assert np.frombuffer(content[:8], "<i4").tolist() == [ROWS, DIMENSIONS]
    matrix = np.frombuffer(content[8:], "<f4").reshape(ROWS, DIMENSIONS)
    table = read_embeddings([str(folder / "tickets.parquet")])
    assert (matrix == table.matrix).all()
    again = read_embeddings([str(folder / "tickets.fbin")])
    assert (again.matrix == table.matrix).all() and again.columns == table.columns


def test_half_floats_become_floats_in_fbin(tmp_path: Path):
    with writer(str(tmp_path / "h.fbin"), format="fbin") as write:
        write(embedding_batch({}, {"embedding": np.array([[0.5, -2]])}, float16=True))
    assert read_embeddings([str(tmp_path / "h.fbin")]).matrix.tolist() == [[0.5, -2]]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no fbin"),
        (b"\1\0\0\0\2\0\0", "no fbin"),
        (b"\xff\xff\xff\xff\2\0\0\0", "no fbin"),
        (b"\1\0\0\0\2\0\0\0" + bytes(7), "its header tells of 8 bytes, 7 are there"),
        (b"\1\0\0\0\2\0\0\0" + bytes(9), "more follow"),
        (b"\xff\xff\xff\x7f\xff\xff\xff\x7f", "0 are there"),
        (b"\0\0\0\0\2\0\0\0", "holds no rows"),
        (b"\1\0\0\0\1\0\0\0\0\0\xc0\x7f", "row 1 is not finite"),
    ],
)
def test_a_damaged_fbin_is_told(tmp_path: Path, content: bytes, told: str):
    path = tmp_path / "x.fbin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        read_embeddings([str(path)])
