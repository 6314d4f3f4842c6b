"""What a job is, who may work in its folder, what is taken up again and what is refused."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import orjson
import pytest

from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.options import RunOptions, argument, option
from dialtools.streams.atomic import atomic_file
from dialtools.streams.digests import RecordDigest, hashed_stdin, stdin_is
from dialtools.streams.full import naming
from dialtools.streams.job import Job
from dialtools.streams.locks import Lock, locked
from dialtools.streams.provenance import Inputs, as_metadata, provenance
from dialtools.streams.resume import Work


@dataclass
class Options(RunOptions):
    inputs: tuple[str, ...] = argument(help="files")
    lr: float = option(0.1, help="changes the result")
    shots: int = option(1, help="says which pieces there are")
    jobs: int = option(1, short="-j", help="changes how it goes", how=True)
    other: str | None = option(None, metavar="FILE", help="another file that is read")


@pytest.fixture
def options(tmp_path: Path) -> Options:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    return Options(inputs=(str(tmp_path / "in.jsonl"),))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def work_on(output: Path, options: Options, *, resume=False, overwrite=False, **facts) -> Work:
    job = Job("dial-test", options, Inputs(options.inputs), facts, pieces=("shots",))
    return Work(str(output), job, resume=resume, overwrite=overwrite)


def interrupt(output: Path, options: Options, **facts) -> None:
    """Leave a run behind that has finished one piece."""
    with pytest.raises(KeyboardInterrupt), work_on(output, options, **facts) as work:
        work.add("one", {"accuracy": 50.0}, skipped=2)
        raise KeyboardInterrupt


def write(output: Path, work: Work) -> None:
    with atomic_file(output, overwrite=work.overwrite) as path:
        path.write_text("scores\n")


def finish(output: Path, options: Options, *, overwrite: bool = False) -> None:
    with work_on(output, options, overwrite=overwrite) as work:
        work.add("one", 1)
        write(output, work)
        work.finish()


def test_an_interrupted_job_keeps_its_pieces_and_the_same_job_goes_on(output, options):
    interrupt(output, options)
    with work_on(output, replace(options, jobs=8, quiet=True), resume=True) as work:
        assert work.resumed and work.pieces == {"one": {"accuracy": 50.0}}
        assert work.skipped == 2, "bad records of a finished piece count after a resume too"
        work.add("two", [1, 2], skipped=1)
        assert work.skipped == 3
        write(output, work)
        work.finish()
    assert not work.folder.exists()


def test_a_run_that_replaces_one_in_a_folder_with_files_of_others_can_be_gone_on_with(
    output, options
):
    finish(output, options)
    with pytest.raises(KeyboardInterrupt), work_on(output, options, overwrite=True) as work:
        work.add("one", 1)
        raise KeyboardInterrupt
    (work.folder / "notes.txt").write_text("mine")
    other = replace(options, lr=0.3)
    with pytest.raises(KeyboardInterrupt), work_on(output, other, overwrite=True) as work:
        assert work.pieces == {}
        work.add("two", 2)
        raise KeyboardInterrupt
    assert (work.folder / "notes.txt").read_text() == "mine"
    with work_on(output, other, resume=True) as work:
        assert work.resumed and work.overwrite and work.pieces == {"two": 2}
        write(output, work)
        work.finish()
    assert [path.name for path in work.folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_killed_before_any_file_gets_or_loses_its_name_is_gone_on_with(
    output: Path, options: Options, overwrite: bool
):
    """Each moment in turn, until a run comes to its end; the output says which job it is of."""
    for moment in count():
        if overwrite:
            output.write_text("of another job\n")
        if (killed := os.fork()) == 0:
            kill_at_rename(moment)
            finish(output, options, overwrite=overwrite)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(killed, 0)[1])
        begun = not overwrite or Path(f"{output}.partial").exists()
        with work_on(output, options, resume=begun, overwrite=not begun) as work:
            if not work.finished:
                write(output, work)
                work.finish()
        with work_on(output, options, resume=True) as work:
            assert "finished already" in work.finished
        left = {path.name for path in output.parent.iterdir()}
        assert left == {"in.jsonl", "out.jsonl", "out.jsonl.job.json"}
        assert output.read_text() == "scores\n"
        output.unlink()
        Path(f"{output}.job.json").unlink()
        if not ended:
            return


def kill_at_rename(moment: int) -> None:
    """Let this process end as by kill -9 before a rename, or before the one after it, ..."""
    moments = iter(range(moment))

    def dying(rename: Callable[..., Path]) -> Callable[..., Path]:
        def renamed(self: Path, target: Path) -> Path:
            if next(moments, None) is None:
                os._exit(9)
            return rename(self, target)

        return renamed

    for name in ("replace", "rename"):
        setattr(Path, name, dying(getattr(Path, name)))


def test_without_a_word_an_interrupted_run_is_left_alone_and_both_ways_out_are_told(
    output, options
):
    interrupt(output, options)
    with pytest.raises(OutputError, match="an interrupted run is here") as told:
        work_on(output, options).__enter__()
    assert "--resume" in (told.value.hint or "") and "--overwrite" in (told.value.hint or "")
    with work_on(output, options, overwrite=True) as work:
        assert work.pieces == {}


def test_other_options_are_refused_as_usage_and_named(output, options):
    interrupt(output, options, precision="float32")
    with pytest.raises(ConfigError, match=r"cannot resume: --lr was 0\.1, is 0\.2") as told:
        work_on(output, replace(options, lr=0.2), resume=True, precision="float32").__enter__()
    assert told.value.exit_code == 2
    with pytest.raises(ConfigError, match="precision was float32, is bfloat16"):
        work_on(output, options, resume=True, precision="bfloat16").__enter__()
    with work_on(output, replace(options, shots=5), resume=True, precision="float32") as work:
        assert work.pieces, "an option that says which pieces there are may change"


def test_other_inputs_are_refused_as_a_failure_with_both_ways_out(output, options, tmp_path):
    (tmp_path / "other").write_text("as it was")
    options = replace(options, other=str(tmp_path / "other"))
    interrupt(output, options)
    for name in ("in.jsonl", "other"):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"x")
        with pytest.raises(OutputError, match=f"cannot resume: .*{name} was .* is") as told:
            work_on(output, options, resume=True).__enter__()
        assert told.value.exit_code == 1 and "--overwrite" in (told.value.hint or "")
        assert "another -o" in (told.value.hint or "")
        (tmp_path / name).write_bytes(before)
    (tmp_path / "in.jsonl").rename(tmp_path / "renamed.jsonl")
    renamed = replace(options, inputs=(str(tmp_path / "renamed.jsonl"),))
    with work_on(output, renamed, resume=True) as work:
        assert work.pieces, "an input is known by its content, not by its name"


def test_a_finished_job_is_told_and_not_done_again(output, options, tmp_path):
    finish(output, options)
    with work_on(output, options, resume=True) as work:
        assert "out.jsonl: finished already" in work.finished
    assert {path.name for path in tmp_path.iterdir()} == {
        "in.jsonl",
        "out.jsonl",
        "out.jsonl.job.json",
    }
    for changed in (replace(options, lr=0.2), replace(options, shots=5)):
        with pytest.raises(OutputError, match="is finished, of another job") as told:
            work_on(output, changed, resume=True).__enter__()
        assert "--overwrite" in (told.value.hint or "") and "another -o" in (told.value.hint or "")
    (tmp_path / "in.jsonl").write_text('{"text": "b"}\n')
    with pytest.raises(OutputError, match=r"in\.jsonl was 14 bytes"):
        work_on(output, options, resume=True).__enter__()


def test_an_output_that_was_changed_by_hand_does_not_tell_its_job(output, options):
    finish(output, options)
    output.write_text("other scores\n")
    with pytest.raises(OutputError, match="it does not tell which"):
        work_on(output, options, resume=True).__enter__()
    with pytest.raises(OutputError, match="exists already"):
        work_on(output, options).__enter__()


def test_a_table_tells_its_job_in_its_metadata(options, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("out.parquet", "out.arrow"):
        output = tmp_path / name
        with work_on(output, options) as work:
            table = pa.table({"a": [1]}).replace_schema_metadata(as_metadata(work.job.provenance()))
            if name == "out.parquet":
                pq.write_table(table, output)
            else:
                with pa.ipc.new_stream(output, table.schema) as stream:
                    stream.write_table(table)
            work.finish()
        assert not (tmp_path / f"{name}.job.json").exists()
        with work_on(output, options, resume=True) as work:
            assert work.finished


def test_a_run_killed_between_writing_and_tidying_up_is_finished(output, options):
    interrupt(output, options)
    before = sorted(path.name for path in output.parent.iterdir())
    saved = {path: path.read_bytes() for path in (output.parent / "out.jsonl.partial").iterdir()}
    with work_on(output, options, resume=True) as work:
        write(output, work)
        work.finish()
    work.folder.mkdir()
    for path, data in saved.items():
        path.write_bytes(data)
    with work_on(output, options, resume=True) as work:
        assert work.finished
    assert "out.jsonl.partial" in before and not work.folder.exists()


def test_a_run_that_may_replace_its_output_may_after_a_resume_too(output, options):
    finish(output, options)
    again = replace(options, lr=0.5)
    with pytest.raises(KeyboardInterrupt), work_on(output, again, overwrite=True) as work:
        work.add("one", 1)
        raise KeyboardInterrupt
    assert output.exists(), "what was there goes only when the new one is done"
    with work_on(output, again, resume=True) as work:
        assert work.resumed and work.overwrite


def test_a_second_run_beside_the_first_ends_in_one_line_whatever_its_flags(output, options):
    with work_on(output, options) as first:
        first.add("one", 1)
        for flags in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(OutputError, match=rf"another run is at work .*{os.getpid()}\)"):
                work_on(output, options, **flags).__enter__()
        assert first.folder.is_dir() and first.pieces


def test_the_lock_goes_with_a_killed_process(output, options, tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from dialtools.streams.locks import Lock; "
        "Lock(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    interrupt(output, options)
    lock = tmp_path / "out.jsonl.partial" / "lock"
    subprocess.run([sys.executable, "-c", code, lock], check=False)
    with work_on(output, options, resume=True) as work:
        assert work.pieces


@pytest.mark.parametrize("flags", [{}, {"resume": True}, {"overwrite": True}])
def test_a_folder_that_is_not_ours_is_never_touched(output, options, flags):
    folder = output.with_name("out.jsonl.partial")
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    (folder / "job.json").write_text('{"name": "a job of somebody else"}')
    with pytest.raises(OutputError, match="was made by something else"):
        work_on(output, options, **flags).__enter__()
    assert {path.name for path in folder.iterdir()} == {"thesis.tex", "job.json"}


@pytest.mark.parametrize("flags", [{}, {"resume": True}, {"overwrite": True}])
def test_a_directory_is_refused_as_a_file_before_any_work(output, options, flags):
    output.mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        work_on(output, options, **flags).__enter__()
    assert [path.name for path in output.parent.glob("*.partial")] == []


@pytest.mark.parametrize("flags", [{}, {"resume": True}, {"overwrite": True}])
def test_a_link_into_nothing_is_not_ours_either(output, options, flags):
    link = output.with_name("out.jsonl.partial")
    link.symlink_to("a-disk-that-is-not-mounted")
    with pytest.raises(OutputError, match="was made by something else"):
        work_on(output, options, **flags).__enter__()
    assert link.is_symlink()


def test_a_file_that_an_option_names_is_known_by_content_by_whatever_name(
    output, options, tmp_path
):
    labelled = tmp_path / "labelled.jsonl"
    labelled.write_text("a\n")
    interrupt(output, replace(options, other=str(labelled)))
    moved = replace(options, other=str(labelled.rename(tmp_path / "moved.jsonl")))
    with pytest.raises(KeyboardInterrupt), work_on(output, moved, resume=True) as work:
        assert work.pieces
        raise KeyboardInterrupt
    (tmp_path / "moved.jsonl").write_text("b\n")
    with pytest.raises(OutputError, match=r"moved.jsonl was 2 bytes .*, is 2 bytes"):
        work_on(output, moved, resume=True).__enter__()


def test_a_failing_run_removes_its_folder_only_if_nothing_worth_keeping_is_in_it(output, options):
    with pytest.raises(ValueError, match="no such label"), work_on(output, options) as work:
        (work.folder / ".store.tmp").write_text("half a store")
        raise ValueError("no such label")
    assert not work.folder.exists()
    with pytest.raises(ValueError, match="bad"), work_on(output, options) as work:
        (work.folder / "checkpoint").write_text("three days")
        raise ValueError("bad")
    assert (work.folder / "checkpoint").exists()
    with pytest.raises(ValueError, match="bad"), work_on(output, options, resume=True) as work:
        raise ValueError("bad")
    assert (work.folder / "checkpoint").exists(), "a failing resume deletes nothing"


def test_a_piece_that_a_kill_left_half_written_is_no_piece(output, options):
    interrupt(output, options)
    pieces = output.with_name("out.jsonl.partial") / "pieces.jsonl"
    pieces.write_bytes(pieces.read_bytes() + b'{"key": "two", "val')
    with work_on(output, options, resume=True) as work:
        assert list(work.pieces) == ["one"]
        work.add("two", 2)
    with work_on(output, options, resume=True) as work:
        assert list(work.pieces) == ["one", "two"]


@pytest.mark.parametrize("call", ["ftruncate", "pwrite", "fsync", "rename"])
def test_a_full_disk_is_told_with_the_name_of_the_output(output, options, monkeypatch, call):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told = f"{output}: No space left on device"
    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(OutputError) as failed, work_on(output, options) as work:
            work.add("one", 1)
    assert str(failed.value) == told
    assert not any(output.parent.glob(".*"))
    with work_on(output, options) as work:
        for path in (work.folder / "part", work.folder / "store" / ".x.7.tmp" / "ids"):
            with pytest.raises(OutputError) as failed, naming(path):
                full()
            assert str(failed.value) == told
    cache = output.with_name("cache")
    with pytest.raises(OutputError) as failed, locked(cache / "entry"):
        monkeypatch.setattr(os, "pwrite", full)
        with locked(cache / "another"):
            raise AssertionError
    assert str(failed.value) == f"{cache}/another: No space left on device"


def test_what_has_nothing_beside_it_keeps_its_pieces_in_memory(options, tmp_path):
    for output in (Path("-"), Path("/dev/null")):
        with work_on(output, options, overwrite=True) as work:
            work.add("one", 1)
            (work.folder / "part").write_text("room to work")
            work.finish()
        assert work.pieces == {"one": 1} and not work.kept
        assert not work.folder.exists() and not Path(f"{output}.partial").exists()
    with pytest.raises(ConfigError, match="stdout cannot be resumed"):
        work_on(Path("-"), options, resume=True)
    with pytest.raises(ConfigError, match="give one"):
        work_on(tmp_path / "x", options, resume=True, overwrite=True)
    with pytest.raises(OutputError, match="no such directory"):
        work_on(tmp_path / "no" / "out", options).__enter__()


class Stdin(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BufferedReader(io.BytesIO(data)))  # type: ignore[arg-type]


def test_stdin_is_known_by_its_content(output, monkeypatch):
    options = Options()
    monkeypatch.setattr(sys, "stdin", Stdin(b"one\ntwo\n"))
    with work_on(output, options) as work:
        with hashed_stdin() as seen:
            assert sys.stdin.buffer.read() == b"one\ntwo\n"
        work.note_stdin(seen.content(), keep=True)
        work.add("spool", 1)
    for again, same in ((b"one\ntwo\n", True), (b"", True), (b"one\ntwo\nx", False), (b"?", False)):
        monkeypatch.setattr(sys, "stdin", Stdin(again))
        if same:
            with work_on(output, options, resume=True) as work:
                assert work.pieces, "the same, or not given again"
            continue
        with pytest.raises(OutputError, match="stdin is not what was read of it: 8 bytes"):
            work_on(output, options, resume=True).__enter__()


def test_of_a_stream_that_was_not_read_to_its_end_as_much_is_compared(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(b"one\ntwo\nthree\n"))
    with hashed_stdin() as seen:
        assert sys.stdin.buffer.read1(4) == b"one\n"
    content = {**seen.content()}
    assert content["ended"] is False
    monkeypatch.setattr(sys, "stdin", Stdin(b"one\ntwo\nthree\nand more"))
    assert stdin_is(content)


def test_records_of_other_content_give_another_digest():
    digests = []
    for texts in (["a", "b"], ["a", "c"]):
        seen = RecordDigest()
        assert len(list(seen((i, {"text": text}) for i, text in enumerate(texts)))) == 2
        digests.append(seen.so_far())
    assert digests[0] != digests[1]


def test_an_input_that_changes_while_it_is_read_is_an_error(options):
    inputs = Inputs(options.inputs)
    Path(options.inputs[0]).write_text("something else\n")
    with pytest.raises(DataError, match="changed while it was read"):
        inputs.described()


def test_files_that_are_read_are_told_as_they_were_whatever_becomes_of_them(options, tmp_path):
    options.other = str(tmp_path / "other.jsonl")
    changing = [Path(options.inputs[0]), Path(options.other)]
    changing[1].write_text("as it was\n")
    jobs = [Job("dial-test", options, Inputs(options.inputs)) for _ in range(3)]
    before = jobs[0].description()
    jobs[0].settle()
    for file, job in zip(changing, jobs[1:], strict=True):
        file.write_text("another text\n")
        with pytest.raises(DataError, match="changed while it was read"):
            job.description()
    assert jobs[0].description() == before


def test_two_runs_on_one_folder_wait_or_are_refused(tmp_path):
    with locked(tmp_path / "cache"):
        with pytest.raises(OutputError, match="another run is at work"):
            Lock(tmp_path / "cache.lock")
        code = (
            "import sys; from dialtools.streams.locks import locked\n"
            "with locked(sys.argv[1], tell=lambda line: print(line, flush=True)): print('mine')"
        )
        command = [sys.executable, "-c", code, tmp_path / "cache"]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert second.stdout
        assert f"(process {os.getpid()}); waiting for it" in second.stdout.readline()
    assert second.communicate(timeout=60)[0] == "mine\n"


@pytest.mark.parametrize("told", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EIO])
def test_a_file_system_without_locks_is_worked_on_and_a_failing_one_is_not(
    told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(told, os.strerror(told))

    monkeypatch.setattr(fcntl, "flock", refuse)
    failing = pytest.raises(OutputError, match="cache: Input/output error")
    refused = failing if told == errno.EIO else nullcontext()
    with refused, locked(tmp_path / "cache"):
        assert (tmp_path / "cache.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize(
    ("argv", "left"),
    [
        (["--lr", "1", "-j", "4", "a"], ["--lr", "1", "a"]),
        (["-j4", "--jobs=4", "-q", "a", "-"], ["a", "-"]),
        (["--config", "x.toml", "--shots", "3"], ["--shots", "3"]),
    ],
)
def test_provenance_tells_the_command_line_without_how_it_went(argv, left, options, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/bin/dial-thing", *argv])
    told = provenance(command="dial-thing", options=Options(), inputs=Inputs(options.inputs))
    assert (told["command"], told["argv"]) == ("dial-thing", left)


def test_the_manifest_is_plain_to_read(output, options):
    interrupt(output, options)
    manifest = orjson.loads((output.with_name("out.jsonl.partial") / "job.json").read_bytes())
    job = manifest["job"]
    assert (job["command"], job["options"]) == ("dial-test", {"lr": 0.1, "shots": 1, "seed": 0})
    assert job["inputs"][0]["bytes"] == 14
