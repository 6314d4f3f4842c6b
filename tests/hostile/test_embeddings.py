"""Embedding files of strangers: read whole or refused in one line, from a file or from a pipe."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended

from dialtools.errors import DataError
from dialtools.streams.vector_files import read_embeddings

VECTORS = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def evaluate(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Run:
    def run(*words: str, code: int = 0, stdin: bytes = b"") -> subprocess.CompletedProcess:
        command = [str(scripts / "dial-eval"), *words]
        done = subprocess.run(
            command, input=stdin, capture_output=True, cwd=tmp_path, env=environment
        )
        said = done.stderr.decode()
        assert done.returncode == code, said
        assert "defect" not in said
        assert said.count("\n") <= 2
        assert code == 0 or not done.stdout
        return done

    return run


def npy(array: np.ndarray, header: str | None = None, more: bytes = b"") -> bytes:
    """Return a .npy file; its header may say something else than the truth."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    content = file.getvalue()
    if header is not None:
        text = header.encode().ljust(117) + b"\n"
        content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()
    return content + more


def header(descr: object = "'<f4'", shape: object = (12, 4), order: object = False) -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


MATRICES = {
    "as it is": npy(VECTORS),
    "columns first": npy(np.asfortranarray(VECTORS)),
    "the other byte order": npy(VECTORS.astype(">f4")),
    "double precision": npy(VECTORS.astype(np.float64)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_of_numbers_is_read_however_it_lies(tmp_path: Path, name: str):
    (tmp_path / "e.npy").write_bytes(MATRICES[name])
    np.testing.assert_array_equal(read_embeddings([str(tmp_path / "e.npy")]).matrix, VECTORS)


def test_half_precision_and_whole_numbers_are_read(tmp_path: Path):
    for kind in (np.float16, np.int8, np.uint16):
        np.save(tmp_path / "e.npy", VECTORS.astype(kind))
        matrix = read_embeddings([str(tmp_path / "e.npy")]).matrix
        np.testing.assert_array_equal(matrix, VECTORS.astype(kind).astype(np.float32))


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, VECTORS)
    return file.getvalue()


RUBBISH: dict[str, tuple[bytes, str]] = {
    "an archive": (npz(), "does not begin like one"),
    "a header without end": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "a header of 4,294,967,295"),
    "a call": (npy(VECTORS, header(descr="open('x', 'w')")), "its header is damaged"),
    "a shape of petabytes": (npy(VECTORS, header(shape=(1 << 40, 1000))), "192 are there"),
    "objects": (npy(np.array([[None]])), "of object"),
    "fields": (npy(np.zeros((2, 2), "f4,f4")), "expected a matrix"),
    "texts": (npy(np.array([["a"]])), "of <U1"),
    "dates": (npy(np.zeros((2, 2), "M8[s]")), "expected a matrix"),
    "no rows": (npy(VECTORS[:0]), "holds no rows"),
    "no dimensions": (npy(VECTORS[:, :0]), "got shape (12, 0)"),
    "what is no number": (npy(np.full((2, 2), np.nan)), "row 1 is not finite"),
    "beyond float32": (npy(np.full((2, 2), 1e300)), "row 1 is not finite"),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_what_is_no_matrix_is_told_in_one_line(tmp_path: Path, name: str):
    content, words = RUBBISH[name]
    (tmp_path / "e.npy").write_bytes(content)
    with pytest.raises(DataError) as error:
        read_embeddings([str(tmp_path / "e.npy")])
    assert words in str(error.value)
    assert len(str(error.value)) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"id": 1}'] * 11, "11 rows beside a matrix of 12"),
        (['{"id": 1}'] * 13, "13 rows beside a matrix of 12"),
        (["[1]"] * 12, "e.npy.columns.jsonl:1: expected a JSON object"),
        (["{"] * 12, "e.npy.columns.jsonl:1: not JSON"),
    ],
)
def test_the_columns_beside_a_matrix_are_a_record_for_each_row(
    tmp_path: Path, lines: list[str], words: str
):
    (tmp_path / "e.npy").write_bytes(npy(VECTORS))
    (tmp_path / "e.npy.columns.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError) as error:
        read_embeddings([str(tmp_path / "e.npy")])
    assert words in str(error.value)


def column(values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"embedding": pa.array(values, kind)})


@pytest.mark.parametrize(
    "vector", ['["1", "2"]', "[true, false]", "[null, 1]", "5", '"12"', "[[1], [2]]", "[[1], 2]"]
)
def test_a_vector_that_is_no_list_of_numbers_is_named_by_its_line(tmp_path: Path, vector: str):
    path = tmp_path / "e.jsonl"
    path.write_text(f'{{"embedding": [1, 2]}}\n{{"embedding": {vector}}}\n')
    with pytest.raises(DataError, match=r"e\.jsonl:2: embedding: expected numbers"):
        read_embeddings([str(path)])


@pytest.mark.parametrize(
    "facts", ["{", "[]", '{"options": 5}', '{"options": {"field": 5}}', "\udcff"]
)
def test_what_a_stranger_tells_of_a_files_making_is_not_believed(
    evaluate: Run, tmp_path: Path, facts: str
):
    table = labelled_table().replace_schema_metadata(
        {b"dialtools": facts.encode(errors="surrogateescape"), b"\xff": b"\xff"}
    )
    pq.write_table(table, tmp_path / "e.parquet")
    assert b"accuracy" in evaluate("intent", "--method", "knn", "e.parquet").stdout


def labelled_table() -> pa.Table:
    """Texts of two labels, of which half are for training, with scores and responses."""
    rows = len(VECTORS)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.reshape(-1)), 4)
    return pa.table(
        {
            "text": [f"text {i}" for i in range(rows)],
            "label": ["a", "b"] * (rows // 2),
            "split": ["train"] * (rows // 2) + ["test"] * (rows // 2),
            "embedding": vectors,
        }
    )


def paired_table() -> pa.Table:
    table = labelled_table().drop_columns(["split"])
    table = table.rename_columns(["text", "label", "text1_embedding"])
    table = table.append_column("text2_embedding", table["text1_embedding"].combine_chunks()[::-1])
    return table.append_column("score", pa.array(np.arange(len(VECTORS), dtype=float)))


def of_pairs(first: str, second: str) -> pa.Table:
    names = {"text1_embedding": first, "text2_embedding": second}
    table = paired_table()
    return table.rename_columns([names.get(name, name) for name in table.column_names])


TASKS: dict[tuple[str, ...], pa.Table] = {
    ("intent", "--shots", "1", "--runs", "2"): labelled_table(),
    ("intent", "--method", "knn"): labelled_table(),
    ("space",): labelled_table(),
    ("retrieve",): labelled_table(),
    ("sts",): paired_table(),
    ("select", "--candidates", "4"): of_pairs("context_embedding", "response_embedding"),
}


@pytest.mark.parametrize("words", TASKS, ids=" ".join)
def test_a_task_reads_stdin_as_it_reads_a_file(evaluate: Run, tmp_path: Path, words: tuple[str]):
    table = TASKS[words]
    pq.write_table(table, tmp_path / "e.parquet")
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    named = values(evaluate(*words, "e.parquet"))
    assert named
    for content in (stream.getvalue(), (tmp_path / "e.parquet").read_bytes(), lines):
        piped = evaluate(*words, stdin=content)
        assert values(piped) == named
        source = json.loads(piped.stdout.splitlines()[0])["inputs"][0]
        assert (source["name"], source["bytes"]) == ("-", len(content))


def values(done: subprocess.CompletedProcess) -> dict[tuple[str, str], float]:
    records = map(json.loads, done.stdout.splitlines())
    return {(record["setting"], record["metric"]): record["value"] for record in records}


def test_a_matrix_may_come_through_a_pipe_too(evaluate: Run):
    assert values(evaluate("space", stdin=npy(VECTORS)))


def test_one_of_two_inputs_may_be_stdin_and_not_both(evaluate: Run, tmp_path: Path):
    table = labelled_table()
    pq.write_table(table, tmp_path / "train.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    words = ("intent", "--method", "knn", "--train", "train.parquet")
    assert values(evaluate(*words, "--test", "-", stdin=lines))
    twice = evaluate("intent", "--train", "-", "--test", "-", code=2)
    assert b"--train and --test" in twice.stderr


@pytest.mark.parametrize(
    "task", ["intent", "oos", "select", "act", "infer", "retrieve", "sts", "entail", "space"]
)
def test_no_input_is_never_a_success(evaluate: Run, tmp_path: Path, task: str):
    evaluate(task, "-o", "scores.jsonl", code=1)
    empty = io.BytesIO()
    with pa.ipc.new_stream(empty, labelled_table().schema):
        pass
    evaluate(task, "-o", "scores.jsonl", code=1, stdin=empty.getvalue())
    assert not (tmp_path / "scores.jsonl").exists()


def test_no_records_make_no_embedding_file(
    scripts: Path, environment: dict[str, str], tmp_path: Path
):
    (tmp_path / "words.txt").write_text("hello 1 2\n")
    command = [scripts / "dial-embed", "--model", "words.txt", "-o", "e.parquet"]
    done = ended(*command, code=1, input=b"\n", cwd=tmp_path, env=environment)
    assert done.stderr == b"dial-embed: <stdin>: no records to embed\n"
    assert [file.name for file in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.parametrize("words", [("sts",), ("intent",), ("compare",), ("plot", "-o", "x.svg")])
def test_on_a_terminal_a_task_says_how_to_call_it(
    installed: Path, environment: dict[str, str], words: tuple[str, ...]
):
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [installed / "dial-eval", *words], stdin=theirs, capture_output=True, env=environment
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert b"pipe records in" in done.stderr


@pytest.mark.parametrize(("name", "kind"), [("x.txt", "text"), ("x.csv", "csv")])
def test_a_file_of_another_kind_holds_no_embeddings(
    evaluate: Run, tmp_path: Path, name: str, kind: str
):
    (tmp_path / name).write_text("a,b\n")
    assert f"{kind} holds no embeddings".encode() in evaluate("space", name, code=1).stderr
