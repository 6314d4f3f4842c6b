"""A working folder is claimed, kept, gone on with and removed: one rule a test, in one process."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import DataError, OutputError
from dialtools.options import RunOptions, argument, option
from dialtools.streams import job_files, resume, scraps
from dialtools.streams.atomic import atomic_file
from dialtools.streams.job import Job
from dialtools.streams.job_files import (
    add_piece,
    beside,
    job_of_output,
    read_manifest,
    read_pieces,
    remove,
    write_beside,
)
from dialtools.streams.provenance import Inputs, as_metadata, digest
from dialtools.streams.resume import Work

GONE = 999_999_999  # no such process


@dataclass
class Options(RunOptions):
    inputs: tuple[str, ...] = argument(help="files")
    lr: float = option(0.1, help="changes the result")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "in.jsonl").write_text("{}\n")
    return tmp_path / "out.jsonl"


def work_on(output: Path, *, lr: float = 0.1, resume=False, overwrite=False, **more: Any) -> Work:
    options = Options(inputs=(str(output.parent / "in.jsonl"),), lr=lr)
    tell = more.pop("tell", print)
    job = Job("dial-test", options, Inputs(options.inputs), **more)
    return Work(str(output), job, resume=resume, overwrite=overwrite, tell=tell)


def interrupt(work: Work) -> Path:
    """Leave a run behind that has finished one piece; return its folder."""
    with pytest.raises(KeyboardInterrupt), work:
        work.add("one", 1)
        raise KeyboardInterrupt
    return work.folder


def finish(work: Work) -> None:
    with work:
        assert not work.finished
        with atomic_file(work.final, overwrite=work.overwrite) as path:
            path.write_text("scores\n")
        work.finish()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_directory_and_a_file_are_each_refused_where_the_other_is_to_stand(output: Path):
    output.write_text("a file")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="is no directory"):
            work_on(output, overwrite=overwrite, directory=True).__enter__()
    output.unlink()
    output.mkdir()
    interrupt(work_on(output, overwrite=True, directory=True))
    assert output.is_dir()


def test_a_claim_clears_what_a_killed_one_left_beside_the_folder_and_in_it(output: Path):
    folder = interrupt(work_on(output))
    (output.parent / f".{folder.name}.{GONE}.tmp").mkdir()
    (folder / ".part.tmp").write_text("half")
    (folder / ".tmp9QVy8W").write_text("half, of safetensors")
    (folder / ".part.old").mkdir()
    (folder / "part").write_text("whole")
    with work_on(output, resume=True) as work:
        assert work.resumed and not work.finished
        assert names(output.parent) == {"in.jsonl", folder.name}
        assert names(folder) == {"job.json", "lock", "pieces.jsonl", "part"}


def test_a_folder_that_a_run_of_this_number_left_half_made_is_made_anew(output: Path, monkeypatch):
    monkeypatch.setattr(resume, "clear_scraps", lambda folder: None)
    made = output.with_name(f".out.jsonl.partial.{os.getpid()}.tmp")
    made.mkdir()
    (made / "rubbish").touch()
    with work_on(output) as work:
        assert names(work.folder) == {"job.json", "lock"} and not made.exists()


@pytest.mark.parametrize("error", [OSError("no room"), KeyboardInterrupt()])
def test_a_folder_that_cannot_be_made_leaves_nothing(output: Path, monkeypatch, error):
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(resume, "write_manifest", refuse)
    with pytest.raises(type(error)):
        work_on(output).__enter__()
    assert names(output.parent) == {"in.jsonl"}


def test_of_two_runs_that_begin_at_once_one_makes_the_folder(output: Path, monkeypatch):
    rename, others = Path.rename, work_on(output)

    def late(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "rename", rename)
        others.__enter__()
        (target / "theirs").touch()  # so that no rename replaces it
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(OutputError, match="another run is at work here"):
        work_on(output).__enter__()
    assert names(output.parent) == {"in.jsonl", "out.jsonl.partial"}
    (others.folder / "theirs").unlink()
    others.finish()
    others.__exit__(None, None, None)
    assert names(output.parent) == {"in.jsonl"}


def test_a_folder_that_goes_while_it_is_looked_at_is_made(output: Path, monkeypatch):
    folder = interrupt(work_on(output))

    def too_late(path: Path) -> dict[str, Any]:
        monkeypatch.setattr(resume, "read_manifest", read_manifest)
        shutil.rmtree(path)
        return read_manifest(path)

    monkeypatch.setattr(resume, "read_manifest", too_late)
    with work_on(output, resume=True) as work:
        assert not work.resumed and work.pieces == {} and names(folder) == {"job.json", "lock"}


def test_a_claim_that_is_refused_lets_go_of_the_folder(output: Path):
    interrupt(work_on(output))
    for flags in ({}, {"lr": 0.2, "resume": True}):
        with pytest.raises(Exception, match=r"interrupted run|cannot resume"):
            work_on(output, **flags).__enter__()
    with work_on(output, resume=True) as work:
        assert work.pieces == {"one": 1}


def test_the_same_job_begun_anew_with_overwrite_is_not_finished_by_the_old_output(output: Path):
    finish(work_on(output))
    interrupt(work_on(output, overwrite=True))
    with work_on(output, resume=True) as work:
        assert not work.finished and work.resumed and work.overwrite
    with work_on(output, overwrite=True) as work:
        assert not work.resumed and work.pieces == {}
    assert output.read_text() == "scores\n"


def test_with_an_output_of_another_job_an_interrupted_one_goes_on_and_ends_refused(output: Path):
    interrupt(work_on(output))
    output.write_text("of somebody")
    with work_on(output, resume=True) as work:
        assert work.pieces == {"one": 1} and not work.finished and not work.overwrite
    with pytest.raises(OutputError, match="exists already"):
        finish(work_on(output, resume=True))
    assert output.read_text() == "of somebody"


def test_only_what_is_ours_goes_from_a_folder_with_things_of_others(output: Path):
    makes = ("part-*", "store")
    folder = interrupt(work_on(output, makes=makes))
    for name in ("part-1", "notes", "apart-2", "store.txt"):
        (folder / name).touch()
    (folder / "store").mkdir()
    (folder / "store" / "x").touch()
    with work_on(output, overwrite=True, makes=makes) as work:
        assert names(folder) == {"job.json", "lock", "notes", "apart-2", "store.txt"}
        work.finish()
    assert names(folder) == {"notes", "apart-2", "store.txt"}


def test_a_folder_of_which_all_is_ours_goes_as_a_whole(output: Path):
    folder = interrupt(work_on(output, makes=("part",)))
    (folder / "part").touch()
    (folder / ".part.tmp").touch()
    with work_on(output, overwrite=True, makes=("part",)) as work:
        assert names(folder) == {"job.json", "lock"} and work.pieces == {}
        work.finish()
    assert names(output.parent) == {"in.jsonl"}


@pytest.mark.parametrize("content", [b"", b"a step"])
def test_a_run_that_fails_before_it_made_anything_leaves_no_folder(output: Path, content: bytes):
    with pytest.raises(DataError), work_on(output) as work:
        (work.folder / "log").write_bytes(content)
        raise DataError("too few responses")
    assert work.folder.exists() == bool(content)


def test_a_folder_that_cannot_be_tidied_hides_neither_an_output_nor_what_ended_a_run(
    output: Path, monkeypatch
):
    told: list[str] = []

    def stuck(path: Path) -> None:
        if path.suffix == ".partial":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(resume, "remove", stuck)
    with pytest.raises(DataError, match="too few"), work_on(output):
        raise DataError("too few responses")
    finish(work_on(output, resume=True, tell=told.append))
    assert output.read_text() == "scores\n"
    assert told == [f"{output}.partial: cannot be removed: Input/output error"]
    monkeypatch.undo()
    with work_on(output, resume=True) as work:
        assert work.finished and not work.folder.exists()


def test_a_run_that_fails_after_it_was_told_finished_touches_nothing(output: Path):
    finish(work_on(output))
    with pytest.raises(ValueError, match="later"), work_on(output, resume=True) as work:
        assert work.finished == f"{output}: finished already, of the same inputs and options"
        raise ValueError("later")
    assert names(output.parent) == {"in.jsonl", "out.jsonl", "out.jsonl.job.json"}


def test_a_run_that_ends_well_leaves_its_folder_until_it_says_that_it_is_done(output: Path):
    with work_on(output) as work:
        pass
    assert names(work.folder) == {"job.json", "lock"}
    with pytest.raises(ValueError, match="x"), work_on(output, resume=True):
        raise ValueError("x")
    assert names(work.folder) == {"job.json", "lock"}, "nor one that goes on and fails"


def test_a_run_that_another_version_began_is_gone_on_with_and_told(output: Path, monkeypatch):
    told: list[str] = []
    interrupt(work_on(output, tell=told.append))
    for version in ("0.1", "0.2"):
        monkeypatch.setattr(resume, "__version__", version)
        monkeypatch.setattr(job_files, "__version__", version)
        interrupt(
            work_on(output, resume=version == "0.2", overwrite=version == "0.1", tell=told.append)
        )
    begun = "begun by dialtools 0.1, goes on with 0.2: --overwrite makes all alike"
    assert told == [f"{output}.partial: {begun}"]


def test_a_piece_of_other_records_is_told_with_the_way_out(output: Path):
    with work_on(output) as work:
        work.expect("part 1", {"a": 1}, {"a": 1})
        with pytest.raises(OutputError) as told:
            work.expect("part 1", 1, 2)
    what = "cannot resume: part 1 was made of other records than are read now"
    assert what in str(told.value) and told.value.where == str(work.folder)


def test_what_is_known_of_stdin_is_kept_where_no_later_run_reads_it(output: Path, tmp_path: Path):
    seen = {"bytes": 3, "sha256": "7"}

    def stdin_job(output: str) -> Work:
        return Work(output, Job("x", Options(), Inputs(["-"])), resume=False, overwrite=True)

    def kept(folder: Path) -> dict[str, Any]:
        return orjson.loads((folder / "job.json").read_bytes())

    with stdin_job(str(output)) as work:
        work.note_stdin(seen)
        assert kept(work.folder)["job"]["inputs"] == [{"name": "-"}]
        work.note_stdin(seen, keep=True)
        assert kept(work.folder)["job"]["inputs"] == [{"name": "-", **seen}]
        assert kept(work.folder)["overwrite"] is True
        assert work.job.provenance({"kept": 5})["inputs"] == [{"name": "-", **seen}]
        assert work.job.provenance({"kept": 5})["counts"] == {"kept": 5}
    with stdin_job("-") as work:
        work.note_stdin(seen, keep=True)
        assert names(work.folder) == set() and work.job.inputs.stdin == {"name": "-", **seen}


def test_what_an_output_tells_holds_files_and_facts(output: Path):
    with work_on(output, facts={"precision": "half"}) as work:
        told = work.job.provenance()
    assert (told["precision"], told["files"], told["command"]) == ("half", {}, "dial-test")


def test_a_table_in_place_of_lines_does_not_keep_their_job_beside_it(tmp_path: Path, output: Path):
    output = output.with_name("out")
    finish(work_on(output))
    assert beside(output).exists()
    with work_on(output, overwrite=True) as work:
        table = pa.table({"a": [1]}).replace_schema_metadata(as_metadata(work.job.provenance()))
        with atomic_file(output, overwrite=work.overwrite) as path:
            pq.write_table(table, path)
        work.finish()
    assert names(tmp_path) == {"in.jsonl", "out"}


def test_a_table_that_tells_no_job_is_not_taken_for_this_one(output: Path):
    for metadata in ({}, {"dialtools": "{}"}, {"dialtools": '{"command": "dial-test"}'}):
        pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(metadata), output)
        with pytest.raises(OutputError, match="it does not tell which"):
            work_on(output, resume=True).__enter__()


# the files of a job


def test_pieces_are_on_the_disk_when_they_are_told_or_half_a_one_is_gone(
    tmp_path: Path, monkeypatch
):
    flushed: list[bytes] = []
    path, fsync = tmp_path / "pieces.jsonl", os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (flushed.append(path.read_bytes()), fsync(file)))
    for key in ("a", "b"):
        add_piece(tmp_path, key, 1, skipped=0)
        assert flushed[-1] == path.read_bytes()
    whole = path.read_bytes()
    assert len(flushed) == 2 and whole.count(b"\n") == 2
    read_pieces(tmp_path)
    assert len(flushed) == 2, "nothing was cut off"
    path.write_bytes(whole[:-1])
    read_pieces(tmp_path)
    assert flushed[2:] == [whole[: len(whole) // 2]]


def test_pieces_are_read_as_they_were_added_and_half_a_line_goes(tmp_path: Path):
    assert read_pieces(tmp_path) == ({}, 0)
    for key, value, skipped in (("a", [1], 2), ("b", Path("x"), 0), ("a", None, 3)):
        add_piece(tmp_path, key, value, skipped=skipped)
    whole = (tmp_path / "pieces.jsonl").read_bytes()
    (tmp_path / "pieces.jsonl").write_bytes(whole + b'{"key"')
    assert read_pieces(tmp_path) == ({"a": None, "b": "x"}, 5)
    assert (tmp_path / "pieces.jsonl").read_bytes() == whole
    assert read_pieces(tmp_path) == ({"a": None, "b": "x"}, 5)


def test_pieces_that_are_none_are_told(tmp_path: Path):
    for line in (b"{}\n", b"[1]\n", b"?\n", b'{"key": "a", "value": 1}\n'):
        (tmp_path / "pieces.jsonl").write_bytes(line)
        with pytest.raises(OutputError, match="cannot resume: damaged") as told:
            read_pieces(tmp_path)
        assert told.value.where == str(tmp_path / "pieces.jsonl")


@pytest.mark.parametrize("was", ["key", "value", "skipped", "crc32", '"one"', "0.5", "7"])
def test_a_piece_of_which_a_character_is_not_as_it_was_written_is_told(tmp_path: Path, was: str):
    add_piece(tmp_path, "one", {"accuracy": 0.5}, skipped=7)
    path = tmp_path / "pieces.jsonl"
    damaged = was.replace("e", "a").replace("5", "6").replace("7", "8").replace("c", "k")
    path.write_text(path.read_text().replace(was, damaged, 1))
    with pytest.raises(OutputError, match="cannot resume: damaged"):
        read_pieces(tmp_path)


@pytest.mark.parametrize("text", ["?", "[]", "{}", '{"schema": "dialtools.job/0"}', None])
def test_a_folder_without_a_manifest_of_ours_is_somebodys(tmp_path: Path, text: str | None):
    if text is not None:
        (tmp_path / "job.json").write_text(text)
    with pytest.raises(OutputError, match="made by something else"):
        read_manifest(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_manifest(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="made by something else"):
        read_manifest(tmp_path / "file")


def test_what_is_told_beside_an_output_is_of_its_content(tmp_path: Path):
    (tmp_path / "x.tmp").write_text("content")
    write_beside(tmp_path / "x", tmp_path / "x.tmp", {"n": Path("y"), "output": "old"})
    assert job_of_output(tmp_path / "x.tmp") is None, "it tells nothing itself"
    (tmp_path / "x.tmp").rename(tmp_path / "x")
    told: Mapping[str, Any] | None = job_of_output(tmp_path / "x")
    content = {"name": str(tmp_path / "x"), "bytes": 7, "sha256": digest(tmp_path / "x")}
    assert told == {"n": "y", "output": content}
    write_beside(tmp_path / "x", tmp_path / "x", {"n": 2})
    assert (job_of_output(tmp_path / "x") or {})["n"] == 2
    columns = tmp_path / "x.columns.jsonl"
    columns.write_text("of each row")
    assert job_of_output(tmp_path / "x") is None, "it has come to lie beside it"
    write_beside(tmp_path / "x", tmp_path / "x", {"n": 3})
    assert (job_of_output(tmp_path / "x") or {})["n"] == 3
    columns.unlink()
    assert job_of_output(tmp_path / "x") is None
    (tmp_path / "x").write_text("another")
    assert job_of_output(tmp_path / "x") is None
    for rubbish in (b"?", b"{}", b"[]", b'{"output": 5}'):
        beside(tmp_path / "x").write_bytes(rubbish)
        assert job_of_output(tmp_path / "x") is None


def test_a_folder_is_out_of_the_way_before_any_of_it_goes(tmp_path: Path, monkeypatch):
    seen: list[Path] = []
    monkeypatch.setattr(scraps, "remove_folder", seen.append)
    for name in ("store", ".store"):
        (tmp_path / name).mkdir()
        remove(tmp_path / name)
        assert seen[-1] == tmp_path / f".store.{os.getpid()}.old" and seen[-1].is_dir()
        assert not (tmp_path / name).exists()
        seen[-1].rmdir()
    (tmp_path / "file").touch()
    remove(tmp_path / "file")
    remove(tmp_path / "file")
    assert names(tmp_path) == set()
