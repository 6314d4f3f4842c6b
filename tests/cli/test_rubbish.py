"""What a user sees when things go wrong: real processes, pipes and terminals."""

from __future__ import annotations

import gzip
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from at_work import ended

COMMANDS = ("dial-pairs", "dial-augment", "dial-freq", "dial-train", "dial-embed", "dial-eval")
TALK = (
    b'{"id":"%d","turns":['
    b'{"speaker":"user","text":"i need a room %d"},'
    b'{"speaker":"system","text":"for how many nights %d"},'
    b'{"speaker":"user","text":"two %d"}]}\n'
)


def corpus(n: int) -> bytes:
    return b"".join(TALK % (i, i, i, i) for i in range(n))


def run(scripts: Path, *words, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(scripts / words[0]), *map(str, words[1:])], capture_output=True, timeout=900, **options
    )


def on_terminal(scripts: Path, *words: str) -> tuple[int, str]:
    """Run a command whose three files are a terminal; return its status and what it said."""
    said = []

    def read(fd: int) -> bytes:
        data = os.read(fd, 1 << 16)
        said.append(data)
        return data

    stdout = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        status = pty.spawn([str(scripts / words[0]), *words[1:]], read, lambda fd: b"")
    finally:
        os.dup2(stdout, 1)
    return os.waitstatus_to_exitcode(status), b"".join(said).decode()


HEAVY = {"torch", "transformers", "numpy", "pyarrow", "duckdb", "sklearn", "rich", "zstandard"}
NEEDLESS = {"click", "tomllib", "orjson"}
"""Light, but a tenth of the start each, and of no use to a page of help."""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_version_come_at_once(installed, command):
    """By what they import, which tells on any machine; 130 light modules are 0.1 s of a core."""
    words = [sys.executable, "-X", "importtime", installed / command]
    for flag, begins in (("--help", f"{command} - "), ("--version", command)):
        done = ended(*words, flag, text=True, timeout=900)
        assert done.stdout.startswith(begins)
        modules = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
        assert not modules & (HEAVY | NEEDLESS)
        assert len(done.stderr.splitlines()) < 170
    assert b"Examples:" in run(installed, command, "--help").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["dial-pairs", "--windw", "1"], "did you mean --window"),
        (["dial-pairs", "--window", "x"], "--window: 'x': expected a whole number"),
        (["dial-train", "--method", "dsee"], "did you mean dse"),
        (["dial-train", "--loss", "nt-xnt"], "did you mean nt-xent?"),
        (["dial-eval", "intnt"], "did you mean intent"),
        (["dial-eval"], "name a task"),
        (["dial-embed"], "--model DIR is needed"),
    ],
)
def test_a_typo_is_a_usage_error_with_a_suggestion(scripts, words, says):
    done = run(scripts, *words, input=b"")
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert done.stdout == b""


def test_configuration_comes_from_flag_environment_and_file_in_that_order(scripts, tmp_path):
    (tmp_path / "run.toml").write_text(
        'min-words = 3\nwindow = [1, 2]\nkind = "consecutive"\nmin-turns = 4\nseed = 1\n'
    )
    done = run(
        scripts,
        "dial-pairs",
        "--config",
        tmp_path / "run.toml",
        "--window",
        "3",
        "--print-config",
        "--min-turns",
        "6",
        env={
            **os.environ,
            "DIAL_PAIRS_SEED": "7",
            "DIAL_PAIRS_WINDOW": "9",
            "DIAL_PAIRS_MIN_TURNS": "5",
        },
    )
    text = done.stdout.decode()
    assert "window = [3]  # flag" in text
    assert "seed = 7  # environment" in text
    assert "min-turns = 6  # flag" in text
    assert f"min-words = 3  # {tmp_path}/run.toml" in text
    (tmp_path / "run.toml").write_text("min-wrds = 3\n")
    bad = run(scripts, "dial-pairs", "--config", tmp_path / "run.toml", input=b"")
    assert bad.returncode == 2
    assert b"did you mean min-words" in bad.stderr


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"turns": "x"}\n', '<stdin>:1: "turns" must be a list'),
        (b'{"turns":["a\x00b","c"]}\n', "<stdin>:1: NUL at byte 13"),
        (b'\n{"turns":["a\xff","c"]}\n', "<stdin>:2: invalid UTF-8 at byte 13"),
        (gzip.compress(corpus(3000), mtime=0)[:-30], "truncated gzip"),
        (
            b'{"turns":[{"text":"a"},{"text":7}]}\n',
            "<stdin>:1: turns[1].text: expected a string, got a number",
        ),
    ],
)
def test_rubbish_is_named_in_one_line(scripts, tmp_path, data, says):
    done = run(scripts, "dial-pairs", "-o", tmp_path / "p.jsonl", input=data)
    assert done.returncode == 1
    assert says in done.stderr.decode()
    assert len(done.stderr.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_bad_records_can_be_skipped_and_the_status_tells(scripts, tmp_path):
    data = corpus(1) + b"oops\n" + corpus(1)
    done = run(
        scripts, "dial-pairs", "--on-error", f"quarantine={tmp_path / 'bad.jsonl'}", input=data
    )
    assert done.returncode == 3
    assert len(done.stdout.splitlines()) == 4
    assert b"1 bad record skipped" in done.stderr
    assert b'"raw":"oops"' in (tmp_path / "bad.jsonl").read_bytes()


def test_a_line_of_50_megabytes_is_no_trouble(installed):
    done = run(installed, "dial-pairs", input=b'{"turns":["a","' + b"x" * 50_000_000 + b'"]}\n')
    assert done.returncode == 0
    assert len(done.stdout) > 50_000_000


@pytest.mark.parametrize("to", ["jsonl", "arrow", "parquet"])
def test_head_ends_the_pipe_in_silence(installed, tmp_path, to):
    (tmp_path / "c.jsonl").write_bytes(corpus(60_000))
    pairs = f"{installed}/dial-pairs -q --window 1,2 --to {to} {tmp_path}/c.jsonl"
    line = pairs + " | head -c 100; echo ${PIPESTATUS[0]} >&2"
    done = subprocess.run(["bash", "-c", line], capture_output=True)
    assert len(done.stdout) == 100
    assert done.stderr.decode().split() == ["141"]


def test_on_a_terminal_without_input_the_command_explains_itself(scripts):
    code, said = on_terminal(scripts, "dial-pairs")
    assert code == 2
    assert "Usage: dial-pairs" in said
    assert "e.g. dial-pairs chats.jsonl" in said


def test_binary_output_on_a_terminal_is_refused(scripts, tmp_path):
    (tmp_path / "c.jsonl").write_bytes(corpus(2))
    code, said = on_terminal(scripts, "dial-pairs", "--to", "arrow", str(tmp_path / "c.jsonl"))
    assert code == 2
    assert "will not write arrow to a terminal" in said


def test_an_output_that_exists_is_not_replaced_unasked(scripts, tmp_path):
    out = tmp_path / "p.jsonl"
    out.write_text("mine\n")
    done = run(scripts, "dial-pairs", "-o", out, input=corpus(1))
    assert done.returncode == 1
    assert b"--overwrite replaces it" in done.stderr
    assert out.read_text() == "mine\n"
    assert run(scripts, "dial-pairs", "-o", out, "--overwrite", input=corpus(1)).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_command_leaves_nothing_under_the_final_name(installed, tmp_path, number):
    process = subprocess.Popen(
        [installed / "dial-pairs", "-q", "-", "-o", "p.jsonl"],
        stdin=subprocess.PIPE,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        # a shell's background job inherits "ignore SIGINT", and so would a test run started from
        # one
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    process.stdin.write(corpus(20_000))
    process.stdin.flush()
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".p.jsonl*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    process.stdin.close()
    assert process.wait(120) == -number
    assert not (tmp_path / "p.jsonl").exists()
    if number != signal.SIGKILL:
        assert list(tmp_path.iterdir()) == [], "what was half written goes too"
    assert b"Traceback" not in process.stderr.read()


def test_the_customers_sentence_runs_as_it_stands(scripts, tmp_path):
    (tmp_path / "corpus.jsonl").write_bytes(corpus(300))
    environment = {
        **os.environ,
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "DIAL_TRAIN_MAX_STEPS": "3",
    }
    done = ended(
        "bash",
        "-c",
        "dial-pairs --window 1,2,3 corpus.jsonl | dial-train",
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout == b"model\n"
    assert b"no --model: a static encoder" in done.stderr
    assert (tmp_path / "model" / "model.safetensors").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "model"}


def test_launchers_run_from_a_checkout():
    root = Path(__file__).resolve().parents[2]
    for path in (root / "bin").iterdir():
        ended(sys.executable, path, "--version", cwd="/")


def test_without_a_buffer_a_reader_that_goes_away_is_still_noticed():
    program = """if True:
        from dialtools.streams.sinks import writer
        with writer("-", format="jsonl") as write:
            write(b"x\\n" * 3_000_000)
    """
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"x\n"
    process.stdout.close()
    assert b"BrokenPipeError" in process.stderr.read() and process.wait() != 0
