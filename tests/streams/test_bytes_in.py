"""Bytes of any input: packed or not, whole or cut, from files and pipes, under any name."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dialtools.errors import DataError
from dialtools.streams import bytesio
from dialtools.streams.bytesio import (
    BOM,
    FOLDERS,
    REMOTE,
    _damage,
    _File,
    display_name,
    open_input,
    opened,
    own_name,
)


class Drip(io.RawIOBase):
    """A raw stream that gives some bytes at a time and cannot be peeked at."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step = io.BytesIO(data), step

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        block = self.data.read(min(self.step, len(target)))
        target[: len(block)] = block
        return len(block)


def all_of(raw: Any) -> bytes:
    with opened(raw, "x") as stream:
        return stream.read()


SKIPPED = b"\x5f\x2a\x4d\x18\x05\0\0\0abcde"
"""A frame without data."""
PACKED = {
    "plain": b"abcdefgh",
    "short": b"ab",
    "empty": b"",
    "gzip": gzip.compress(b"abcdefgh", mtime=0),
    "gzips": gzip.compress(b"abc", mtime=0)
    + gzip.compress(b"", mtime=0)
    + gzip.compress(b"defgh", mtime=0),
    "zstd": zstandard.compress(b"abcdefgh"),
    "zstds": zstandard.compress(b"abc") + zstandard.compress(b"") + zstandard.compress(b"defgh"),
    "pzstd": SKIPPED
    + zstandard.compress(b"abc")
    + SKIPPED
    + zstandard.compress(b"defgh")
    + SKIPPED,
    "nearly zstd": b"\x28\xb5\x2f\xfc",
    "nearly gzip": b"\x1f\x8c\0\0",
    "mark": BOM + b"abcdefgh",
    "mark alone": BOM,
    "part of a mark": BOM[:2],
    "mark, packed": gzip.compress(BOM + b"abc", mtime=0),
}
HELD = {
    **dict.fromkeys(("gzip", "gzips", "zstd", "zstds", "pzstd", "mark"), b"abcdefgh"),
    **{"mark alone": b"", "mark, packed": b"abc"},
}


@pytest.mark.parametrize("name", PACKED)
def test_what_begins_like_something_packed_is_unpacked_and_its_mark_goes(name: str):
    data = PACKED[name]
    held = HELD.get(name, data)
    assert all_of(io.BufferedReader(Drip(data, 1000))) == held
    assert all_of(Drip(data, 1000)) == held
    if data[:2] not in (b"\x1f\x8b", b"\x28\xb5", SKIPPED[:2]):
        return
    for step in (4, 5, len(data)):
        assert all_of(io.BufferedReader(Drip(data, step))) == held


def test_what_is_unpacked_is_handed_on_in_pieces_of_any_size():
    large = os.urandom(3000) * 400
    for pack in (gzip.compress, zstandard.compress):
        with opened(io.BytesIO(pack(large)), "x") as stream:
            assert stream.read(10) + stream.read1(7) == large[:17]
            assert stream.read(1 << 20) == large[17 : 17 + (1 << 20)]
            assert stream.read() == large[17 + (1 << 20) :] and stream.read() == b""


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "gzip"), (zstandard.compress, "zstd")])
def test_what_is_cut_or_damaged_is_told_by_its_kind(pack: Any, kind: str):
    data = pack(os.urandom(1000))
    for cut in (data[:-1], data[: len(data) // 2], pack(b"a") + data[:20]):
        with pytest.raises(DataError) as told:
            all_of(io.BytesIO(cut))
        assert str(told.value) == f"x: truncated {kind}: the file ends inside compressed data"
    wrong = data[:12] + bytes(byte ^ 255 for byte in data[12:60]) + data[60:]
    with pytest.raises(DataError, match=f"x: damaged {kind}: "):
        all_of(io.BytesIO(pack(b"a") + (data[:6] + b"\xff" * 30 if kind == "zstd" else wrong)))
    for error in (ValueError("a"), KeyboardInterrupt()):
        with pytest.raises(type(error)), _damage("x"):
            raise error


def test_a_window_that_zstd_opens_on_demand_alone_is_no_damage():
    wide = zstandard.ZstdCompressionParameters(window_log=28)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()  # knows no size
    with pytest.raises(DataError, match=r"^x: zstd with a window of more than 128 MB$") as told:
        all_of(io.BytesIO(packer.compress(b"abc") + packer.flush()))
    assert "zstd -dc --long=31" in str(told.value.hint)


def test_a_file_that_cannot_be_opened_is_told_with_its_name(tmp_path: Path):
    with pytest.raises(DataError) as told, open_input(str(tmp_path / "none")):
        pass
    assert str(told.value) == f"{tmp_path}/none: no such file or directory"
    assert told.value.hint is None
    with pytest.raises(DataError, match="is a directory") as told, open_input(str(tmp_path)):
        pass
    assert told.value.hint == FOLDERS
    named = _File(os.devnull, "x")
    with pytest.raises(DataError, match="x: odd"), named, named._naming():
        raise OSError("Odd")


def test_an_empty_file_is_an_input_and_an_empty_pipe_is_none(tmp_path: Path, monkeypatch):
    before = bytesio.open_file
    (tmp_path / "empty").touch()
    with open_input(str(tmp_path / "empty")) as stream:
        assert stream.read() == b""
    os.mkfifo(tmp_path / "pipe")
    for data in (b"", b"abc"):
        both = os.open(tmp_path / "pipe", os.O_RDWR)
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        os.write(both, data)
        closing = os.dup(both)
        os.close(both)

        def late(path: str, _closing: int = closing) -> io.BufferedReader:
            file = before(path)
            os.close(_closing)
            return file

        with monkeypatch.context() as patch:
            patch.setattr(bytesio, "open_file", late)
            if data:
                with open_input(str(tmp_path / "pipe")) as stream:
                    assert stream.read() == data
            else:
                with pytest.raises(DataError, match="pipe: no input") as told:
                    open_input(str(tmp_path / "pipe")).__enter__()
                assert "the command before it" in str(told.value.hint)
        os.close(reader)


@pytest.mark.parametrize("regular", [True, False])
def test_an_empty_stdin_is_an_input_if_it_is_a_file(tmp_path: Path, regular: bool, monkeypatch):
    (tmp_path / "empty").touch()
    reading, writing = os.pipe()
    os.close(writing)
    source = os.open(tmp_path / "empty", os.O_RDONLY) if regular else reading
    before = os.dup(0)
    os.dup2(source, 0)
    monkeypatch.setattr(sys, "stdin", os.fdopen(os.dup(0)))
    try:
        if regular:
            with open_input("-") as stream:
                assert stream.read() == b""
        else:
            with pytest.raises(DataError, match="<stdin>: no input"), open_input("-"):
                pass
    finally:
        os.dup2(before, 0)
        sys.stdin.close()
        for descriptor in {before, reading, source}:
            os.close(descriptor)


def test_names_are_told_as_text_and_copies_by_what_they_are_copies_of():
    assert (display_name("-"), display_name("a/-"), display_name("é")) == ("<stdin>", "a/-", "é")
    assert own_name("a\udcffb") == "a\\xffb"
    home = f"/tmp/dialtools-1-x/{REMOTE}"
    for path, told in (
        (f"{home}/s3:/bucket/a:/b", "s3://bucket/a:/b"),
        (f"{home}/file:/_/tmp/a", "file:///tmp/a"),
        (f"{home}/file:/host/_/a", "file://host/_/a"),
        (f"{home}", home),
        (f"{home}/", f"{home}/"),
        (f"x{REMOTE}/s3:/a", f"x{REMOTE}/s3:/a"),
    ):
        assert own_name(path) == told


def test_little_that_unpacks_to_much_is_held_a_part_at_a_time():
    packed = zstandard.compress(b"\n" * (256 << 20))
    tracemalloc.start()
    with opened(io.BytesIO(packed), "x") as stream:
        size = sum(len(block) for block in iter(lambda: stream.read(1 << 20), b""))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 256 << 20 and most < 128 << 20
