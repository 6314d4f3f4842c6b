"""What a command writes beside its output replaces neither what it reads nor, unasked, a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended

TALK = '{"id":"1","turns":["how do you do","quite well"]}\n'


@pytest.fixture
def run(scripts: Path, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run a command in a folder with talk.jsonl, of which a line is bad; return status, stderr."""
    (tmp_path / "talk.jsonl").write_text(f"{TALK}oops\n{TALK}")
    (tmp_path / "mine.txt").write_text("years of work\n")

    def call(line: str) -> tuple[int, str]:
        command, *words = line.split()
        done = subprocess.run([scripts / command, *words], cwd=tmp_path, capture_output=True)
        return done.returncode, done.stderr.decode()

    return call


@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq", "dial-augment", "dial-train -o m"])
@pytest.mark.parametrize("name", ["talk.jsonl", "./talk.jsonl", "link"])
def test_bad_records_are_never_put_aside_in_an_input(run, tmp_path, command, name):
    (tmp_path / "link").symlink_to("talk.jsonl")
    before = (tmp_path / "talk.jsonl").read_text()
    for overwrite in ("", "--overwrite"):
        code, said = run(f"{command} --on-error quarantine={name} {overwrite} talk.jsonl")
        assert code == 2
        assert "--on-error quarantine and an input name the same file" in said
    assert (tmp_path / "talk.jsonl").read_text() == before


@pytest.mark.parametrize("command", ["dial-pairs", "dial-freq", "dial-augment"])
def test_an_output_never_replaces_an_input(run, tmp_path, command):
    (tmp_path / "link").symlink_to("talk.jsonl")
    before = (tmp_path / "talk.jsonl").read_text()
    for name in ("talk.jsonl", "link"):
        code, said = run(f"{command} --on-error skip -o {name} --overwrite talk.jsonl")
        assert (code, "-o and an input name the same file" in said) == (2, True)
    assert (tmp_path / "talk.jsonl").read_text() == before


def test_bad_records_are_put_aside_in_another_file_only_if_asked(run, tmp_path):
    code, said = run("dial-freq --on-error quarantine=mine.txt talk.jsonl")
    assert (code, "--overwrite replaces it" in said) == (1, True)
    assert (tmp_path / "mine.txt").read_text() == "years of work\n"
    assert run("dial-freq --on-error quarantine=mine.txt --overwrite talk.jsonl")[0] == 3
    assert '"raw":"oops"' in (tmp_path / "mine.txt").read_text()


def test_two_outputs_in_one_file_are_refused(run):
    code, said = run("dial-freq --on-error quarantine=out -o out talk.jsonl")
    assert (code, "name the same file" in said) == (2, True)


def test_a_suite_file_cannot_write_where_it_likes(run, tmp_path):
    (tmp_path / "evil.toml").write_text(
        'title = "t"\n[[set]]\ntask = "intent"\nname = "n"\nfile = "e"\nmetrics = ["accuracy"]\n'
        'settings = [""]\noptions = {"save-episodes" = "mine.txt", overwrite = true}\n'
    )
    (tmp_path / "e.jsonl").write_text('{"text":"a","label":"x","split":"train","embedding":[1]}\n')
    code, said = run("dial-eval suite evil.toml .")
    assert (code, "a suite may not set 'save-episodes'" in said) == (2, True)
    assert (tmp_path / "mine.txt").read_text() == "years of work\n"


@pytest.mark.parametrize(
    ("command", "output"),
    [("dial-pairs", "o.jsonl"), ("dial-pairs", "o.parquet"), ("dial-freq", "o.arrow")],
)
def test_an_input_may_have_any_name(run, scripts, tmp_path, command, output):
    name = os.fsdecode(b"b\xff.jsonl")
    (tmp_path / name).write_text(f"{TALK}oops\n")
    ended(
        scripts / command, "--on-error", "quarantine=bad", "-o", output, name, code=3, cwd=tmp_path
    )
    assert rb'"file":"b\\xff.jsonl","line":2' in (tmp_path / "bad").read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        "dial-pairs talk.jsonl -o \udcff.parquet",
        "dial-freq talk.jsonl --on-error quarantine=\udcff",
        "dial-train talk.jsonl -o \udcff",
        "dial-embed talk.jsonl -o \udcff.parquet --model m",
        "dial-eval space \udcff.parquet",
        "dial-eval intent e.parquet --name \udcff",
    ],
)
def test_other_names_that_are_not_utf8_are_refused_before_the_work(run, tmp_path, line):
    before = sorted(tmp_path.iterdir())
    code, said = run(line)
    assert (code, "is not UTF-8" in said) == (2, True)
    assert sorted(tmp_path.iterdir()) == before


def test_a_locale_that_has_no_such_letters_is_named(tmp_path):
    cold = Path(__file__).parents[2] / "bin/dial-pairs"  # in a process of its own
    line = f"echo '{TALK.strip()}' | {sys.executable} {cold} -o café.jsonl"
    for locale, code, told in (("C", 2, b"LC_ALL=C.UTF-8 takes any"), ("C.UTF-8", 0, b"1 pair")):
        env = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0"}
        done = subprocess.run(["sh", "-c", line], capture_output=True, cwd=tmp_path, env=env)
        assert (done.returncode, told in done.stderr) == (code, True), done.stderr


def test_a_table_has_letters_that_the_locale_has_not(tmp_path):
    rows = [{"text": f"é {n}", "embedding": [1, n]} for n in range(2)]
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, rows)))
    cold = Path(__file__).parents[2] / "bin/dialtools"  # in a process of its own
    line = [sys.executable, cold, "cluster", "--table", "--clusters", "2", "e.jsonl"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = ended(*line, cwd=tmp_path, env=env)
    assert rb"\xe9 1" in done.stdout


def test_a_stderr_without_room_fails_no_run(scripts, tmp_path):
    line = f"echo '{TALK.strip()}' | {scripts}/dial-pairs -o o.jsonl 2> /dev/full"
    assert subprocess.run(["bash", "-c", line], cwd=tmp_path).returncode == 0
