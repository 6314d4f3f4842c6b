"""make flood: a stream that is never stored passes, and is told as a row."""

from __future__ import annotations

import sys
from pathlib import Path

from at_work import ended

FLOOD = Path(__file__).resolve().parents[2] / "bench" / "flood.py"


def test_each_pair_of_a_stream_comes_through_in_memory_that_is_told(tmp_path: Path):
    command = [sys.executable, FLOOD, "pairs", "--gigabytes", "0.032", "--folder", tmp_path]
    done = ended(*command, text=True)
    _, chain, size, records, *_ = (cell.strip() for cell in done.stdout.split("|"))
    assert (chain, size) == ("dial-pairs", "0.03")
    assert int(records.replace(",", "")) > 10_000
    assert not list(tmp_path.iterdir())
