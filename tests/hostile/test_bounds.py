"""What a stranger sends costs what the bounds allow, whatever it expands to."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from dialtools.errors import DataError
from dialtools.streams import bounds
from dialtools.streams.chunks import read_records
from dialtools.streams.json_file import read_json
from dialtools.streams.policy import Policy

MEGABYTE = 1 << 20


def packed(path: Path, *parts: bytes) -> str:
    with gzip.open(path, "wb", 1) as file:
        for part in parts:
            file.write(part)
    return path.name


@pytest.fixture
def run(scripts: Path, tmp_path: Path):
    def run(name: str, *words: str) -> tuple[int, str]:
        """Return exit status, messages of a command."""
        with (tmp_path / "said").open("wb") as said:
            child = subprocess.Popen(
                [str(scripts / name), *words], stdout=subprocess.DEVNULL, stderr=said, cwd=tmp_path
            )
            code = child.wait(600)
        return code, (tmp_path / "said").read_text()

    return run


LONG = [
    ("bomb.jsonl.gz", b'{"turns":["', b"a" * MEGABYTE),
    ("field.csv.gz", b"dialogue_id,text\n1,", b"a" * MEGABYTE),
    ("fields.csv.gz", b"dialogue_id,text\n1,", b'"a",' * (MEGABYTE // 4)),
    ("quote.tsv.gz", b'dialogue_id\ttext\n1\t"', (b"a" * 1023 + b"\n") * 1024),
    ("talk.txt.gz", b"", (b"a" * 1023 + b"\n") * 1024),
]


@pytest.mark.parametrize(("name", "head", "unit"), LONG)
@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq"])
def test_a_line_without_end_is_refused_when_it_is_too_long(
    run, tmp_path: Path, command: str, name: str, head: bytes, unit: bytes
):
    if command == "dial-freq" and name.startswith("talk"):
        pytest.skip("counts lines, which are short ones")
    packed(tmp_path / name, head, *[unit] * 40)
    code, said = run(command, "--bounds", "line=16MB", name)
    assert code == 1
    assert "longer than 16MB" in said
    assert "--bounds line=SIZE allows more" in said


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_a_line_that_is_too_long_can_be_passed_over(run, tmp_path: Path, name: str):
    head, row = (b"", b'{"turns":["a","b"]}\n')
    if name == "x.csv":
        head, row = b"dialogue_id,text\n", b"1,a\n1,b\n"
    (tmp_path / name).write_bytes(head + row + b"1," + b"a" * (3 * MEGABYTE) + b"\n" + row)
    words = ("--bounds", "line=1MB", "--on-error", "skip", name)
    code, said = run("dial-pairs", *words)
    assert code == 3 and "; 1 bad record skipped" in said
    code, said = run("dial-freq", *words)
    assert code == 3 and "4 texts, 2 distinct; 1 bad record skipped" in said


@pytest.mark.parametrize("before", [0, 30_000, 700_000])
@pytest.mark.parametrize(("begin", "end"), [(b"", b""), (b"[", b"]")])
def test_a_line_is_as_long_as_its_bound_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, begin: bytes, end: bytes
):
    between = b",\n" if begin else b"\n"

    def taken(size: int) -> int:
        """Return how many records are read, the middle one `size` bytes long."""
        rows = [json.dumps({"text": "a" * (n - len('{"text": ""}'))}) for n in (before + 50, size)]
        data = between.join(row.encode() for row in (*rows, '{"text": "b"}'))
        (tmp_path / "x.jsonl").write_bytes(begin + data + end)
        records = read_records([str(tmp_path / "x.jsonl")], policy=Policy("skip"))
        return sum(1 for _ in records)

    monkeypatch.setattr(bounds, "_chosen", {"line": MEGABYTE})
    assert taken(MEGABYTE - 10) == 3
    if begin:
        with pytest.raises(DataError, match="a record is longer than 1MB"):
            taken(MEGABYTE + 10)
    else:
        assert taken(MEGABYTE + 10) == 2


@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq"])
def test_a_cell_is_refused_when_it_is_too_long(run, tmp_path: Path, command: str):
    cell = "a" * 3000
    (tmp_path / "x.csv").write_text(f"dialogue_id,text\n1,b\n1,{cell}\n")
    assert run(command, "x.csv")[0] == 0
    code, said = run(command, "--bounds", "cell=2KB", "x.csv")
    assert (code, "x.csv:3: a cell is longer than 2KB\n  --bounds cell=SIZE" in said) == (1, True)
    packed(tmp_path / "y.csv.gz", b"dialogue_id,text\n1,", *[b"a" * MEGABYTE] * 17, b"\n")
    assert "y.csv.gz:2: a cell is longer than 16MB" in run(command, "y.csv.gz")[1]


def test_a_long_line_is_read_in_time_linear_in_it(run, tmp_path: Path):
    def seconds(size: int) -> float:
        packed(tmp_path / "x.jsonl.gz", b'{"turns":["', b"a" * (size * MEGABYTE), b'","b"]}\n')
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        code, said = run("dial-pairs", "--bounds", "line=1GB", "x.jsonl.gz")
        assert code == 0, said
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    short, long = seconds(16), seconds(64)
    assert long < 16 * max(short, 0.1)


def test_whole_histories_of_a_long_dialogue_are_refused_before_they_fill_memory(
    run, tmp_path: Path
):
    turns = ",".join(f'"t{i}"' for i in range(20_000))
    short = '{"turns":["a","b"]}'
    (tmp_path / "long.jsonl").write_text(f'{{"turns":[{turns}]}}\n{short}\n')
    code, said = run("dial-pairs", "--window", "all", "long.jsonl")
    assert code == 1
    assert "long.jsonl:1: pairs of 20,000 turns take 1.7 GB, more than 512MB" in said
    code, said = run("dial-pairs", "--window", "all", "--on-error", "skip", "long.jsonl")
    assert (code, "1 pair from 2 dialogues; 1 bad record skipped" in said) == (3, True)
    assert run("dial-pairs", "--window", "1,2,3", "long.jsonl")[0] == 0


def archive(path: Path, members: dict[str, bytes]) -> str:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
    else:
        with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as packed:
            for name, content in members.items():
                facts = tarfile.TarInfo(name)
                facts.size = len(content)
                packed.addfile(facts, io.BytesIO(content))
    return path.name


@pytest.mark.parametrize("name", ["c.zip", "c.tgz", "c.tar.xz"])
def test_archives_are_bounded_by_members_and_by_what_they_expand_to(run, tmp_path: Path, name: str):
    archive(tmp_path / name, {f"{i}/data.json": b" " * MEGABYTE for i in range(20)})
    for bound, why in [
        ("members=19", "more files than 19"),
        ("archive=19MB", "its files are larger than 19MB"),
        ("file=1MB,archive=1GB", "an empty file"),
        ("file=999KB", "data.json: larger than 999KB"),
    ]:
        code, said = run("dial-pairs", "--from", "multiwoz", "--bounds", bound, name)
        assert code == 1
        assert why in said
        assert len(said.splitlines()) <= 2


@pytest.mark.parametrize("name", ["c.zip", "c.tgz", "c.tar.xz"])
def test_a_damaged_archive_is_told_as_one(run, tmp_path: Path, name: str):
    archive(tmp_path / name, {"data.json": os.urandom(9999).hex().encode()})
    whole = (tmp_path / name).read_bytes()
    for at in (8, 20, 60, 200, len(whole) // 2):
        (tmp_path / name).write_bytes(whole[:at] + b"\xff" * 16 + whole[at + 16 :])
        code, said = run("dial-pairs", "--from", "multiwoz", name)
        assert code == 1
        assert "defect" not in said
        assert len(said.splitlines()) <= 2


def test_a_single_file_of_a_corpus_of_several_names_what_it_misses(run, tmp_path: Path):
    (tmp_path / "one.txt").write_text("a\n")
    assert run("dial-pairs", "--from", "iob", "one.txt") == (
        1,
        "dial-pairs: one.txt: no seq.out beside it\n",
    )


def test_utf_16_without_its_mark_and_with_another_header_is_told_in_a_line(run, tmp_path: Path):
    (tmp_path / "u.csv").write_bytes("\ufeffa,b\n1,2\n".encode("utf-16-le"))
    (tmp_path / "v.csv").write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    for words in (["u.csv"], ["v.csv"], ["--encoding", "utf-16", "v.csv"]):
        code, said = run("dial-pairs", *words)
        assert code == 1
        assert "Traceback" not in said
        assert len(said.splitlines()) <= 2


@pytest.mark.parametrize("bound", ["line=0", "lines=1", "line", "line=-1", "line=1,line=2", ""])
def test_a_bound_that_is_none(run, bound: str):
    assert run("dial-pairs", "--bounds", bound, "x")[0] == 2


def test_a_book_or_a_file_of_episodes_is_read_as_far_as_the_bound(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(bounds._chosen, "file", 10)
    (tmp_path / "ten.json").write_text('{"a":1234}')
    assert read_json(str(tmp_path / "ten.json")) == {"a": 1234}
    (tmp_path / "more.json").write_text('{"a":1234}\n')
    for path in (str(tmp_path / "more.json"), "/dev/zero"):
        with pytest.raises(DataError, match="longer than 10") as told:
            read_json(path)
        assert told.value.where == path and "--bounds file=SIZE" in str(told.value.hint)
    with pytest.raises(DataError, match="No such file"):
        read_json(str(tmp_path / "none.json"))
