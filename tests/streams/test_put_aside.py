"""Bad records fail, are skipped or put aside; what is kept and dropped is counted and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialtools.errors import DataError, OutputError
from dialtools.streams import tally as tallies
from dialtools.streams.atomic import atomic_file
from dialtools.streams.policy import Collecting, Policy, Rejected, Where
from dialtools.streams.tally import Tally, counted, given

AT = Where("x.jsonl", 3)


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def aside(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write(path: Path) -> None:
    with atomic_file(path, overwrite=False) as temporary:
        temporary.touch()


def test_what_is_put_aside_tells_place_reason_and_text(tmp_path: Path):
    path = tmp_path / "a=b.jsonl"
    path.write_text("of a run before\n")
    with Policy(f"quarantine={path}") as policy:
        assert (policy.fails, policy.skipped, policy.path) == (False, 0, path)
        policy.reject(AT, "odd", b"\xff{", "a hint")
        policy.reject(Where("y", 1), "none")
        policy.reject(AT, "told", {"a": AT})
        policy.reject(AT, "deep", nested(2000))
        assert policy.skipped == 4
        file = policy._file
    assert file is not None and file.closed
    rows = [(row["file"], row["line"], row["error"], row["raw"]) for row in aside(path)]
    told = ("x.jsonl", 3, "told", '{"a":"x.jsonl:3"}')
    assert rows == [
        *(("x.jsonl", 3, "odd", "\N{REPLACEMENT CHARACTER}{"), ("y", 1, "none", "")),
        *(told, ("x.jsonl", 3, "deep", "")),
    ]


def test_the_first_bad_record_fails_or_all_are_counted(tmp_path: Path):
    with pytest.raises(DataError) as told, Policy() as policy:
        policy.reject(AT, "odd", b"raw", "a hint")
    assert str(told.value) == "x.jsonl:3: odd" and told.value.hint == "a hint"
    path = tmp_path / "aside"
    for policy in (Policy("skip"), Policy(f"quarantine={path}", dry=True)):
        with policy:
            policy.reject(AT, "odd")
            policy.reject(AT, "odd")
        assert policy.skipped == 2 and policy.path is None and not path.exists()
    with Policy(f"quarantine={path}"):
        pass
    assert not path.exists(), "nothing was bad"


def test_a_place_for_bad_records_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(OutputError, match="no such directory") as told:
        Policy(f"quarantine={tmp_path}/none/x").reject(AT, "odd")
    assert told.value.where == f"{tmp_path}/none"


def test_bad_records_have_their_file_before_the_output_has_its_name(tmp_path: Path):
    bad = tmp_path / "bad"
    with Policy(f"quarantine={bad}") as policy:
        policy.reject(AT, "odd")
        (tmp_path / "o.partial").mkdir()
        write(tmp_path / "o.partial" / "part")
        assert not bad.exists(), "the output is not finished"
        write(tmp_path / "output")
        assert [row["error"] for row in aside(bad)] == ["odd"]
        policy.reject(AT, "late")
    assert [row["error"] for row in aside(bad)] == ["odd", "late"]


def test_of_a_run_that_fails_no_bad_records_stay(tmp_path: Path):
    with pytest.raises(RuntimeError), Policy(f"quarantine={tmp_path}/bad") as policy:
        policy.reject(AT, "odd")
        raise RuntimeError
    assert not [*tmp_path.iterdir()]


def test_an_output_whose_bad_records_cannot_be_written_has_no_name(tmp_path: Path):
    full = pytest.raises(OutputError, match="No space left")
    with full as told, Policy("quarantine=/dev/full") as policy:
        policy.reject(AT, "odd")
        write(tmp_path / "output")
    assert told.value.where == "/dev/full" and not [*tmp_path.iterdir()]


def test_what_a_worker_collects_its_parent_deals_with():
    worker, parent = Collecting(), Policy("skip")
    for raw in (b"x", {"a": 1}):
        worker.reject(AT, "odd", raw, "a hint")
    worker.reject(AT, "none")
    assert worker.rejected == [
        Rejected(AT, "odd", b"x", "a hint"),
        Rejected(AT, "odd", b'{"a":1}', "a hint"),
        Rejected(AT, "none", b"", None),
    ]
    parent.replay(worker.rejected)
    assert (parent.skipped, worker.skipped) == (3, 0)
    with pytest.raises(DataError) as told:
        Policy().replay(worker.rejected)
    assert told.value.hint == "a hint" and not worker.fails


def test_numbers_are_told_with_what_they_count():
    for number, noun, told in (
        *((0, "pair", "0 pairs"), (1, "pair", "1 pair"), (2, "pair", "2 pairs")),
        *((1200, "class", "1,200 classes"), (1, "class", "1 class"), (2, "batch", "2 batches")),
    ):
        assert counted(number, noun) == told
    for number, reason, told in (
        *((1, "short", "1 short"), (1, "turns of tools", "1 turn of tools")),
        *((2, "turns of tools", "2 turns of tools"), (1200, "short", "1,200 short")),
    ):
        assert given(number, reason) == told


def test_counts_of_workers_add_up_and_those_of_another_part_are_forgotten(monkeypatch):
    one, two = Tally(), Tally()
    for tally in (one, two):
        tally.sources += 2
        tally.keep()
        tally.keep(3)
        tally.drop("short", 5)
        tally.miss("kim")
        tally.facts["turns"] += 7
    two.drop("turns of tools")
    two.miss("lee", 2)
    one.merge(two)
    assert (one.sources, one.kept, dict(one.facts)) == (4, 8, {"turns": 14})
    assert one.dropped == {"short": 10, "turns of tools": 1}
    assert one.unmapped == {"kim": 2, "lee": 2}
    assert one.line("pair") == "8 pairs; dropped 11: 10 short, 1 turn of tools"
    assert one.counts() == {"kept": 8, "dropped: short": 10, "dropped: turns of tools": 1}
    monkeypatch.setattr(tallies, "NAMES", 2)
    one.miss("max", 3)
    one.miss("kim")
    one.drop("new")
    assert one.unmapped == {"kim": 3, "lee": 2, "others": 3}
    assert one.dropped == {"short": 10, "turns of tools": 1, "others": 1}
    one.forget()
    assert vars(one) == vars(Tally()) and one.line("pair", " from 2") == "0 pairs from 2"


def test_of_many_reasons_the_most_frequent_are_told_and_how_many_more():
    tally = Tally()
    for n in range(1, 11):
        tally.drop(f"reason {n}", n)
    told = ", ".join(f"{n} reason {n}" for n in range(10, 2, -1))
    assert tally.line("pair") == f"0 pairs; dropped 55: {told} and 2 more"
