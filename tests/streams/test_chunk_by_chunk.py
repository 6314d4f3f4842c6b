"""Where chunks end, what they hold, and what is told of lines that are no records: by hand."""

from __future__ import annotations

import gzip
import io
import pickle
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import DataError
from dialtools.streams import bounds
from dialtools.streams.chunks import (
    Chunk,
    _blank_line,
    _is_json,
    _line_end,
    chunks_of,
    decode,
    read_chunks,
    records,
)
from dialtools.streams.failure import failure_record
from dialtools.streams.hints import JSON_AS_TEXT, TO_UTF8, WHOLE_DOCUMENT, why_not_json
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.shards import Span


class Pipe(io.RawIOBase):
    """Has what it is given, one piece at a time; more than one read is never answered at once."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        piece = self.pieces.pop(0) if self.pieces else b""
        target[: len(piece)] = piece
        return len(piece)


def of_pipe(*pieces: bytes) -> io.BufferedReader:
    return io.BufferedReader(Pipe(*pieces))


def cut(chunks: Iterator[Chunk]) -> list[tuple[int, bytes]]:
    return [(chunk.first, chunk.data) for chunk in chunks]


@pytest.mark.parametrize("kind", ["jsonl", "text"])
def test_a_pipe_is_read_until_a_chunk_is_full_or_handed_on_as_it_comes(kind: str):
    pieces = (b'{"n":1}\n', b'{"n":2}\n{"n"', b":3}\n", b'{"n":4}')
    whole = b"".join(pieces)
    assert cut(chunks_of(of_pipe(*pieces), "x", kind)) == [(1, whole[:-7]), (4, whole[-7:])]
    assert cut(chunks_of(of_pipe(*pieces), "x", kind, prompt=True)) == [
        *((1, b'{"n":1}\n'), (2, b'{"n":2}\n'), (3, b'{"n":3}\n'), (4, b'{"n":4}')),
    ]
    assert cut(chunks_of(of_pipe(whole), "x", kind, chunk_bytes=17)) == [
        *((1, whole[:16]), (3, whole[16:24]), (4, whole[24:])),
    ]


def test_an_array_in_a_pipe_is_handed_on_as_it_comes_too():
    pieces = (b'[{"n":1},', b'{"n":2},{"n":', b"3}]")
    for prompt, firsts in ((False, [1]), (True, [1, 2, 3])):
        chunks = list(chunks_of(of_pipe(*pieces), "x", "jsonl", prompt=prompt))
        assert [chunk.first for chunk in chunks] == firsts and all(chunk.json for chunk in chunks)
        found = [record for chunk in chunks for record in records(chunk, Policy())]
        assert found == [(1, {"n": 1}), (2, {"n": 2}), (3, {"n": 3})]


def test_dialogues_of_plain_text_are_cut_in_two_only_where_that_is_allowed(tmp_path: Path):
    path = str(tmp_path / "x.txt")
    Path(path).write_bytes(b"a\nb\n\nc\nd\n")
    assert cut(read_chunks([path], chunk_bytes=5)) == [(1, b"a\nb\n\n"), (4, b"c\nd\n")]
    assert cut(read_chunks([path], chunk_bytes=2)) == [(1, b"a\nb\n\n"), (4, b"c\nd\n")]
    lines = [(1, b"a\n"), (2, b"b\n"), (3, b"\n"), (4, b"c\n"), (5, b"d\n")]
    assert cut(read_chunks([path], chunk_bytes=2, whole_dialogues=False)) == lines
    with Path(path).open("rb") as stream:
        assert cut(chunks_of(stream, path, "text", chunk_bytes=2)) == lines


def test_borders_are_found_from_a_place_on():
    assert _line_end(bytearray(b"a\nb\nc"), 0) == 4 and _line_end(bytearray(b"a\nb"), 2) == 0
    for data, start, end in (
        *((b"a\n\nb", 0, 3), (b"a\n\nb\n\nc", 0, 6), (b"a\n\nb", 2, 0), (b"\n\n", 0, 2)),
        *((b"a\n\r\nb", 0, 4), (b"a\n\nb\n\r\nc", 0, 7), (b"a\n\r\nb\n\nc", 0, 7)),
        *((b"\n\r\n", 0, 3), (b"a\nb\n", 0, 0), (b"", 0, 0)),
    ):
        assert _blank_line(bytearray(data), start) == end


def test_a_line_may_be_as_long_as_the_bound_and_no_longer(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(bounds._chosen, "line", 8)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{}\n{"n":12}\n{}')
    assert len(cut(read_chunks([str(path)], chunk_bytes=4))) == 3
    path.write_bytes(b'{}\n{"n":123456}\n{}')
    with pytest.raises(DataError, match=r"x\.jsonl:2: a line is longer than 8"):
        cut(read_chunks([str(path)], chunk_bytes=4))
    text = tmp_path / "x.txt"
    text.write_bytes(b"a\n\nbb\ncc\ndd\nee\n")
    said = r"x\.txt:3: lines without a blank one between are longer than 8"
    with pytest.raises(DataError, match=said):
        cut(read_chunks([str(text)], chunk_bytes=3))
    assert cut(read_chunks([str(text)], chunk_bytes=3, whole_dialogues=False))


@pytest.mark.parametrize("block", [3, 4, 64])
@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_line_that_is_too_long_is_passed_over_and_counted_once_whoever_meets_it(
    tmp_path: Path, monkeypatch, name: str, parts: int, block: int
):
    monkeypatch.setitem(bounds._chosen, "line", 8)
    long = b'{"n":%s}\n' % (b"1" * 200)
    data = b'{"n":1}\n' + long + b'{"n":3}\n' + long + long + b'{"n":6}\n' + long[:-1]
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    policy = Collecting()
    read = partial(read_chunks, [str(path)], chunk_bytes=block, policy=policy)
    spans = [Span(part, part + 1, parts) for part in range(parts)] if parts > 1 else [None]
    chunks = [chunk for span in spans for chunk in read(span=span)]
    found = [record for chunk in chunks for record in records(chunk, Policy())]
    assert found == [(line, {"n": line}) for line in (1, 3, 6)]
    rejected = [(bad.where.line, bad.message) for bad in policy.rejected]
    assert rejected == [(line, "a line is longer than 8") for line in (2, 4, 5, 7)]
    with pytest.raises(DataError, match=f"{name}:2: a line is longer than 8"):
        list(read_chunks([str(path)], chunk_bytes=block))


def test_chunks_tell_what_they_hold_and_cross_to_a_process_whole():
    lines = Chunk("x", 3, "jsonl", b'{"a":1}\n', (3,))
    batch = pa.RecordBatch.from_pydict({"a": [1]})
    flags = {"arrow": (True, False, False), "text": (False, True, False), "rows": (False,) * 3}
    for kind, told in {**flags, "jsonl": (False, False, True)}.items():
        chunk = Chunk("x", 1, kind, batch)
        assert (chunk.columnar, chunk.plain, chunk.json) == told
    parts: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(lines, protocol=5, buffer_callback=parts.append)
    assert [bytes(part) for part in parts] == [lines.data] and lines.data not in rest
    assert pickle.loads(rest, buffers=[b"{}\n"]) == Chunk("x", 3, "jsonl", b"{}\n", (3,))
    assert pickle.loads(pickle.dumps(Chunk("x", 1, "arrow", batch))).data == batch


def test_records_that_were_decoded_have_the_numbers_of_their_lines():
    rows = [{"a": 1}, {"a": 2}]
    assert list(records(Chunk("x", 7, "rows", rows), Policy())) == [(7, rows[0]), (8, rows[1])]
    of_lines = Chunk("x", 7, "rows", rows, (7, 11))
    assert list(records(of_lines, Policy())) == [(7, rows[0]), (11, rows[1])]
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": [3, 4]})
    assert list(records(Chunk("x", 5, "arrow", batch), Policy(), ["b"])) == [
        (5, {"b": 3}),
        (6, {"b": 4}),
    ]


def test_empty_batches_are_no_chunks_and_count_for_nothing(tmp_path: Path):
    whole = pa.RecordBatch.from_pydict({"n": range(5)})
    with pa.ipc.new_stream(tmp_path / "x.arrows", whole.schema) as stream:
        for start, rows in ((0, 2), (2, 0), (2, 3)):
            stream.write_batch(whole.slice(start, rows))
    chunks = list(read_chunks([str(tmp_path / "x.arrows")]))
    assert [(chunk.first, len(chunk.data)) for chunk in chunks] == [(1, 2), (3, 3)]


def test_bytes_that_begin_like_a_record_are_told_from_text():
    for head, told in (
        *((b'{"a":1}\nand text', True), (b'\xef\xbb\xbf{"a":1}', True), (b'{"a":1', False)),
        *((b'{"a" is}\n', False), (b"{}\n", False), (b'["a"]\n', False), (b"", False)),
        *((b' {"a":1}\n', False), (b'"{"\n', False), (b'{"a":1}\n{', True)),
    ):
        assert _is_json(head) is told


def test_a_file_that_cannot_be_read_here_is_told_with_the_way_out(tmp_path: Path):
    for name, content, said, hint in (
        ("x.csv", b"a,b\n", "x.csv: cannot read csv here", "dial-pairs reads tables"),
        ("x.npy", b"", "x.npy: cannot read npy here", "vectors and no texts"),
        ("x.txt", b'{"a":1}\n', "x.txt: lines of JSON, not of text", JSON_AS_TEXT),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=said) as told:
            list(read_chunks([str(tmp_path / name)]))
        assert hint in str(told.value.hint)
    (tmp_path / "x.jsonl").write_bytes(b'{"a":1}\n')
    assert [c.format for c in read_chunks([str(tmp_path / "x.jsonl")], format="text")] == ["text"]
    assert [c.format for c in read_chunks([str(tmp_path / "x.txt")], format="jsonl")] == ["jsonl"]


def test_a_writer_that_failed_is_heard_in_records_and_not_in_text(tmp_path: Path):
    record = failure_record(DataError("it broke"))
    for name, heard in (("x.jsonl", True), ("y.txt", False)):
        (tmp_path / name).write_bytes(b"hi\n" * (not heard) + record)
        if heard:
            with pytest.raises(DataError):
                list(read_chunks([str(tmp_path / name)]))
        else:
            assert cut(read_chunks([str(tmp_path / name)])) == [(1, b"hi\n" + record)]


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.json", "x.parquet"])
def test_a_span_of_any_input_has_its_chunks_alone(tmp_path: Path, name: str):
    path = tmp_path / name
    if name == "x.parquet":
        pq.write_table(pa.table({"n": range(4)}), path, row_group_size=1)
    else:
        lines = b"".join(b'{"n":%d}\n' % n for n in range(4))
        array = b"[" + lines[:-1].replace(b"\n", b",") + b"]"
        data = {"x.jsonl.gz": gzip.compress(lines), "x.json": array}.get(name, lines)
        path.write_bytes(data)
    found: list[list[tuple[int, Any]]] = []
    for part in range(3):
        span = Span(part, part + 1, 3)
        chunks = list(read_chunks([str(path)], chunk_bytes=8, span=span))
        found.append([record for chunk in chunks for record in records(chunk, Policy())])
    whole = [record for part in found for record in part]
    assert whole == [(n + 1, {"n": n}) for n in range(4)]
    assert max(map(len, found)) <= (4 if name == "x.parquet" else 2)


def test_lines_that_are_no_records_are_told_each_with_its_reason():
    lines = [
        b'{"a":1}',
        b"",
        b" \t",
        b'{"a":\x00}',
        b'"\xff"',
        b"[1",
        b"[]",
        b"5",
        b'{"b":2}\r',
        b"{",
    ]
    policy = Collecting()
    chunk = Chunk("x", 5, "jsonl", b"\n".join(lines))
    assert list(records(chunk, policy)) == [(5, {"a": 1}), (13, {"b": 2})]
    told = [(bad.where.line, bad.message.partition(":")[0], bad.raw) for bad in policy.rejected]
    assert told == [
        *((8, "NUL at byte 6", lines[3]), (9, "invalid UTF-8 at byte 2", lines[4])),
        *((10, "not JSON", lines[5]), (11, "expected a JSON object", lines[6])),
        *((12, "expected a JSON object", lines[7]), (14, "not JSON", lines[9])),
    ]
    hints = {bad.where.line: bad.hint for bad in policy.rejected}
    assert hints == {**dict.fromkeys(hints), 9: TO_UTF8}
    assert {bad.where.name for bad in policy.rejected} == {"x"}


@pytest.mark.parametrize("line", [b"{ ", b'{"a": [', b'{"a": 1,', b"["])
def test_a_first_line_that_opens_a_document_has_a_hint(line: bytes):
    for first, hint in ((1, WHOLE_DOCUMENT), (2, None)):
        policy = Collecting()
        assert not list(records(Chunk("x", first, "jsonl", line), policy))
        assert [bad.hint for bad in policy.rejected] == [hint]


def test_what_broken_json_says_has_no_place_in_a_file_of_its_own():
    assert why_not_json(b"{", ValueError("odd: line 1 column 2 (char 1)")) == "not JSON: odd"
    assert why_not_json(b"\0", ValueError()) == "NUL at byte 1"
    assert why_not_json(b"ab\xc3", ValueError()) == "invalid UTF-8 at byte 3"


def nested(levels: int, then: str = "") -> bytes:
    """A record of so many levels, itself the first."""
    inner = levels - 1
    return (f'{{"a":{"[" * inner}{"]" * inner or 0}{then}}}').encode()


def test_a_record_may_nest_as_deep_as_the_bound_and_no_deeper(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(bounds._chosen, "nesting", 3)
    flat = b'{"a":[1],"b":[2],"c":[3],"d":{"e":4}}'
    lines = [nested(3), nested(4), nested(2), flat, nested(3, ',"b":{}'), nested(5)]
    policy = Collecting()
    chunk = Chunk("x", 1, "jsonl", b"\n".join(lines))
    assert [number for number, _ in records(chunk, policy)] == [1, 3, 4, 5]
    assert [(bad.where.line, bad.raw) for bad in policy.rejected] == [(2, lines[1]), (6, lines[5])]
    assert {bad.message for bad in policy.rejected} == {"nested deeper than 3 levels"}


def test_blank_lines_of_plain_text_are_counted_but_for_what_ends_the_last_line():
    policy = Collecting()
    for data in (b"a\n\n \r\nb\n", b"c", b"\xff\n\n"):
        list(records(Chunk("x", 1, "text", data), policy))
    assert (policy.blank, len(policy.rejected)) == (3, 1)


def test_text_is_stripped_of_what_is_asked_for():
    policy, at = Collecting(), Where("x", 1)
    assert decode(b"\t a \r", at, policy) == "a" and decode(b"\t a \r", at, policy, "\r") == "\t a "
    assert decode(b"\r", at, policy, "\r") == "" and not policy.rejected


def test_stdin_is_read_where_no_file_is_named(monkeypatch: pytest.MonkeyPatch):
    for paths in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(of_pipe(b'{"a":1}\n')))
        (chunk,) = read_chunks(paths)
        assert (chunk.name, chunk.first, chunk.format) == ("<stdin>", 1, "jsonl")
    for read, number in ((read_chunks, 1), (partial(read_chunks, prompt=True), 2)):
        stdin = of_pipe(b'{"a":1}\n', b'{"a":2}\n')
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        assert len(list(read([]))) == number
