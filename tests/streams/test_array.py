"""A JSON array of records reads like its records as lines."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import pytest
from at_work import ended
from hypothesis import given
from hypothesis import strategies as st

from dialtools.errors import DataError
from dialtools.streams import bounds
from dialtools.streams.array import array_lines
from dialtools.streams.chunks import read_chunks, read_records
from dialtools.streams.policy import Policy, Where

ODD = st.text('ab"\\{}[],\n é')
VALUES = st.recursive(
    ODD | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
)


def cut(data: bytes, block: int) -> list[tuple[int, bytes]]:
    stream = io.BytesIO(data)
    return list(array_lines(lambda: stream.read(block), "x.json"))


@given(
    st.lists(st.lists(VALUES, max_size=5), min_size=1, max_size=3),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
    st.integers(1, 30),
)
def test_whatever_its_layout_and_wherever_blocks_end_records_are_cut_apart(
    arrays, indent, ascii_only, block
):
    texts = [json.dumps(array, indent=indent, ensure_ascii=ascii_only) for array in arrays]
    found = []
    for first, blob in cut("\n".join(texts).encode(), block):
        assert first == len(found) + 1  # and so on: there is no blank line
        found += [json.loads(line) for line in blob.removesuffix(b"\n").split(b"\n")]
    assert found == [record for array in arrays for record in array]


@pytest.mark.parametrize("block", [1, 2, 1000])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"a": 1},, {}]', "x.json:2: not JSON: a record is missing"),
        ("[{}, {},]", "x.json:3: not JSON: a record is missing"),
        ("[,{}]", "x.json:1: not JSON: a record is missing"),
        ("[{}] {}", "x.json:2: not JSON: what stands outside of the array"),
        ("[{}] and more", "x.json:2: not JSON: what stands outside of the array"),
        ("[{}]]", "x.json:2: not JSON: what stands outside of the array"),
        ('[{}, {"a": "b]', "x.json:2: the array of records has no end"),
        ("[{}, [{}]", "x.json:2: the array of records has no end"),
    ],
)
def test_what_is_no_array_is_told_with_the_number_of_the_record(text: str, told: str, block: int):
    with pytest.raises(DataError) as error:
        cut(text.encode(), block)
    assert str(error.value) == told


def test_a_record_that_is_no_json_is_that_record_alone(tmp_path: Path):
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"a": 1},\n {"b": nul},\n {"c": "two\nlines"}, {"d": }, 5,\n {"e": 1}]')
    policy = Policy("skip")
    read = list(read_records([str(path)], policy=policy))
    assert read == [(Where(str(path), 1), {"a": 1}), (Where(str(path), 6), {"e": 1})]
    assert policy.skipped == 4


def test_an_array_is_held_a_block_at_a_time_and_a_record_is_bounded(tmp_path: Path, monkeypatch):
    path = tmp_path / "x.json"
    record = json.dumps({"turns": ["hello"] * 50}, indent=1)
    path.write_text(f"[{', '.join([record] * 20_000)}]")
    tracemalloc.start()
    chunks = read_chunks([str(path)], chunk_bytes=1 << 17)
    assert sum(chunk.data.count(b"\n") for chunk in chunks) == 20_000
    assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 2
    tracemalloc.stop()
    monkeypatch.setitem(bounds._chosen, "line", 100)
    with pytest.raises(DataError, match="a record is longer than 100"):
        list(read_chunks([str(path)], chunk_bytes=64))


def test_a_record_may_be_as_long_as_the_bound_with_the_bracket_before_it(monkeypatch):
    text = b'[{"a":12},{"b":12345}]'
    monkeypatch.setitem(bounds._chosen, "line", 11)
    assert cut(text, 4) == [(1, b' {"a":12}\n{'[:-1]), (2, b'{"b":12345}\n')]
    for most, record in ((10, 2), (7, 1)):
        monkeypatch.setitem(bounds._chosen, "line", most)
        with pytest.raises(DataError, match=rf"x.json:{record}: a record is longer than {most}"):
            cut(text, 4 if record == 1 else 1)


def test_every_command_reads_arrays_from_files_pipes_and_in_parts(scripts: Path, tmp_path: Path):
    records = [{"id": f"d{n}", "turns": [f"hello {n}", "hi", f"bye {n}"]} for n in range(400)]
    lines, array = tmp_path / "x.jsonl", tmp_path / "x.json"
    lines.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    array.write_text(json.dumps(records, indent=2))

    def out(*words: object, stdin: Path | None = None) -> bytes:
        data = stdin.read_bytes() if stdin else None
        command, *rest = map(str, words)
        done = ended(scripts / command, "-q", *rest, input=data)
        return done.stdout

    for command in ("dial-pairs", "dial-freq", "dial-augment --no-fill"):
        words = command.split()
        assert out(*words, array) == out(*words, stdin=array) == out(*words, lines)
    parts = [tmp_path / f"{n}.jsonl" for n in (1, 2, 3)]
    for n, part in enumerate(parts, 1):
        out("dial-pairs", "--shard", f"{n}/3", array, "-o", part)
    assert b"".join(part.read_bytes() for part in parts) == out("dial-pairs", lines)
