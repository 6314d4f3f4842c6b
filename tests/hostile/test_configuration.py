"""Flags, variables and TOML files that make no sense are a usage error, told in a line."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

DIGITS = "9" * 30


def refused(scripts: Path, *words: str, cwd: Path) -> str:
    """Run a command that must end with a usage error, and return what it says."""
    done = subprocess.run(
        [str(scripts / words[0]), *words[1:]], input=b"", capture_output=True, cwd=cwd, timeout=600
    )
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert "defect" not in said
    assert 1 <= len(said.splitlines()) <= 2
    assert len(said) < 1000
    return said


@pytest.mark.parametrize(
    "words",
    [
        ["--time-format", "%d%d"],
        ["--time-format", "%Q"],
        ["--window", DIGITS],
        ["--follow", DIGITS, "--to", "arrow"],
        ["--seed", DIGITS, "--sample", "0.5"],
        ["--seed", "-1"],
        ["--limit", DIGITS],
        ["--limit", "9" * 5000],
        ["--encoding", "punycode"],
        ["--encoding", "idna"],
        ["--encoding", "unicode_escape"],
        ["--encoding", "raw_unicode_escape"],
        ["--encoding", "utf-7"],
        ["--encoding", "base64"],
        ["--encoding", "cp037"],
        ["--encoding", "a" * 5000],
    ],
)
def test_an_option_of_no_sense(scripts: Path, tmp_path: Path, words: list[str]):
    refused(scripts, "dial-pairs", *words, cwd=tmp_path)


@pytest.mark.parametrize("words", [["-n", DIGITS], ["--shard-rows", DIGITS]])
def test_a_number_beyond_64_bits_for_dial_embed(scripts: Path, tmp_path: Path, words: list[str]):
    refused(scripts, "dial-embed", "--model", "m", *words, cwd=tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "seed = {a = 1}",
        "seed = 2020-01-01",
        "seed = inf",
        "seed = [[1]]",
        f"seed = {'9' * 5000}",
        f"window = {'[' * 100_000}",
        "kind = 1.5",
        'output = "\\u0000"',
        "output = {}",
        "text-column = [[]]",
        f"{'k' * 5000} = 1",
        f'kind = "{"k" * 5000}"',
    ],
)
def test_a_configuration_of_odd_values(scripts: Path, tmp_path: Path, line: str):
    (tmp_path / "c.toml").write_text(f"{line}\n")
    refused(scripts, "dial-pairs", "--config", "c.toml", cwd=tmp_path)


def test_a_configuration_without_end_is_read_for_a_moment_only(scripts: Path, tmp_path: Path):
    assert "larger than" in refused(scripts, "dial-pairs", "--config", "/dev/zero", cwd=tmp_path)
    assert "larger than" in refused(scripts, "dial-eval", "suite", "/dev/zero", ".", cwd=tmp_path)


def test_a_configuration_may_come_by_a_pipe(scripts: Path, tmp_path: Path):
    os.mkfifo(tmp_path / "c.toml")
    writer = threading.Thread(target=(tmp_path / "c.toml").write_text, args=("window = 'x'\n",))
    writer.start()
    assert "window" in refused(scripts, "dial-pairs", "--config", "c.toml", cwd=tmp_path)
    writer.join()
