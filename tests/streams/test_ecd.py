"""The files of DialogueCSE's data sets, read as they are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dialtools.errors import DataError
from dialtools.streams.chunks import read_records
from dialtools.streams.ecd import select, sts, training
from dialtools.streams.policy import Policy


def read(path: Path, kind: str, policy: Policy | None = None) -> list[dict]:
    return [
        record for _, record in read_records([str(path)], format=kind, policy=policy or Policy())
    ]


def test_a_training_line_is_a_pair_with_turns_on_both_sides_and_its_negatives(tmp_path: Path):
    path = tmp_path / "train.txt"
    path.write_text("在吗|你好\t想退货\t1|0|-1-|0\t1\t什么时候发货|好的|谢谢\t1|0|0\r\n")
    assert read(path, "ecd") == [
        {
            "context": ["在吗", "你好"],
            "response": "什么时候发货",
            "follow": ["想退货"],
            "negatives": ["好的", "谢谢"],
            "window": 2,
            "speakers": ["1", "0", "1"],
        }
    ]


def test_who_spoke_is_known_where_each_turn_has_a_role():
    line = "a|b\t\t{}\t1\tr\t1\r\n"
    bare = {"context": ["a", "b"], "response": "r", "follow": [], "negatives": [], "window": 2}
    for roles, speakers in (
        ("1|0-1-0", ["1", "0", "1"]),
        ("1|0|-1-|0", ["1", "0", "1"]),
        ("1|0-1|-0", ["1", "0", "1"]),
        ("1|0-1", None),
        ("1|0-1-0-1", None),
        ("1-1-0", None),
        ("1|0|1-1-0", None),
    ):
        assert training(line.format(roles)) == bare | ({"speakers": speakers} if speakers else {})
    for wrong in ("\t\t1-1-1\t1\tr\t1", "a\t\t1-1-1\t1\tr\t0|1", "a\t\t1-1-1\t1\tr\t10"):
        with pytest.raises(ValueError, match="the true response as first candidate"):
            training(wrong)
    assert sts("0.5\ta\tb\r\n") == {"text1": "a", "text2": "b", "score": 0.5}
    assert select("7\ta\t\t1,,2\t3\r\n") == {
        "id": 7,
        "query": "a",
        "positives": [1, 2],
        "negatives": [3],
    }


def test_blank_lines_count_and_are_no_records(tmp_path: Path):
    (tmp_path / "x.txt").write_text("\n1\ta\tb\n \r\n2\tc\td\r\n")
    places = read_records([str(tmp_path / "x.txt")], format="ecd-sts", policy=Policy())
    assert [(where.line, record["text2"]) for where, record in places] == [(2, "b"), (4, "d")]


def test_retrieval_and_similarity_lines(tmp_path: Path):
    (tmp_path / "select.txt").write_text("0\t何时发货\t物流\t1,2\t3\n1\t多久到\t\t0\t\n")
    assert read(tmp_path / "select.txt", "ecd-select") == [
        {"id": 0, "query": "何时发货", "label": "物流", "positives": [1, 2], "negatives": [3]},
        {"id": 1, "query": "多久到", "positives": [0], "negatives": []},
    ]
    (tmp_path / "sts.txt").write_text("3\t甲\t乙\n")
    assert read(tmp_path / "sts.txt", "ecd-sts") == [{"text1": "甲", "text2": "乙", "score": 3.0}]


@pytest.mark.parametrize(
    ("kind", "line", "says"),
    [
        ("ecd", "a\tb", r"bad.txt:2: expected 6 fields .* found 2"),
        ("ecd", "a\tb\t1-0-1\t1\tr|n\t0|1", "the true response as first"),
        ("ecd-select", "x\ta\tb\t1\t2", "expected an id, a whole number, got 'x'"),
        ("ecd-select", f"{'9' * 99}\ta\tb\t1\t2", "expected an id, a whole number, got '9{60}'..."),
        (
            "ecd-select",
            f"1\ta\tb\t1\t1,{2**64}",
            "expected an id, a whole number, got '184",
        ),
        ("ecd-sts", "x\ta\tb", "score: expected a number, got 'x'"),
    ],
)
def test_a_line_of_another_shape_is_named(kind: str, line: str, says: str, tmp_path: Path):
    (tmp_path / "bad.txt").write_text(f"\n{line}\n")
    with pytest.raises(DataError, match=says):
        read(tmp_path / "bad.txt", kind)
    policy = Policy("skip")
    assert read(tmp_path / "bad.txt", kind, policy) == [] and policy.skipped == 1


@pytest.mark.shared
def test_the_published_jddc_files_are_those_of_the_evaluation_sets(shared: Path):
    for name, kind, count in (("select", "retrieval", 2094), ("sts", "sts", 1000)):
        found = read(shared / "data" / "raw" / "jddc" / "dev" / f"{name}.txt", f"ecd-{name}")
        with gzip.open(shared / "data" / "eval" / f"jddc_{kind}.jsonl.gz", "rt") as lines:
            known = [row for row in map(json.loads, lines) if row.pop("split") == "dev"]
        assert found == known and len(found) == count
