"""What a stranger wrote reaches no terminal raw, whichever way it goes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from at_work import ended

from dialtools.shown import STEERING

EVIL = "\x1b]0;title\x07\x1b[2J\r\n\x7f\x9b1m\u202e\u2028end"
"""Sets a title, clears the screen, goes on in another line, turns what follows around."""

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(scripts: Path, tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run a command; what it says must be clean, in one line, or two of an error."""

    def run(name: str, *words: str, stdin: bytes = b"", **more: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [str(scripts / name), *words],
            input=stdin,
            cwd=tmp_path,
            env=environment | more,
            capture_output=True,
            timeout=600,
        )
        for line in done.stderr.decode().splitlines():
            assert not STEERING.search(line), done.stderr
        lines = done.stderr.decode().split("\n")[:-1]
        assert 0 < len(lines) <= 2
        assert lines[0].startswith("dial")
        assert max(map(len, lines)) < 3000
        return done

    return run


def lines_of(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def said(done: subprocess.CompletedProcess, code: int) -> str:
    assert done.returncode == code, done.stderr
    return done.stderr.decode()


def test_a_label_in_the_closing_line(run: Run):
    record = {"premise": "a", "hypothesis": "b", "label": EVIL}
    done = run("dial-pairs", "--kind", "entailment", stdin=lines_of(record))
    assert r"labelled \x1b]0;title\x07\x1b[2J\r\n\x7f\x9b1m\u202e\u2028end" in said(done, 0)


def test_ten_thousand_labels_are_not_all_told(run: Run):
    records = [
        {"premise": "a", "hypothesis": "b", "label": f"{i} {'x' * 200}"} for i in range(10_000)
    ]
    done = run("dial-pairs", "--kind", "entailment", stdin=lines_of(*records))
    assert "and 993 more" in said(done, 0)


def test_a_speaker_under_verbose(run: Run):
    record = {"turns": [{"speaker": EVIL, "text": "a"}, {"speaker": "x", "text": "b"}]}
    done = run("dial-pairs", "-v", "--speaker-map", "x=user", stdin=lines_of(record))
    assert r"1 turn of \x1b]0" in said(done, 0)


@pytest.mark.parametrize("name", ["dial-pairs", "dial-freq", "dial-embed", "dial-augment"])
def test_a_key_of_a_record(run: Run, name: str, tmp_path: Path):
    (tmp_path / "words.txt").write_text("a 1 2\nb 3 4\n")
    model = ["--model", "words.txt"] if name == "dial-embed" else []
    assert run(name, *model, stdin=lines_of({EVIL: 1})).returncode in (1, 2)


@pytest.mark.parametrize("name", ["dial-pairs", "dial-freq"])
def test_a_column_of_a_table(run: Run, name: str, tmp_path: Path):
    (tmp_path / "t.csv").write_text(f'"{EVIL}",b\n1,2\n', newline="")
    assert r"\x1b]0" in said(run(name, "t.csv"), 1)


def test_a_file_name(run: Run):
    assert r"\x1b]0" in said(run("dial-pairs", EVIL), 1)
    assert r"\x1b]0" in said(run("dial-pairs", "-o", f"{EVIL}/pairs.jsonl", stdin=b""), 1)


def test_a_name_in_an_archive(run: Run, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as packed:
        packed.writestr(f"{EVIL}/data.json", "[")
    assert r"\x1b]0" in said(run("dial-pairs", "--from", "multiwoz", "c.zip"), 1)


@pytest.mark.parametrize(
    "words",
    [
        ["--kind", EVIL],
        ["--window", EVIL],
        [f"--{EVIL}"],
        ["--on-error", EVIL],
        ["--from", EVIL],
        ["--encoding", EVIL],
        ["--speaker-map", EVIL],
    ],
)
def test_what_was_typed_as_an_option(run: Run, words: list[str]):
    said(run("dial-pairs", *words, stdin=b""), 2)


def test_a_variable_and_a_key_of_a_configuration(run: Run, tmp_path: Path):
    said(run("dial-pairs", stdin=b"", DIAL_PAIRS_KIND=EVIL), 2)
    (tmp_path / f"c{EVIL}.toml").write_text(f"{json.dumps(EVIL)} = 1\n")
    assert "unknown key" in said(run("dial-pairs", "--config", f"c{EVIL}.toml", stdin=b""), 2)


def test_the_plan_of_a_dry_run(run: Run):
    done = run("dial-pairs", "--dry-run", "-o", f"{EVIL}.jsonl", stdin=lines_of({"turns": ["a"]}))
    assert not any(map(STEERING.search, done.stdout.decode().split("\n")))
    assert r"\x1b]0" in done.stdout.decode()


def test_json_lines_on_a_terminal_are_the_same_json(scripts: Path, tmp_path: Path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": EVIL}, ensure_ascii=False) + "\n")
    ours, theirs = pty.openpty()
    command = [str(scripts / "dial-freq"), "-q", "--ignore", "none", "in.jsonl"]
    subprocess.run(command, stdout=theirs, cwd=tmp_path, timeout=600, check=True)
    seen = os.read(ours, 1 << 16).decode().rstrip("\r\n")
    assert not STEERING.search(seen) and json.loads(seen)["text"] == EVIL
    for end in (ours, theirs):
        os.close(end)


@pytest.mark.parametrize("command", ["dial-freq", "dial-pairs"])
def test_a_summary_is_in_the_format_that_is_asked_for_on_a_terminal_too(
    command: str, scripts: Path, tmp_path: Path
):
    (tmp_path / "a.jsonl").write_text(json.dumps({"turns": ["a", "b"]}))
    ours, theirs = pty.openpty()
    line = [scripts / command, "-q", "--summary", "--to", "jsonl", "a.jsonl"]
    subprocess.run(line, cwd=tmp_path, check=True, stdout=theirs)
    os.close(theirs)
    assert json.loads(os.read(ours, 10_000))["corpus"] == "a"
    os.close(ours)


def test_a_printed_configuration_says_the_same_and_is_clean(scripts: Path, tmp_path: Path):
    command = [str(scripts / "dial-pairs"), "--print-config", "--speaker", EVIL]
    done = ended(*command, cwd=tmp_path, timeout=600)
    assert not any(map(STEERING.search, done.stdout.decode().split("\n")))
    assert tomllib.loads(done.stdout.decode())["speaker"] == EVIL


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    rows = [
        {
            "text": f"t{i}",
            "embedding": [float(i % 3), 1.0],
            "label": f"{i % 3}{EVIL}\uffff",
            "split": EVIL,
        }
        for i in range(30)
    ]
    (tmp_path / "v.jsonl").write_bytes(lines_of(*rows))
    return "v.jsonl"


def test_a_split_of_embeddings(run: Run, vectors: str):
    assert r"there are \x1b]0" in said(run("dial-eval", "intent", vectors), 1)


def test_a_picture_of_labels_is_well_formed(scripts: Path, vectors: str, tmp_path: Path):
    pytest.importorskip("matplotlib")
    command = [str(scripts / "dial-eval"), "plot", "-o", "x.svg", "--method", "pca", vectors]
    ended(*command, cwd=tmp_path, timeout=600)
    text = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
    assert r"0\x1b]0;title" in text
    assert r"\uffff" in text
