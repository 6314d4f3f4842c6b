"""Pipes: what has come is handed on, much of it at once where much comes."""

import fcntl
import io
import os
import subprocess
import threading
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from dialtools.streams.pipes import WIDE, arrived, widen


@pytest.fixture
def pipe():
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader:
        yield reader, write


def test_small_writes_that_follow_one_another_come_as_one_block(pipe):
    reader, write = pipe
    text = b"".join(b"line %d\n" % n for n in range(100_000))

    def feed():
        for start in range(0, len(text), 4096):
            os.write(write, text[start : start + 4096])
        os.close(write)

    thread = threading.Thread(target=feed)
    thread.start()
    blocks = list(iter(lambda: arrived(reader, 1 << 19), b""))
    thread.join()
    assert b"".join(blocks) == text
    assert max(map(len, blocks)) <= 1 << 19 and len(blocks) <= 8  # 270 of single reads


def test_what_came_is_handed_on_while_the_writer_pauses(pipe):
    reader, write = pipe
    os.write(write, b"one\n")
    start = time.monotonic()
    assert arrived(reader, 1 << 20) == b"one\n"
    assert time.monotonic() - start < 1  # and no end of the stream is waited for
    os.write(write, b"two\nthree\n")
    assert arrived(reader, 4) == b"two\n"
    os.close(write)
    assert arrived(reader, 1 << 20) == b"three\n"
    assert arrived(reader, 1 << 20) == b""


@pytest.mark.parametrize("jobs", [1, 2])
def test_pairs_of_what_came_are_written_while_the_writer_pauses(jobs: int, scripts: Path):
    command = [scripts / "dial-pairs", "-q", "-j", str(jobs)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE) as pairs:
        assert pairs.stdin and pairs.stdout
        waited = threading.Timer(60, pairs.kill)
        waited.start()
        for text in (b"one", b"two"):
            pairs.stdin.write(b'{"turns":["%s","yes"]}\n' % text)
            pairs.stdin.flush()
            assert text in pairs.stdout.readline()
        waited.cancel()
        pairs.stdin.close()
        assert pairs.stdout.read() == b""


def test_of_what_has_no_descriptor_one_read_is_all():
    class Raw(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, target) -> int:
            target[:3] = b"abc"
            return 3

    assert arrived(io.BufferedReader(Raw()), 1 << 20) == b"abc"


@pytest.mark.skipif(not hasattr(fcntl, "F_GETPIPE_SZ"), reason="Linux alone sizes pipes")
def test_a_pipe_is_widened_and_anything_else_left_alone(pipe, tmp_path: Path, scripts: Path):
    reader, write = pipe
    widen(write)
    assert fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ) == WIDE
    with (tmp_path / "file").open("wb") as file:
        widen(file.fileno())

    ours, theirs = os.pipe()
    subprocess.run(
        [scripts / "dial-freq", "-q"], input=b'{"text":"a"}\n', stdout=theirs, check=True
    )
    assert fcntl.fcntl(ours, fcntl.F_GETPIPE_SZ) == WIDE
    os.close(ours), os.close(theirs)
    os.close(write)
