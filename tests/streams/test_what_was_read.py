"""Streams and records are known by their content, as far as they were read."""

from __future__ import annotations

import io
import sys
from hashlib import sha256
from typing import Any

import orjson
import pytest

from dialtools.streams import digests
from dialtools.streams.digests import RecordDigest, StreamDigest, hashed_stdin, stdin_is


def known(data: bytes) -> str:
    return sha256(data).hexdigest()


class Trickle(io.RawIOBase):
    """A pipe that has three bytes at a time; it notes how many are asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = io.BytesIO(data)
        self.asked: list[int] = []

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        self.asked.append(len(target))
        block = self.data.read(min(3, len(target)))
        target[: len(block)] = block
        return len(block)


def as_stdin(data: bytes, monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    stdin = io.TextIOWrapper(io.BufferedReader(Trickle(data)))
    monkeypatch.setattr(sys, "stdin", stdin)
    return stdin


def test_a_stream_is_hashed_as_far_as_it_was_read(monkeypatch: pytest.MonkeyPatch):
    before = as_stdin(b"abcdefgh", monkeypatch)
    with hashed_stdin() as seen:
        assert sys.stdin is not before and seen.readable()
        assert seen.content() == {"bytes": 0, "sha256": known(b""), "ended": False}
        stdin: Any = sys.stdin.buffer
        assert stdin.read1(2) == b"ab"
        assert seen.content() == {"bytes": 2, "sha256": known(b"ab"), "ended": False}
        assert sys.stdin.buffer.read(6) == b"cdefgh"
        assert seen.content()["ended"] is False, "whether more follows is not known"
        assert sys.stdin.buffer.read() == b""
        assert seen.content() == {"bytes": 8, "sha256": known(b"abcdefgh")}
    assert sys.stdin is before
    with pytest.raises(ZeroDivisionError), hashed_stdin():
        raise ZeroDivisionError
    assert sys.stdin is before


def test_what_has_no_buffer_is_hashed_too():
    raw: Any = Trickle(b"abcd")
    seen = StreamDigest(raw)
    target = bytearray(b"......")
    assert seen.readinto(target) == 3 and target == b"abc..."
    assert seen.readinto(target) == 1 and target == b"dbc..."
    assert seen.readinto(target) == 0 and seen.content() == {"bytes": 4, "sha256": known(b"abcd")}


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        (b"abcdefg", b"abcdefg", "always"),
        (b"abcdefg", b"abcdefgh", "if more may follow"),
        (b"abcdefg", b"abcdef", "never"),
        (b"abcdefg", b"abcdefh", "never"),
        (b"abcdefg", b"xbcdefg", "never"),
        (b"abcdefg", b"", "always"),  # not given again
        (b"", b"a", "if more may follow"),
    ],
)
def test_stdin_is_compared_as_far_as_it_was_read(before, now, same, ended, monkeypatch):
    monkeypatch.setattr(digests, "BLOCK", 2)
    as_stdin(now, monkeypatch)
    content = {"bytes": len(before), "sha256": known(before)} | ({} if ended else {"ended": False})
    assert stdin_is(content) is (same == "always" or (same != "never" and not ended))


def test_a_stream_that_cannot_be_peeked_at_is_read(monkeypatch: pytest.MonkeyPatch):
    for data, same in ((b"abc", True), (b"", False)):
        stdin: Any = type("Stdin", (), {"buffer": io.BytesIO(data)})
        monkeypatch.setattr(sys, "stdin", stdin)
        assert stdin_is({"bytes": 3, "sha256": known(b"abc")}) is same


@pytest.mark.parametrize("records", [0, 1, 2, 3, 4, 7])
def test_records_are_hashed_in_their_order_however_many_at_once(records: int, monkeypatch):
    monkeypatch.setattr(digests, "AT_ONCE", 3)
    rows = [(f"x:{n}", {"n": n, "text": "é"}) for n in range(records)]
    seen = RecordDigest()
    for n, row in enumerate(seen(rows), 1):
        assert row == rows[n - 1] and len(seen._passed) == n % 3
        if n == 2:
            expected = b"".join(orjson.dumps(record) + b"," for _, record in rows[:2])
            assert seen.so_far() == known(expected)
            break
    again = RecordDigest()
    assert list(again(rows)) == rows
    whole = known(b"".join(orjson.dumps(record) + b"," for _, record in rows))
    assert again.so_far() == whole == again.so_far()


def test_what_json_has_no_kind_for_is_hashed_by_its_text():
    seen, same = RecordDigest(), RecordDigest()
    list(seen([(1, {"a": 1j})]))
    list(same([(1, {"a": "1j"})]))
    assert seen.so_far() == same.so_far()
