"""What a long job has finished: on the disk at once, taken up only by the same job."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialtools.errors import ConfigError, OutputError
from dialtools.streams.ledger import Ledger


def test_pieces_are_found_again_by_the_same_job_alone(tmp_path: Path):
    out, about = tmp_path / "scores.jsonl", {"lr": 0.1, "inputs": [{"name": "a"}]}
    first = Ledger(out, about, resume=False, overwrite=False)
    assert not first.path.exists(), "a job that fails before its first piece leaves nothing"
    first.add("one", {"accuracy": 50.0})
    first.add("two", [1, 2])
    again = Ledger(out, about, resume=True, overwrite=False)
    assert again.pieces == {"one": {"accuracy": 50.0}, "two": [1, 2]}
    with pytest.raises(ConfigError, match=r"lr was 0\.1, is 0\.2"):
        Ledger(out, about | {"lr": 0.2}, resume=True, overwrite=False)
    with pytest.raises(OutputError, match="an interrupted run is here"):
        Ledger(out, about, resume=False, overwrite=False)
    assert Ledger(out, about, resume=False, overwrite=True).pieces == {}
    again.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"[]\n", b"not JSON\n", b"{}\n[1]\n", b'{"lr": 1}\n{"key": "a"}\n', b"\xff\n"],
)
def test_rubbish_is_no_record_of_a_run(tmp_path: Path, content: bytes):
    (tmp_path / "out.partial").write_bytes(content)
    with pytest.raises(OutputError, match="not the record of an interrupted run"):
        Ledger(tmp_path / "out", {"lr": 1}, resume=True, overwrite=False)


def test_what_has_nothing_beside_it_is_kept_in_memory(tmp_path: Path):
    for output in ("-", "/dev/null"):
        ledger = Ledger(output, {}, resume=False, overwrite=True)
        ledger.add("one", 1)
        ledger.remove()
        assert ledger.pieces == {"one": 1}
        assert not Path(f"{output}.partial").exists()
    with pytest.raises(OutputError, match="no such directory"):
        Ledger(tmp_path / "no" / "out", {}, resume=False, overwrite=False)
