"""A reader of a pipe notices that the command before it has failed, and makes nothing of half."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pair_corpus import SMALL

from dialtools.streams.failure import ATOMIC_BYTES, failure_record

TALK = b'{"id":"%d","turns":["how do you do %d","quite well %d","and you"]}\n'
MARK = b'{"dialtools_failed":'


def talk(dialogues: int) -> bytes:
    return b"".join(TALK % (i, i, i) for i in range(dialogues))


@pytest.fixture
def pipe(scripts: Path, tmp_path: Path, environment) -> Callable[..., tuple[list[int], str]]:
    """Run a line of bash in a fresh folder; return the statuses of its commands and stderr."""
    (tmp_path / "talk.jsonl").write_bytes(talk(6000))
    (tmp_path / "half.jsonl").write_bytes(talk(6000) + b"oops\n" + talk(6000))

    def run(line: str) -> tuple[list[int], str]:
        path = {**environment, "PATH": f"{scripts}:{environment['PATH']}"}
        script = f"{line}; echo ${{PIPESTATUS[@]}} > statuses"
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, env=path, timeout=600
        )
        return [*map(int, (tmp_path / "statuses").read_text().split())], done.stderr.decode()

    return run


READERS = {
    "dial-freq": ("consecutive", "dial-freq -o result.jsonl"),
    "dial-freq --annotate": ("consecutive", "dial-freq --annotate -o result.jsonl"),
    "dial-augment": ("utterance", "dial-augment -o result.jsonl"),
    "dial-pairs": ("dialogue", "dial-pairs -o result.jsonl"),
    "dial-pairs -j": ("dialogue", "dial-pairs -j 2 -o result.jsonl"),
    "dial-train": ("consecutive", f"dial-train {' '.join(SMALL)} --max-steps 2 -o result"),
}


@pytest.mark.parametrize(("to", "reader"), itertools.product(("jsonl", "arrow"), READERS))
def test_nothing_is_made_of_the_half_that_a_failing_command_wrote(pipe, tmp_path, to, reader):
    kind, command = READERS[reader]
    statuses, said = pipe(f"dial-pairs -q --kind {kind} --to {to} half.jsonl | {command}")
    assert statuses == [1, 1]
    assert "the command that wrote this failed" in said or "no input" in said
    assert not list(tmp_path.glob("*result*"))
    if to == "jsonl":
        assert "this failed: half.jsonl:6001: not JSON" in said, "with its own words"


def test_an_embedding_and_a_score_are_not_made_of_half_either(pipe, minilm, tmp_path):
    lines = '{"text": "a", "label": "x"}\n' * 3
    (tmp_path / "half.jsonl").write_text(f"{lines}oops\n{lines}")
    embed = f"dial-embed -q --model {minilm} --shard-rows 2"
    for to in ("jsonl", "arrow"):
        line = f"dial-pairs -q --kind utterance --to {to} half.jsonl | {embed} -o result.parquet"
        statuses, said = pipe(line)
        assert statuses == [1, 1]
        assert "the command that wrote this failed" in said or "no input" in said
        score = "dial-eval space -q -o result.jsonl -"
        statuses, said = pipe(f"{embed} --to {to} half.jsonl | {score}")
        assert statuses == [1, 1]
        assert "the command that wrote this failed" in said or "no input" in said
        assert not list(tmp_path.glob("result*"))


@pytest.mark.parametrize(
    ("to", "number", "says"),
    [
        ("jsonl", signal.SIGTERM, "this failed: ended by SIGTERM"),
        ("jsonl", signal.SIGINT, "this failed: ended by SIGINT"),
        ("arrow", signal.SIGTERM, "failed or was killed"),
        ("arrow", signal.SIGKILL, "failed or was killed"),
    ],
)
def test_a_writer_that_is_ended_by_a_signal_is_noticed(scripts, tmp_path, to, number, says):
    writer = subprocess.Popen(
        [scripts / "dial-pairs", "-q", "--to", to], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdin and writer.stdout
    reader = subprocess.Popen(
        [scripts / "dial-freq", "-o", "result.jsonl"],
        stdin=writer.stdout,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    writer.stdin.write(talk(40_000))  # more than a chunk and a pipe hold, so that both are at work
    writer.stdin.flush()
    _kill(writer, number)
    writer.stdout.close()
    _, said = reader.communicate(timeout=120)
    assert (reader.returncode, list(tmp_path.iterdir())) == (1, [])
    assert says in said.decode()


def _kill(process: subprocess.Popen, number: int) -> None:
    """Send a signal to the command itself, of which the process is a stand-in, and wait."""
    if number == signal.SIGKILL:  # the server ends the command whose stand-in is gone
        process.kill()
    else:
        process.send_signal(number)
    assert process.wait(120) == -number


def test_the_mark_is_noticed_in_the_middle_of_joined_and_copied_streams(pipe, tmp_path):
    broken = "dial-pairs -q half.jsonl 2> /dev/null"
    whole = "dial-pairs -q talk.jsonl"
    for line in (f"({broken}; {whole}) | dial-freq", f"{broken} | tee copy.jsonl | dial-freq"):
        statuses, said = pipe(f"{line} -o result.jsonl --on-error skip")
        assert statuses[-1] == 1
        assert "this failed: half.jsonl:6001" in said
    statuses, _ = pipe("dial-freq copy.jsonl -o result.jsonl")
    assert statuses == [1]
    assert (tmp_path / "copy.jsonl").read_bytes().splitlines()[-1].startswith(b"\t" + MARK)


def test_arrow_streams_that_are_joined_are_read_one_after_the_other(pipe, tmp_path):
    pairs = "dial-pairs -q --kind utterance --to arrow talk.jsonl"
    statuses, said = pipe(f"({pairs}; {pairs}) | dial-freq -o result.jsonl")
    assert statuses == [0, 0]
    assert "36,000 texts, 12,001 distinct" in said


@pytest.mark.parametrize("bytes_left", [8, 4, 1])
def test_an_arrow_file_without_its_end_mark_is_refused(pipe, tmp_path, bytes_left):
    pipe("dial-pairs -q talk.jsonl -o whole.arrows")
    whole = (tmp_path / "whole.arrows").read_bytes()
    (tmp_path / "cut.arrow").write_bytes(whole[: len(whole) - bytes_left])
    statuses, said = pipe("dial-freq cut.arrow")
    assert statuses == [1]
    assert (
        said == "dial-freq: cut.arrow: the command that wrote this failed or was killed: "
        "the stream has no end\n"
    )


@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq", "dial-augment", "dial-train -o m"])
def test_no_input_is_never_success_but_an_empty_file_is_one(pipe, command):
    statuses, said = pipe(f"true | {command}")
    assert statuses == [0, 1]
    assert "<stdin>: no input" in said
    statuses, said = pipe(f"touch e.jsonl; {command} < e.jsonl")
    assert "no input" not in said
    assert statuses == [int("train" in command)]


def test_the_record_of_a_failure_fits_a_pipe_in_one_piece():
    for letter in ("a", "\x01", "ü", "\ud800", "\U0001f600"):
        assert len(failure_record(ValueError(letter * 9000))) < ATOMIC_BYTES


@pytest.mark.parametrize("suffix", ["jsonl", "arrow", "parquet", "jsonl.gz"])
def test_a_fifo_is_opened_once_whatever_its_name_ends_in(pipe, suffix):
    line = f"dial-pairs -q talk.jsonl -o whole.{suffix} && mkfifo fifo.{suffix} && "
    line += (
        f"(cat whole.{suffix} > fifo.{suffix} &) && timeout 60 dial-freq fifo.{suffix} -o result"
    )
    statuses, said = pipe(line)
    assert statuses == [0]
    assert "12,000 texts, 6,001 distinct" in said


def test_a_fifo_of_embeddings_is_opened_once(pipe, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"id": "a", "embedding": [1, 0]}\n' * 3)
    line = "mkfifo fifo.jsonl && (cat e.jsonl > fifo.jsonl &) && timeout 60 dial-eval space {}"
    assert pipe(line.format("fifo.jsonl"))[0] == [0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_that_waits_for_the_writer_of_a_fifo(scripts, tmp_path, number):
    os.mkfifo(tmp_path / "fifo.parquet")
    reader = subprocess.Popen([scripts / "dial-pairs", tmp_path / "fifo.parquet"])
    time.sleep(1)
    reader.send_signal(number)
    assert reader.wait(60) == -number


def test_a_pipe_that_does_not_wait_gets_all_of_it(scripts: Path, tmp_path: Path):
    """Node leaves such pipes; a pipe holds 64 KiB, or a MiB, and its reader comes late."""
    (tmp_path / "talk.jsonl").write_bytes(talk(12000))
    line = [scripts / "dial-pairs", "-q", tmp_path / "talk.jsonl"]
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with subprocess.Popen(line, stdout=theirs, stderr=subprocess.PIPE) as late:
        os.close(theirs)
        time.sleep(1)
        with open(ours, "rb") as reader:
            assert reader.read() == subprocess.run(line, capture_output=True).stdout
        assert late.stderr and late.stderr.read() == b""
    assert late.returncode == 0


@pytest.mark.parametrize("to", ["jsonl", "arrow"])
def test_all_of_a_pipe_is_read_that_does_not_wait_for_its_writer(scripts: Path, to: str):
    line = [scripts / "dial-pairs", "-q", "--to", to]
    theirs, ours = os.pipe()
    os.set_blocking(theirs, False)
    with subprocess.Popen(line, stdin=theirs, stdout=subprocess.PIPE) as reader:
        for _ in range(2):
            time.sleep(1)
            os.write(ours, talk(300))
        os.close(ours)
        whole = subprocess.run(line, input=talk(300) * 2, capture_output=True).stdout
        assert reader.stdout and reader.stdout.read() == whole


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails: Linux")
@pytest.mark.parametrize("line", ["dial-pairs", "dial-pairs -o out", "dial-freq --annotate"])
def test_a_stdin_that_cannot_be_read_is_told_and_not_the_output(scripts, tmp_path, line: str):
    command, *options = line.split()
    with open("/proc/self/mem", "rb") as failing:
        done = subprocess.run(
            [scripts / command, *options], stdin=failing, stderr=subprocess.PIPE, cwd=tmp_path
        )
    assert done.returncode == 1
    assert done.stderr.decode() == f"{command}: <stdin>: input/output error\n"
