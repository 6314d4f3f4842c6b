"""--dry-run: every command says what it would read, write and replace, and does nothing of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from all_commands import COMMANDS

from dialtools.errors import OutputError
from dialtools.streams import bounds

LINES = """
    dial-freq v.jsonl -o counts.jsonl
    dial-augment v.jsonl -o made.jsonl --save-book book.json
    dial-eval select v.jsonl -o scores.jsonl
    dial-eval plot v.jsonl -o map.png
    dialtools cluster --save-summary clusters.csv v.jsonl
    dialtools drift v.jsonl v.jsonl -o drift.md
    dialtools mine --embeddings v.jsonl v.jsonl -o mined.jsonl
    dialtools neighbors v.jsonl -o near.jsonl
    dialtools search v.jsonl 'where is it'
"""


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch):
    """What a command sets for its process goes with the test."""
    monkeypatch.setattr(bounds, "_chosen", {})
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])


@pytest.mark.parametrize("line", filter(None, map(str.strip, LINES.splitlines())))
def test_a_plan_names_what_is_read_and_written_and_leaves_the_folder_as_it_is(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("v.jsonl").write_text("no record is looked at\n")
    words = shlex.split(line)
    title = next(" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS)
    argv = words[len(title.split()) :]
    assert COMMANDS[title].run([*argv, "--dry-run"]) == 0
    plan = dict(told.split(maxsplit=1) for told in capsys.readouterr().out.splitlines())
    assert plan["reads"].startswith("v.jsonl (23 bytes)")
    written = [word for word in argv if word.partition(".")[2] and word != "v.jsonl"]
    assert set(plan["writes"].split(", ")) == set(written or ["stdout"])
    assert [file.name for file in tmp_path.iterdir()] == ["v.jsonl"]


def test_a_plan_says_what_is_replaced_and_refuses_what_a_run_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name in ("v.jsonl", "old.jsonl"):
        Path(name).write_text("{}\n")
    freq = COMMANDS["dial-freq"]
    with pytest.raises(OutputError, match="exists already"):
        freq.run(["--dry-run", "v.jsonl", "-o", "old.jsonl"])
    assert freq.run(["--dry-run", "--overwrite", "v.jsonl", "-o", "old.jsonl"]) == 0
    assert "replaces  old.jsonl (3 bytes)\n" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError):
        freq.run(["--dry-run", "gone.jsonl"])


def test_names_and_kinds_are_no_files_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("{}\n")
    compare = ["--dry-run", "--baseline", "before", "before=a.jsonl", "after=a.jsonl"]
    assert COMMANDS["dial-eval compare"].run(compare) == 0
    assert "reads   before=a.jsonl, after=a.jsonl" in capsys.readouterr().out
