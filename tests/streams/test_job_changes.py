"""How a job differs from another is told in words: options, facts, what was read."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dialtools.options import RunOptions, argument, option
from dialtools.streams.digests import hashed_stdin
from dialtools.streams.job import Job, changes
from dialtools.streams.provenance import Inputs, digest


def job(**changed: Any) -> dict[str, Any]:
    """A job as a manifest tells it."""
    usual = {"command": "dial-x", "options": {"lr": 1, "n": 2}, "inputs": [], "files": {}}
    return {**usual, "shard": None, **changed}


def read(name: str, content: str = "a", size: int = 3, **more: Any) -> dict[str, Any]:
    return {"name": name, "bytes": size, "sha256": content * 32, **more}


def told(before: dict[str, Any], now: dict[str, Any], *free: str) -> tuple[list[str], list[str]]:
    different = changes(before, now, free=free)
    return different.settings, different.inputs


def test_options_and_facts_that_differ_are_told_each_and_free_ones_are_not():
    other = job(options={"lr": 3, "k": 4}, shard={"part": 1}, precision="half")
    lr, n, k = "--lr was 1, is 3", "--n was 2, is not given", "--k was not given, is 4"
    shard, precision = "shard was not given, is {'part': 1}", "precision was not given, is half"
    assert told(job(), other) == ([lr, k, n, shard, precision], [])
    assert told(job(), other, "k", "n", "precision") == ([lr, shard], [])
    assert told(job(), other, *other["options"], "n", "shard", "precision") == ([], [])
    assert told(job(), job()) == ([], []) and not str(changes(job(), job()))
    assert str(changes(job(), job(command="dial-y"))) == "command was dial-x, is dial-y"
    assert told(job(old=1), job()) == ([], []), "what is told no more decides nothing"


def test_a_model_is_the_same_one_wherever_it_lies():
    here, there = {"options": {"model": "a"}}, {"options": {"model": "/mnt/a"}}
    for fact in ("start", "weights"):  # of dial-train, and of dial-embed
        assert told(job(**here, **{fact: "f00"}), job(**there, **{fact: "f00"})) == ([], [])
        other = told(job(**here, **{fact: "f00"}), job(**here, **{fact: "ba5"}))
        assert other == ([f"{fact} was f00, is ba5"], [])
    unknown = ["--model was a, is /mnt/a", "start was not given, is f00"]
    assert told(job(**here), job(**there, start="f00")) == (unknown, [])


def test_of_a_long_list_the_first_few_are_told():
    steps = [f"step {step} " + 100 * "f" for step in range(50)]
    [line], _ = told(job(steps=steps), job(steps=steps[1:]))
    assert line.startswith("steps was step 0 ") and "and 47 more, is step 1 " in line
    assert len(line) < 300
    assert told(job(k=[1, 2]), job(k=[3]))[0] == ["k was [1, 2], is [3]"]


def test_inputs_are_compared_in_their_order_and_told_once():
    x, y, changed = read("x"), read("y", "b"), read("x", "c", 1234)
    assert told(job(inputs=[x, y]), job(inputs=[{**x, "name": "z"}, y])) == ([], [])
    size = "x was 3 bytes, is 1,234"
    assert told(job(inputs=[x, x]), job(inputs=[changed, changed])) == ([], [size])
    assert len(told(job(inputs=[x, y]), job(inputs=[y, x]))[1]) == 2
    for differs in (read("x", size=4), read("x", "b"), read("x", ended=False)):
        assert len(told(job(inputs=[x]), job(inputs=[differs]))[1]) == 1
    assert told(job(inputs=[x, y]), job(inputs=[y]))[1] == ["inputs were x, y, are y"]


def test_what_is_known_by_its_name_alone_is_compared_by_it():
    pipe, other = {"name": "p"}, {"name": "q"}
    assert told(job(inputs=[pipe]), job(inputs=[pipe])) == ([], [])
    assert told(job(inputs=[pipe]), job(inputs=[other]))[1] == ["input was p, is q"]
    gone = ["p was 3 bytes (sha256 aaaaaaaa), is gone"]
    assert told(job(inputs=[read("p")]), job(inputs=[pipe]))[1] == gone
    assert told(job(inputs=[pipe]), job(inputs=[read("p")])) == ([], [])


@pytest.mark.parametrize(("given", "same"), [(b"one", True), (b"two", False), (b"", True)])
def test_stdin_is_read_where_what_it_was_is_known(given: bytes, same: bool, monkeypatch: Any):
    def stdin(data: bytes) -> None:
        raw: Any = io.BytesIO(data)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))

    stdin(b"one")
    with hashed_stdin() as seen:
        sys.stdin.read()
    stdin(given)
    before, now = {"name": "-", **seen.content()}, {"name": "-"}
    differs = told(job(inputs=[before]), job(inputs=[now]))[1]
    assert [text.partition(" (")[0] for text in differs] == [
        "stdin is not what was read of it: 3 bytes"
    ] * (not same)
    assert told(job(inputs=[now]), job(inputs=[now])) == ([], []), "nothing to compare with"


def test_a_file_that_an_option_names_is_an_input_where_both_jobs_have_it():
    before = job(options={"other": "x"}, files={"other": read("x")})
    moved = job(options={"other": "z"}, files={"other": read("z")})
    changed = job(options={"other": "z"}, files={"other": read("z", "b")})
    assert told(before, moved) == ([], [])
    assert told(before, changed)[0] == [] and len(told(before, changed)[1]) == 1
    assert told(before, changed, "other") == ([], [])
    several = job(files={"other": [read("x"), read("y")]})
    assert told(several, several) == ([], [])
    fewer = job(files={"other": [read("x")]})
    assert told(several, fewer) == ([], ["inputs were x, y, are x"])
    for one, two in ((before, job(options={})), (job(options={}), before)):
        assert len(told(one, two)[0]) == 1 and told(one, two)[1] == []


@pytest.mark.parametrize(
    "rubbish",
    [
        {"options": 5},
        {"options": [5]},
        {"inputs": [5]},
        {"inputs": 5},
        {"files": {"other": 5}},
        {"inputs": [{"sha256": 5}]},
    ],
)
def test_a_damaged_job_differs_from_every_other(rubbish: dict[str, Any]):
    now = job(inputs=[read("x", "b")], files={"other": read("y")})
    assert told(job(**rubbish), now) == (["its job is damaged"], [])
    empty = job(options=None, inputs=None, files=None)
    assert told(empty, job())[0] == [
        "--lr was not given, is 1",
        "--n was not given, is 2",
    ], "a job without them has none"


@dataclass
class Options(RunOptions):
    inputs: tuple[str, ...] = argument(help="files")
    weights: str | None = option(None, metavar="FILE", help="a file that decides")
    notes: str | None = option(None, metavar="FILE", help="a file that does not", how=True)
    name: str | None = option(None, metavar="NAME", help="a name")
    none: str | None = option(None, metavar="FILE", help="no file")
    books: tuple[str, ...] = option((), metavar="FILE", help="files that decide", multiple=True)


def test_a_job_tells_options_inputs_files_and_facts(tmp_path: Path):
    for name in ("in", "weights", "notes", "name"):
        (tmp_path / name).write_text(name)
    paths: dict[str, Any] = {
        name: str(tmp_path / name) for name in ("weights", "notes", "name", "none")
    }
    options = Options(inputs=(str(tmp_path / "in"),), **paths)
    made = Job("dial-x", options, Inputs(options.inputs), {"precision": Path("half")})
    weights = {"name": paths["weights"], "bytes": 7, "sha256": digest(paths["weights"])}
    assert made.files() == {"weights": weights}
    told = made.description()
    del paths["notes"]
    assert told["options"] == {"seed": 0, "books": [], **paths} and told["files"] == {
        "weights": weights
    }
    assert [file["bytes"] for file in told["inputs"]] == [2]
    assert (told["shard"], told["precision"], told["command"]) == (None, "half", "dial-x")
    for plain in ("weights", "none"):  # neither given nor there
        setattr(options, plain, None)
    assert Job("dial-x", options, Inputs([])).files() == {}
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part").write_text("in it")
    options.books = (paths["weights"], str(tmp_path / "folder"))
    one, folder = Job("dial-x", options, Inputs([])).files()["books"]
    assert one == weights and (folder["files"], folder["bytes"]) == (1, 5)
