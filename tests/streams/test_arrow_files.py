"""What is called .arrow or .feather is an Arrow file; .arrows and pipes are streams; both read."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from at_work import ended
from pyarrow import feather

TALK = '{"id": "d1", "turns": [{"text": "hello", "speaker": "user"}, "hi", "where to?"]}\n'
FILE, STREAM = b"ARROW1", b"\xff\xff\xff\xff"


@pytest.fixture
def run(scripts: Path, tmp_path: Path):
    (tmp_path / "chats.jsonl").write_text(TALK * 3)

    def command(line: str, stdin: bytes = b"", code: int = 0) -> subprocess.CompletedProcess:
        name, *words = line.split()
        words = [scripts / name, "-q", *words]
        return ended(*words, code=code, input=stdin, cwd=tmp_path)

    return command


@pytest.mark.parametrize(
    ("name", "magic"),
    [
        ("x.arrow", FILE),
        ("x.feather", FILE),
        ("x.arrow.zst", b"\x28\xb5\x2f\xfd"),
        ("x.arrows", STREAM),
        ("-", STREAM),
    ],
)
def test_the_name_tells_file_or_stream_and_every_command_reads_both(
    run, tmp_path: Path, name: str, magic: bytes
):
    written = run(f"dial-pairs --to arrow chats.jsonl -o {name}").stdout
    data = written if name == "-" else (tmp_path / name).read_bytes()
    assert data.startswith(magic)
    expected = run("dial-pairs chats.jsonl").stdout
    count = run("dial-freq", stdin=expected).stdout
    assert run("dial-freq", stdin=data).stdout == count, "from a pipe, whatever it is"
    for disguise in ("y.arrow", "y.arrows", "y.feather", "y"):
        (tmp_path / disguise).write_bytes(data)
        assert run(f"dial-freq {disguise}").stdout == count, "by its content, not its name"


def test_other_libraries_read_a_file_and_its_columns_are_plain(run, tmp_path: Path):
    run("dial-pairs chats.jsonl -o pairs.feather")
    table = feather.read_table(tmp_path / "pairs.feather")
    assert table["context"].type == pa.list_(pa.string()) and table["kind"].type == pa.string()
    assert table["response"].to_pylist() == ["hi", "where to?"] * 3
    assert b"dialtools" in table.schema.metadata, "and tells what made it"
    run("dial-freq pairs.feather -o freq.arrow")
    with pa.memory_map(str(tmp_path / "freq.arrow")) as file:
        assert pa.ipc.open_file(file).read_all()["text"].to_pylist() == ["hi", "where to?"]


def test_a_file_without_rows_is_a_file(run, tmp_path: Path):
    (tmp_path / "chats.jsonl").write_text('{"turns": ["alone"]}\n')
    run("dial-pairs chats.jsonl -o none.arrow")
    assert feather.read_table(tmp_path / "none.arrow").num_rows == 0
    assert run("dial-freq none.arrow").stdout == b""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_that_was_cut_is_told(run, tmp_path: Path, pack):
    run("dial-pairs chats.jsonl -o x.arrow")
    whole = (tmp_path / "x.arrow").read_bytes()
    (tmp_path / "cut.arrow").write_bytes(pack(whole[:-20]))
    assert b"cut.arrow: damaged arrow" in run("dial-freq cut.arrow", code=1).stderr
