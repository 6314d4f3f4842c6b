"""A disk that is full is told as one, with the name of what was being written."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from at_work import ended
from safetensors import SafetensorError

from dialtools.embed import run
from dialtools.errors import OutputError
from dialtools.streams.full import naming

TALK = b'{"id":"%d","turns":["how do you do %d","quite well %d","and you"]}\n'


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"".join(TALK % (i, i, i) for i in range(20_000)))
    return path


@pytest.mark.parametrize("to", ["jsonl", "arrow", "parquet"])
@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq"])
def test_a_stdout_without_room_is_named(scripts, talk, command, to):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [scripts / command, "-q", "--to", to, talk], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr.decode() == f"{command}: stdout: No space left on device\n"
    named = [scripts / command, "-q", "--to", to, talk, "-o", "/dev/full"]
    done = subprocess.run(named, capture_output=True, text=True)
    told = f"{command}: /dev/full: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.zst", "out.arrow", "out.parquet"])
def test_a_file_that_grows_too_large_is_named_and_goes(installed, talk, tmp_path, name):
    line = f"ulimit -f 32; {installed}/dial-pairs -q talk.jsonl -o {name}"
    done = ended("bash", "-c", line, code=1, cwd=tmp_path)
    assert done.stderr.decode() == f"dial-pairs: {name}: File too large\n"
    assert list(tmp_path.iterdir()) == [talk]


def test_a_temporary_file_without_room_is_not_called_as_the_output(installed, tmp_path):
    rows = (f"{i % 20_000},how do you do number {i * 7919}\n" for i in range(60_000))
    (tmp_path / "log.csv").write_text("dialogue_id,text\n" + "".join(rows))
    line = f"ulimit -f 1500; TMPDIR=$PWD {installed}/dial-pairs -q --unsorted -n 1 log.csv -o one"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    told, hint = done.stderr.splitlines()
    assert (done.returncode, told) == (1, f"dial-pairs: {tmp_path}: File too large")
    assert "TMPDIR=FOLDER puts them on another disk" in hint
    assert [*tmp_path.iterdir()] == [tmp_path / "log.csv"]


@pytest.mark.parametrize(
    ("line", "side", "main"),
    [
        (
            "dialtools cluster --clusters 2 --save-summary side.csv e.jsonl -o main.jsonl",
            "side",
            "main.jsonl",
        ),
        ("dial-pairs --on-error quarantine=side bad.jsonl -o main.jsonl", "side", "main.jsonl"),
        (
            "dial-pairs --split a=0.001,b=0.999 talk.jsonl -o {split}.parquet",
            "a.parquet",
            "b.parquet",
        ),
    ],
)
def test_a_main_output_without_room_leaves_what_is_written_beside_it_as_it_was(
    installed, talk, tmp_path, line, side, main
):
    rows = (f'{{"id":"some name or other","embedding":[{n % 9},1]}}\n' for n in range(1000))
    (tmp_path / "e.jsonl").write_text("".join(rows))
    (tmp_path / "bad.jsonl").write_bytes(b"oops\n" + talk.read_bytes())
    before = sorted([*tmp_path.iterdir(), tmp_path / side, tmp_path / main])
    for name in (side, main):
        (tmp_path / name).write_text("old")
    line = f"ulimit -f 16; {installed}/{line} -q --overwrite"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr[-20:]) == (1, f"{main}: File too large\n"[-20:])
    assert [(tmp_path / name).read_text() for name in (side, main)] == ["old", "old"]
    assert sorted(tmp_path.iterdir()) == before


def test_what_a_library_says_of_a_full_disk_is_told_as_one():
    said = "Error while serializing: I/O error: No space left on device (os error 28)"
    with pytest.raises(OutputError, match=r"^model: No space left on device$"), naming("model"):
        raise SafetensorError(said)
    with pytest.raises(OSError, match="not for us"), naming("model"):
        raise OSError(errno.EACCES, "not for us")


def test_a_part_that_the_disk_does_not_give_back_is_not_called_damaged(tmp_path, monkeypatch):
    def failing(path: str) -> None:
        raise OSError(errno.EIO, "odd", path)

    monkeypatch.setattr(pa, "OSFile", failing)
    with pytest.raises(OutputError) as told:
        run._read_part(tmp_path / "v.parquet.partial" / "part-000001.arrow")
    assert str(told.value) == f"{tmp_path}/v.parquet: Input/output error"
