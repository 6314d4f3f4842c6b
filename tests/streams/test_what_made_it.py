"""What made a file, and of what: inputs by content, the command line without its how."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools import __version__
from dialtools.errors import DataError
from dialtools.options import RunOptions, argument, option, specs
from dialtools.streams.provenance import (
    Inputs,
    argv_of_result,
    as_metadata,
    describe,
    digest,
    input_bytes,
    plain_settings,
    provenance,
    read_provenance,
)


@dataclass
class Options(RunOptions):
    inputs: tuple[str, ...] = argument(help="files")
    lr: float = option(0.1, short="-l", help="changes the result")
    names: tuple[str, ...] = option((), metavar="NAME", help="changes the result")
    rest: str | None = option(None, metavar="NAME", help="changes the result")
    jobs: int = option(1, short="-j", help="how it goes", how=True)
    check: bool = option(True, help="how it goes", how=True)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A file of 3 bytes, and a folder of 1 + 2 and an empty pipe."""
    (tmp_path / "x").write_bytes(b"xxx")
    (tmp_path / "in" / "ner").mkdir(parents=True)
    (tmp_path / "in" / "b").write_bytes(b"b")
    (tmp_path / "in" / "ner" / "a").write_bytes(b"aa")
    os.mkfifo(tmp_path / "in" / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "left"),
    [
        (["--check", "a", "--no-check", "b"], ["a", "b"]),
        (["-j", "2", "-l", "3", "-q", "a"], ["-l", "3", "a"]),
        (["--jobs", "-1", "--jobs=3", "-j3", "-vq"], []),
        (["-qj", "2", "-qj2", "-ql", "3", "-vl3", "-q", "a"], ["-l", "3", "-l3", "a"]),
        (["--no-lr", "-", "--", "-j"], ["--no-lr", "-", "--"]),
        (["--jobs"], []),
        (["--rest=a=b", "--rest", "--jobs"], ["--rest=a=b", "--rest"]),
        (["a", "-l=3"], ["a", "-l=3"]),
    ],
)
def test_the_words_that_say_how_it_goes_are_left_out_with_their_values(argv, left):
    assert argv_of_result(argv, specs(Options)) == left


def test_an_output_tells_what_it_needs_to_be_made_again(there: Path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["dial-x", "-j", "2", str(there / "x"), "\udcff"])
    options = Options(inputs=(str(there / "x"),), names=("a",), jobs=2)
    made: dict[str, Any] = {"command": "dial-x", "options": options}
    told = provenance(**made, inputs=Inputs(options.inputs), counts={"kept": 2})
    assert told == {
        "schema": "dialtools.provenance/1",
        "version": __version__,
        "command": "dial-x",
        "argv": [str(there / "x"), "\\xff"],
        "options": {"lr": 0.1, "names": ["a"], "seed": 0},
        "inputs": [{"name": str(there / "x"), "bytes": 3, "sha256": digest(there / "x")}],
        "counts": {"kept": 2},
    }
    assert provenance(**made, inputs=Inputs([]))["counts"] == {}
    odd: Any = Path("r")
    options.rest = odd
    assert plain_settings(options)["rest"] == "r"


def test_sizes_are_of_files_and_of_all_files_in_a_folder(there: Path, monkeypatch):
    assert (input_bytes(str(there / "x")), input_bytes(str(there / "in"))) == (3, 3)
    (there / "-").write_bytes(b"a file of that name")
    monkeypatch.chdir(there)
    for none in ("-", str(there / "none"), str(there / "in" / "pipe")):
        assert input_bytes(none) is None
        assert describe(none) == {"name": none}
    assert describe(str(there / "in"))["files"] == 2
    assert describe(str(there / "in"))["bytes"] == 3
    stdin = Inputs(["-"])
    (there / "-").write_bytes(b"another file of that name")
    assert stdin.described() == [{"name": "-"}]


def test_what_lies_beside_a_matrix_is_read_with_it(there: Path):
    alone, columns = there / "m.npy", there / "m.npy.columns.jsonl"
    alone.write_bytes(b"mm")
    assert describe(str(alone))["sha256"] == digest(alone)
    columns.write_bytes(b"c")
    both = Inputs([str(alone)])
    (told,) = both.described()
    assert (told["files"], told["bytes"]) == (2, 3) and told["sha256"] != digest(alone)
    for file in (alone, columns):
        moved = there / file.name.replace("m.npy", "n.npy")
        moved.write_bytes(file.read_bytes())
    assert describe(str(there / "n.npy"))["sha256"] == told["sha256"], "whatever they are called"
    columns.write_bytes(b"another")
    with pytest.raises(DataError, match="changed while it was read"):
        both.described()


def test_inputs_are_stdin_where_none_is_named_and_of_anothers_no_digest_is_taken(there: Path):
    x, folder = str(there / "x"), str(there / "in")
    inputs = Inputs([x, folder, "-"])
    inputs.unread = {x}
    inputs.note_stdin({"bytes": 5})
    told = inputs.described()
    assert told[0] == {"name": x, "bytes": 3} and "sha256" in told[1]
    assert told[2] == inputs.stdin == {"name": "-", "bytes": 5}
    assert Inputs([]).described() == [{"name": "-"}] and Inputs([]).paths == ("-",)
    assert Inputs((x,)).stdin == {"name": "-"}


@pytest.mark.parametrize("name", ["x", "in/b", "in/ner/a"])
@pytest.mark.parametrize("how", ["longer", "touched", "gone"])
def test_an_input_that_changes_is_told_whenever_it_is_asked_for(there: Path, name: str, how: str):
    inputs = Inputs([str(there / "x"), str(there / "in")])
    assert len(inputs.described()) == 2
    if how == "longer":
        status = (there / name).stat()
        (there / name).write_bytes(b"longer")
        os.utime(there / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif how == "touched":
        os.utime(there / name, ns=(0, 0))
    else:
        (there / name).unlink()
    with pytest.raises(DataError, match="changed while it was read") as told:
        inputs.described()
    assert told.value.where == str(there / name)


def test_what_made_a_file_is_read_from_where_each_kind_has_it(there: Path):
    facts = {"b": Path("p"), "a": 1}
    metadata = as_metadata(facts)
    assert metadata == {"dialtools": '{"a":1,"b":"p"}'}
    table = pa.table({"a": [1]}).replace_schema_metadata(metadata)
    pq.write_table(table, there / "t.parquet")
    for name, begin in (("stream", pa.ipc.new_stream), ("file", pa.ipc.new_file)):
        with begin(there / name, table.schema) as writer:
            writer.write_table(table)
    (there / "in" / "dialtools.json").write_bytes(orjson.dumps(facts, default=str))
    for name in ("t.parquet", "stream", "file", "in"):
        assert read_provenance(there / name) == {"a": 1, "b": "p"}
    pq.write_table(pa.table({"a": [1]}), there / "mute.parquet")
    with pa.ipc.new_file(there / "mute", pa.schema([])):
        pass
    (there / "cut").write_bytes((there / "file").read_bytes()[:-20])
    (there / "empty").touch()
    (there / "list").mkdir()
    (there / "list" / "dialtools.json").write_text("[1]")
    (there / "m.npy").write_bytes(b"\x93NUMPY and more")
    for name in ("mute.parquet", "mute", "cut", "empty", "list", "x", "none", "in/ner", "m.npy"):
        assert read_provenance(there / name) is None


@pytest.mark.parametrize("name", ["t.parquet", "in"])
def test_what_the_system_refuses_to_read_is_not_taken_for_mute(
    there: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    pq.write_table(pa.table({"a": [1]}), there / "t.parquet")
    (there / "in" / "dialtools.json").write_text("{}")

    def refused(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", refused)
    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(DataError, match=rf"{name}.*: Input/output error"):
        read_provenance(there / name)
