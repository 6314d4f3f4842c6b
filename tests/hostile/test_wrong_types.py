"""Records with something else in a field than belongs there: each is told, and can be skipped."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.corpora.fields import PAIR, BadRecord, check
from dialtools.train.data.pairs_of_batch import is_columnar

Record = dict[str, Any]
Run = Callable[..., subprocess.CompletedProcess]

NO_TEXT: list[Any] = [5, True, [1], {"a": 1}, [None], [["a"]]]
NO_LIST: list[Any] = ["abc", 5, True, {"a": "b"}, [5], [{"a": 1}], [["a"]], [None]]
NO_NAME: list[Any] = [[1], {"a": 1}, True]
NO_PLACE: list[Any] = ["abc", [1], 99999999999, -1, 1.5, True, {"a": 1}]
NO_WEIGHT: list[Any] = ["much", -1, True, [1], 1e300, {"a": 1}]

DIALOGUE: Record = {"id": "d1", "turns": [{"speaker": "user", "text": "a b c"}, {"text": "d e f"}]}
UTTERANCE: Record = {"text": "fly to rome", "label": "x", "split": "train"}
PAIR_RECORD: Record = {
    "context": ["a b"],
    "response": "c d",
    "window": 1,
    "dialogue_id": "d1",
    "turn": 1,
    "speakers": ["user", "system"],
    "weight": 0.5,
}
ENTAILED: Record = {"premise": "a b", "hypothesis": "c d", "label": "entailment"}
COUNTED: Record = {"text": "a", "count": 2}

WRONG: dict[str, tuple[Record, dict[str, list[Any]]]] = {
    "dial-pairs": (
        DIALOGUE,
        {
            "turns": [
                *NO_LIST[:-1],
                [{"speaker": [5], "text": "a"}, {"speaker": "x", "text": "b"}],
                [{"speaker": {"a": 1}, "text": "a"}],
                [{"text": 5}],
            ],
            "id": NO_NAME,
        },
    ),
    "dial-pairs --reader tod-bert": (DIALOGUE, {"turns": [[{"speaker": [5], "text": "a"}]]}),
    "dial-pairs --kind dialogue": (
        DIALOGUE,
        {"turns": [*NO_LIST[:-1], [{"speaker": [5], "text": "a"}]], "id": NO_NAME},
    ),
    "dial-pairs --kind utterance": (UTTERANCE, {"text": NO_TEXT, "slots": NO_LIST}),
    "dial-pairs --kind entailment": (
        ENTAILED,
        {"premise": NO_TEXT, "hypothesis": NO_TEXT, "label": NO_TEXT, "id": NO_NAME},
    ),
    "dial-freq": (
        {k: v for k, v in PAIR_RECORD.items() if k != "dialogue_id"},
        {"response": [5, True, {"a": 1}, [5], [None]], "window": NO_NAME, "turn": ["x", [1]]},
    ),
    "dial-freq --annotate": (UTTERANCE, {"text": NO_TEXT}),
    "dial-freq --merge": (
        COUNTED,
        {"text": [*NO_TEXT, ["x", "y"], []], "count": [*NO_PLACE[:2], -1, 0, 1.5, True, 1 << 63]},
    ),
    "dial-augment": (UTTERANCE, {"text": NO_TEXT, "slots": [*NO_LIST, [{"start": "a", "end": 1}]]}),
}


def bad_records(good: Record, wrong: dict[str, list[Any]]) -> Iterator[tuple[str, Record]]:
    """Yield a record for each wrong value, and the field that it is in."""
    for field, values in wrong.items():
        for value in values:
            yield field, {**good, field: value}


@pytest.fixture
def run(scripts: Path, tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run a command line in a folder of its own; a message is one line, and never a defect."""

    def run(line: str, *, code: int = 0) -> subprocess.CompletedProcess:
        name, *arguments = line.split()
        done = subprocess.run(
            [str(scripts / name), *arguments, "-q"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
        )
        said = done.stderr.decode()
        assert "defect" not in said, said
        assert done.returncode == code, said
        assert len(said.splitlines()) <= 2, said
        return done

    return run


def lines(records: list[Record]) -> bytes:
    return b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records)


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_value_is_told_by_its_field_and_can_be_skipped(line: str, run: Run, tmp_path: Path):
    good, wrong = WRONG[line]
    bad = list(bad_records(good, wrong))
    (tmp_path / "r.jsonl").write_bytes(lines([record for _, record in bad] + [good]))

    done = run(f"{line} --on-error quarantine=q.jsonl r.jsonl", code=3)

    aside = list(map(orjson.loads, (tmp_path / "q.jsonl").read_bytes().splitlines()))
    told = {row["line"]: row["error"] for row in aside}
    for number, (field, record) in enumerate(bad, 1):
        assert field in told.get(number, "taken for well-formed"), record
    assert len(told) == len(bad)
    assert done.stdout or "tod-bert" in line  # which leaves the first turn out


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_column_is_told_as_a_wrong_field_is(line: str, run: Run, tmp_path: Path):
    good, wrong = WRONG[line]
    for field in wrong:
        column = pa.array([1.5], pa.float64()) if field == "count" else pa.array([b"\xff"])
        pq.write_table(
            pa.Table.from_pylist([good]).drop_columns(field).append_column(field, column)
            if field in good
            else pa.Table.from_pylist([good]).append_column(field, column),
            tmp_path / "t.parquet",
        )
        if field in ("id", "window"):  # anything may be a name
            continue

        said = run(f"{line} t.parquet", code=1).stderr.decode()

        assert "t.parquet:1: " in said
        assert field in said


WRONG_PAIRS = {
    "context": [*NO_LIST[1:], []],
    "response": NO_TEXT,
    "follow": NO_LIST,
    "negatives": NO_LIST,
    "template": NO_TEXT,
    "speakers": [5, "abc", [1, 2], {"a": 1}, [["a"]]],
    "weight": NO_WEIGHT,
    "dialogue_id": NO_NAME,
    "turn": NO_PLACE,
}


def test_every_field_of_a_pair_is_checked():
    check(PAIR_RECORD, PAIR)
    for field, record in bad_records(PAIR_RECORD, WRONG_PAIRS):
        with pytest.raises(BadRecord, match=field):
            check(record, PAIR)


def test_columns_of_pairs_are_taken_whole_only_if_each_fits():
    odd: dict[str, list[pa.Array]] = {
        "context": [
            pa.array([[]], pa.list_(pa.string())),
            pa.array([[None]], pa.list_(pa.string())),
        ],
        "response": [pa.array([5]), pa.array([None], pa.string())],
        "follow": [pa.array([[1]]), pa.array(["abc"])],
        "speakers": [pa.array(["abc"]), pa.array([[1, 2]])],
        "weight": [pa.array([1e300]), pa.array([-1.0]), pa.array([float("nan")]), pa.array(["x"])],
        "dialogue_id": [pa.array([5]), pa.array([b"x"])],
        "turn": [pa.array(["x"]), pa.array([1 << 31]), pa.array([-1])],
    }
    fits = pa.RecordBatch.from_pylist([PAIR_RECORD])
    assert is_columnar(fits)
    for field, columns in odd.items():
        for column in columns:
            rest = fits.drop_columns(field) if field in fits.schema.names else fits
            assert not is_columnar(rest.append_column(field, column)), (field, column)


def test_training_tells_wrong_pairs_and_skips_them(train: Any, tmp_path: Path):
    bad = [record for _, record in bad_records(PAIR_RECORD, WRONG_PAIRS)]
    good = [{**PAIR_RECORD, "dialogue_id": str(i), "response": f"r {i}"} for i in range(8)]
    (tmp_path / "r.jsonl").write_bytes(lines(bad + good))
    aside = tmp_path / "q.jsonl"

    done = train(
        "--on-error", f"quarantine={aside}", "-o", tmp_path / "m", tmp_path / "r.jsonl", code=3
    )

    assert b"defect" not in done.stderr
    assert len(aside.read_bytes().splitlines()) == len(bad)


@pytest.mark.parametrize(
    "vectors",
    [
        [[1, 0], [0, 1], ["a", "b"]],
        [[1, 0], [0, 1], "ab"],
        [[1, 0], [0, 1], {"a": 1}],
        [[1, 0], [0, 1], [1, 2, 3]],
        [[1, 0], [0, 1], [[1], [2]]],
        [[1, 0], [0, 1], [None, 1]],
        [[1, 0], [0, 1], None],
        [[1, 0], [0, 1], []],
        [[1, 0], [0, 1], [1e300, 0]],
        [[1, 0], [0, 1], [True, False]],
    ],
)
def test_a_wrong_vector_is_told_by_its_line(vectors: list[Any], run: Run, tmp_path: Path):
    (tmp_path / "e.jsonl").write_bytes(lines([{"embedding": vector} for vector in vectors]))

    said = run("dial-eval space e.jsonl", code=1).stderr.decode()

    assert "e.jsonl:3: embedding: " in said


def test_a_wrong_column_of_vectors_is_told(run: Run, tmp_path: Path):
    two = pa.list_(pa.float32(), 2)
    columns = {
        "strings": pa.array([["a", "b"]] * 2),
        "texts": pa.array(["a", "b"]),
        "objects": pa.array([[{"a": 1}]] * 2),
        "nested": pa.array([[[1.0]]] * 2),
        "decimals": pa.array([[Decimal(1)]] * 2),
        "ragged": pa.array([[1.0], [1.0, 2.0]]),
        "gaps": pa.array([[1.0, 2.0], None], two),
        "holes": pa.array([[1.0, 2.0], [None, 1.0]], two),
        "endless": pa.array([[1.0, 2.0], [np.inf, 1.0]], two),
        "empty": pa.array([[], []], pa.list_(pa.float32())),
    }
    for name, column in columns.items():
        pq.write_table(pa.table({"embedding": column}), tmp_path / f"{name}.parquet")
        run(f"dial-eval space {name}.parquet", code=1)
    whole = pa.table({"embedding": pa.array([[1, 0], [0, 1]]), "n": pa.array([Decimal(1)] * 2)})
    pq.write_table(whole, tmp_path / "whole.parquet")
    assert run("dial-eval space whole.parquet").stdout


def test_metadata_of_a_stranger_is_nothing_to_rely_on(run: Run, tmp_path: Path):
    table = pa.table({"embedding": pa.array([[1.0, 0.0], [0.0, 1.0]]), "label": ["a", "b"]})
    for text in (b"{", b"[]", b'{"options":5}', b'{"options":{"field":5}}', b"\xff"):
        pq.write_table(table.replace_schema_metadata({b"dialtools": text}), tmp_path / "e.parquet")
        assert run("dial-eval space e.parquet").stdout


@pytest.mark.parametrize(
    ("line", "column", "values"),
    [
        ("dial-eval sts", "score", [1, True, 3]),
        ("dial-eval sts", "score", [1, [2], 3]),
        ("dial-eval space --vectors text1_embedding --label label", "label", None),
        ("dial-eval retrieve --lists bm25", "label", None),
        ("dial-eval select --candidates 2", "response", [["a"], ["a"], ["b"]]),
        ("dial-eval act --target current", "labels", ["x", ["y"], ["z"]]),
    ],
)
def test_a_wrong_column_of_an_evaluation_is_no_defect(
    line: str, column: str, values: Any, run: Run, tmp_path: Path
):
    odd = values or [["a"], {"b": 1}, 5]
    rows = [
        {"text": "a b", column: value, "text1_embedding": [1, 0], "text2_embedding": [0.5, i]}
        for i, value in enumerate(odd)
    ]
    (tmp_path / "e.jsonl").write_bytes(lines(rows))
    name, *rest = line.split()
    for code in (0, 1, 2):
        try:
            run(f"{line} e.jsonl", code=code)
            return
        except AssertionError as error:
            assert "defect" not in str(error)
    raise AssertionError(f"{name} {rest}: no exit status of ours")
