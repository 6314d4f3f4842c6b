"""What a log is told of a long job: how far, how fast, how long still."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialtools.cli import _progress
from dialtools.cli._progress import Heartbeat


def test_slow_pieces_are_told_by_their_time_and_what_was_done_before_is_no_speed(
    monkeypatch: pytest.MonkeyPatch,
):
    told: list[str] = []
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=0.0)
    monkeypatch.setattr(_progress, "time", clock)
    beat = Heartbeat(told.append, 20, "runs")
    beat.skip(8)
    for clock.now, pieces in ((5, 0), (60, 1), (300, 1)):
        beat.advance(pieces, accuracy="33.0")
    fast = Heartbeat(told.append, None, "pairs")
    for clock.now, pieces in ((320, 0), (360, 1), (420, 9_999)):
        fast.advance(pieces)
    assert told == [
        "9 of 20 runs (60 s each, 11 min left, accuracy 33.0)",
        "10 of 20 runs (2 min each, 25 min left, accuracy 33.0)",
        "0 pairs (0/s)",
        "1 pair (60 s each)",
        "10,000 pairs (83/s)",
    ]


def on_a_terminal(*command: object, data: bool = False) -> str:
    """Return what a command shows on a terminal, without the codes that move the cursor.

    Args:
        data: they come to the terminal, too.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=theirs if data else subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += (piece := os.read(ours, 1 << 16))
        except OSError:  # the terminal of a process that has ended
            piece = b""
        if not piece:
            break
    os.close(ours)
    assert process.wait() == 0, shown
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()


def test_on_a_terminal_a_stream_tells_how_many_there_are_by_now(scripts: Path):
    corpus = Path(__file__).parents[2] / "examples/heldout.jsonl.gz"
    shown = on_a_terminal(scripts / "dial-pairs", "--window", "1,2,3", corpus)
    pairs = re.search(r"dial-pairs: ([\d,]+) pairs from 600 dialogues", shown)
    assert pairs and f"dial-pairs {pairs[1]} pairs  " in shown.replace(
        "dial-pairs  ", "dial-pairs "
    )


def test_data_on_the_same_terminal_have_lines_of_their_own(scripts: Path):
    corpus = Path(__file__).parents[2] / "examples/heldout.jsonl.gz"
    shown = on_a_terminal(scripts / "dial-pairs", "-n", 50, corpus, data=True)
    assert shown.startswith("\rdial-pairs 0 pairs")
    lines = re.split(r"[\r\n]+", shown)
    assert sum(line.startswith('{"context":') for line in lines) == 50
    assert not any(re.search(r'.\{"context":', line) for line in lines)


def test_who_writes_into_a_pipe_clears_the_bar_of_who_reads_it(scripts: Path):
    corpus = Path(__file__).parents[2] / "examples/heldout.jsonl.gz"
    pipe = f"{scripts}/dial-pairs {corpus} | {scripts}/dial-freq > /dev/null"
    shown = on_a_terminal("sh", "-c", pipe)
    assert re.search(r"[\r\n]dial-freq  ?0 ", shown)
    assert re.search(r"(^|[\r\n])dial-pairs: [\d,]+ pairs", shown)
