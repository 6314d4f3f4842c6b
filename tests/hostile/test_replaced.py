"""What --overwrite replaces: no folder that holds what is read, or other things than a model."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from at_work import ended
from pair_corpus import as_lines

from dialtools.errors import OutputError
from dialtools.streams.atomic import atomic_directory, atomic_file

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(
    scripts: Path, environment: dict[str, str], model: Path, pairs: Path, tmp_path: Path
) -> Run:
    """Run a line in a folder that has a model, pairs and utterances."""
    shutil.copytree(model, tmp_path / "m")
    shutil.copy(pairs, tmp_path / "pairs.jsonl")
    texts = [f"the {i}th of many" for i in range(40)]
    (tmp_path / "log.jsonl").write_bytes(as_lines([{"text": text} for text in texts]))

    def command(line: str, code: int) -> subprocess.CompletedProcess:
        words = line.split()
        return ended(
            scripts / words[0],
            *words[1:],
            code=code,
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )

    return command


COMMANDS = (
    "dialtools weigh --model m log.jsonl",
    "dialtools center --model m log.jsonl",
    "dial-train -q --max-steps 1 pairs.jsonl",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_other_things_is_not_replaced(run: Run, tmp_path: Path, command: str):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("x")
    said = run(f"{command} -o precious --overwrite", code=1).stderr
    assert b"precious: is a folder of other things than a model" in said
    assert [file.name for file in (tmp_path / "precious").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("dialtools weigh --model hold/m log.jsonl -o hold", b"hold/m"),
        ("dialtools center --model m hold/log.jsonl -o hold", b"hold/log.jsonl"),
        ("dial-train -q --max-steps 1 --model hold/m pairs.jsonl -o hold", b"hold/m"),
        ("dial-train -q --max-steps 1 --cache hold/c pairs.jsonl -o hold", b"hold/c"),
        ("dialtools merge m hold/m -o hold", b"hold/m"),
    ],
)
def test_a_folder_that_holds_what_is_read_is_not_replaced(
    run: Run, tmp_path: Path, line: str, held: bytes
):
    shutil.copytree(tmp_path / "m", tmp_path / "hold" / "m")
    shutil.copy(tmp_path / "m" / "config.json", tmp_path / "hold")
    shutil.copy(tmp_path / "log.jsonl", tmp_path / "hold")
    said = run(f"{line} --overwrite", code=2).stderr
    assert b"-o hold would be replaced, and " + held + b" in it is to stay" in said
    assert (tmp_path / "hold" / "m" / "model.safetensors").is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_named_and_lies_in_one_that_is_there(run: Run, command: str):
    assert b"-o .: a folder is replaced by its name" in run(f"{command} -o .", code=2).stderr
    assert b"nodir: no such directory" in run(f"{command} -o nodir/x", code=1).stderr


def test_a_cache_may_lie_in_a_folder_that_is_yet_to_be_made(run: Run, tmp_path: Path):
    run("dial-train -q --max-steps 1 --cache new/cache pairs.jsonl -o out", code=0)
    assert list((tmp_path / "new" / "cache").iterdir())


def _until_it_waits(process: subprocess.Popen[bytes]):
    """Wait until a process that has worked for a second does nothing any more."""
    before, used = -1.0, 0.0
    while used < 1 or used > before:
        time.sleep(1)
        before, used = used, _processor_time(process.pid)


def _processor_time(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_centre_is_never_that_of_another_model(
    run: Run, installed: Path, environment: dict[str, str], tmp_path: Path
):
    line = [installed / "dialtools", "center", "--model", "m", "-o", "c"]
    process = subprocess.Popen(
        line, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stderr
    process.stdin.write((tmp_path / "log.jsonl").read_bytes())
    process.stdin.flush()
    _until_it_waits(process)  # it has the model, and wants more texts
    (tmp_path / "m" / "config.json").touch()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1 and b"m/config.json: changed while it was read" in said
    assert not (tmp_path / "c").exists()


def test_what_has_come_meanwhile_is_not_replaced_unasked(tmp_path: Path):
    with (
        pytest.raises(OutputError, match="exists already"),
        atomic_file(tmp_path / "file", overwrite=False) as temporary,
    ):
        temporary.touch()
        (tmp_path / "file").write_text("theirs")
    with (
        pytest.raises(OutputError, match="exists already"),
        atomic_directory(tmp_path / "folder", overwrite=False),
    ):
        (tmp_path / "folder").mkdir()
    assert (tmp_path / "file").read_text() == "theirs"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}


@pytest.mark.parametrize(
    ("wrong", "code"), [("--freeze 3", 2), ("--window 7", 1), ("--validation m/config.json", 1)]
)
def test_a_training_that_cannot_begin_leaves_nothing_in_the_way_of_the_next(
    run: Run, tmp_path: Path, wrong: str, code: int
):
    assert run(f"dial-train -q {wrong} pairs.jsonl -o out", code=code).stderr
    assert not (tmp_path / "out.partial").exists()
    run("dial-train -q --max-steps 1 pairs.jsonl -o out", code=0)


def test_a_resumed_embedding_notices_another_tokenizer(
    run: Run, installed: Path, environment: dict[str, str], tmp_path: Path
):
    line = "dial-embed -q --model m --shard-rows 4 log.jsonl -o e.parquet"
    words = line.split()
    begun = subprocess.Popen([installed / words[0], *words[1:]], cwd=tmp_path, env=environment)
    pieces = tmp_path / "e.parquet.partial" / "pieces.jsonl"
    while begun.poll() is None and not (pieces.exists() and pieces.stat().st_size):
        time.sleep(0.01)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    tokenizer = tmp_path / "m" / "tokenizer.json"
    tokenizer.write_bytes(orjson.dumps(orjson.loads(tokenizer.read_bytes()) | {"normalizer": None}))
    assert b"files of the model was " in run(f"{line} --resume", code=2).stderr
