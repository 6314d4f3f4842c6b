"""JSON of strangers: digits that no number holds, nesting without end, tokens set apart."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import orjson
import pytest

from dialtools.streams import exact

BIG = 12345678901234567890123456789


@pytest.fixture
def run(scripts: Path, tmp_path: Path):
    def run(stdin: bytes, name: str, *words: str, code: int = 0) -> tuple[list[dict], str]:
        done = subprocess.run(
            [str(scripts / name), *words],
            input=stdin,
            cwd=tmp_path,
            capture_output=True,
            timeout=600,
        )
        said = done.stderr.decode()
        assert done.returncode == code, said
        assert "defect" not in said
        return [json.loads(line) for line in done.stdout.split(b"\n") if line], said

    return run


def test_two_ids_that_differ_in_their_25th_digit_are_two(run):
    lines = b"".join(b'{"id":%d,"turns":["a","b"],"n":%d}\n' % (BIG + i, BIG) for i in range(2))
    pairs, _ = run(lines, "dial-pairs")
    assert [pair["dialogue_id"] for pair in pairs] == [str(BIG), str(BIG + 1)]
    talks, _ = run(lines, "dial-pairs", "--kind", "dialogue")
    assert [talk["n"] for talk in talks] == [str(BIG)] * 2


def test_their_digits_are_kept_by_every_command(run, tmp_path: Path):
    (tmp_path / "words.txt").write_text("a 1 2\nb 3 4\n")
    line = b'{"text":"a","n":%d,"list":[%d],"small":7}\n' % (BIG, -BIG)
    for words in (
        ["dial-augment"],
        ["dial-freq", "--annotate"],
        ["dial-embed", "--model", "words.txt", "--keep", "all", "--to", "jsonl"],
    ):
        (record, *_), _ = run(line, *words)
        assert int(record["n"]) == BIG
        assert record["small"] == 7


def test_a_long_number_is_found_wherever_it_stands():
    draw = random.Random(0)
    pattern = re.compile(rb"[-:,\[ \t\r\n]\d{19}")
    for _ in range(3000):
        data = bytes(draw.choices(b'01234567890123456789012345678901234567890123 :,."-a', k=90))
        assert exact.has_long_numbers(data) == bool(pattern.search(data))


def test_numbers_of_64_bits_and_fractions_stay_numbers():
    low, high = -(2**63), 2**64
    line = b'{"n":[%d,%d,%d,%d],"x":0.00123456789012345678}' % (low, low - 1, high - 1, high)
    assert exact.loads(line) == {
        "n": [low, str(low - 1), high - 1, str(high)],
        "x": orjson.loads(b"0.00123456789012345678"),
    }


@pytest.mark.parametrize("depth", [199, 200, 255, 1000])
@pytest.mark.parametrize(
    "words",
    [
        ["dial-pairs", "--kind", "utterance"],
        ["dial-pairs", "--kind", "dialogue"],
        ["dial-pairs"],
        ["dial-augment"],
        ["dial-freq"],
        ["dial-freq", "--annotate"],
        ["dial-embed", "--model", "words.txt", "--to", "jsonl", "--keep", "all"],
    ],
)
def test_records_that_nest_too_deep_are_bad_records(
    run, tmp_path: Path, depth: int, words: list[str]
):
    (tmp_path / "words.txt").write_text("a 1 2\nb 3 4\n")
    talks = words[0] == "dial-pairs" and "utterance" not in words
    key = b'"turns":["a","b"]' if talks else b'"text":"a"'
    deep = b"{%b,%b}\n" % (key, b'"x":' + b"[" * depth + b"]" * depth)
    good = b"{%b}\n" % key
    if depth < 200:
        assert run(deep + good, *words)[0]
        return
    assert "<stdin>:1: nested deeper than 200 levels" in run(deep + good, *words, code=1)[1]
    skipped = run(deep + good, *words, "--on-error", "skip", code=3)[0]
    assert len(skipped) == len(run(good, *words)[0])
    run(deep + good, *words, "--on-error", "quarantine=bad.jsonl", code=3)
    assert b"nested deeper" in (tmp_path / "bad.jsonl").read_bytes()


def test_as_many_levels_are_read_as_can_be_written(run):
    deep = b'{"turns":["a","b"],"x":%b}\n'
    record = deep % (b"[" * 249 + b"]" * 249)
    for kind in ("dialogue", "utterance"):
        words = ["dial-pairs", "--kind", kind, "--bounds", "nesting=250"]
        assert str(run(record, *words)[0]).count("[[") == 124 * (1 + (kind == "utterance"))
    said = run(deep % (b"[" * 250 + b"]" * 250), *words, code=1)[1]
    assert "nested deeper than 250 levels" in said
    assert "allows more" not in said
    assert "expected 250 or less" in run(b"", "dial-pairs", "--bounds", "nesting=251", code=2)[1]


def test_many_levels_beside_one_another_are_no_depth(run):
    record = b'{"turns":["a","b"],"x":[%b[]]}\n' % (b"[{}]," * 10_000)
    assert run(record, "dial-pairs")[0]


@pytest.mark.parametrize("depth", [199, 600])
def test_a_bad_record_that_nests_is_put_aside(run, tmp_path: Path, depth: int):
    deep = b'{"turns":[1],"x":%b}\n' % (b"[" * depth + b"]" * depth)
    for words in (["dial-pairs"], ["dial-freq"]):
        said = run(deep, *words, "--on-error", "quarantine=bad.jsonl", "--overwrite", code=3)[1]
        assert "1 bad record skipped" in said
        assert json.loads((tmp_path / "bad.jsonl").read_bytes())["raw"].count("[") == depth + 1


def test_counts_of_several_texts_are_no_frequencies(run):
    lines = b'{"text":["x","y"],"count":5}\n{"text":[],"count":7}\n'
    assert "<stdin>:1: text: expected a string" in run(lines, "dial-freq", "--merge", code=1)[1]
    records, said = run(
        lines + b'{"text":"z","count":2}\n', "dial-freq", "--merge", "--on-error", "skip", code=3
    )
    assert [(record["text"], record["count"]) for record in records] == [("z", 2)]
    assert "2 bad records skipped" in said


def test_carriage_returns_between_tokens_are_blanks(run):
    lines = b'{"text":"a",\r"x":1}\n{"text":"b"}\n'
    for words in (["-n", "1"], []):
        records, _ = run(lines, "dial-freq", "--annotate", *words)
        assert records[0]["x"] == 1
        assert "weight" in records[0]
