"""What killed runs left goes; what is of a run that is at work, or of others, stays."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dialtools.cli._exit import as_dial_error
from dialtools.errors import DataError, OutputError
from dialtools.streams import checksums, scraps
from dialtools.streams.atomic import atomic_directory, atomic_file
from dialtools.streams.scraps import clear_scraps, remove_folder, temporary_folder

GONE = 999_999_999  # no such process
ALIVE = os.getppid()


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_half_written_files_go_if_no_other_process_has_their_number(tmp_path: Path):
    going = {f".x.y.{GONE}.tmp", f".x.y.{os.getpid()}.old", f".x.y.{10**30}.old"}
    staying = {
        *(f".x.y.{ALIVE}.tmp", f".xzy.{GONE}.tmp", f"x.y.{GONE}.tmp", f".x.y.{GONE}.new"),
        *("x.y", ".x.y.1a.tmp", f".x.y.{GONE}.tmp.gz"),
    }
    for name in going | staying:
        (tmp_path / name).touch()
    (tmp_path / f".x.y.{GONE}.old").mkdir()
    (tmp_path / f".x.y.{GONE}.old" / "part").touch()
    clear_scraps(tmp_path / "x.y")
    assert names(tmp_path) == staying


def test_somebody_elses_process_is_another_and_one_that_is_not_there_none(
    monkeypatch: pytest.MonkeyPatch,
):
    assert scraps._is_another(ALIVE)
    assert not scraps._is_another(os.getpid()) and not scraps._is_another(GONE)

    def refuse(process: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert scraps._is_another(GONE)


@pytest.mark.parametrize("make", [atomic_file, atomic_directory])
def test_what_another_machine_is_writing_is_no_scrap_of_a_process_that_is_not_here(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its processes cannot be seen from here, and their numbers come again."""
    elsewhere, here = GONE, os.getpid()
    final, left = tmp_path / "x", tmp_path / f".x.{GONE + 1}.tmp"
    left.touch()
    with pytest.raises(OutputError, match="exists already"), monkeypatch.context() as there:
        there.setattr(os, "getpid", lambda: elsewhere)
        with make(final, overwrite=False) as theirs:
            there.setattr(os, "getpid", lambda: here)
            with make(final, overwrite=False) as ours:
                assert theirs.exists() and ours != theirs and not left.exists()
                write(ours)
            there.setattr(os, "getpid", lambda: elsewhere)
            with (
                pytest.raises(OutputError, match="another run is writing it"),
                make(final, overwrite=True),
            ):
                raise AssertionError
            assert theirs.exists()
            write(theirs)
    assert names(tmp_path) == {"x"}


def write(path: Path) -> None:
    (path / "part" if path.is_dir() else path).write_text("content")


def test_a_killed_run_leaves_a_scrap_and_no_lock(tmp_path: Path):
    writing = "import os, sys; from dialtools.streams.atomic import *; "
    writing += "output = atomic_file(sys.argv[1], overwrite=False); output.__enter__(); "
    writing += "os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", writing, tmp_path / "x"], check=False)
    assert len(names(tmp_path)) == 1
    clear_scraps(tmp_path / "x")
    assert names(tmp_path) == set()


def test_a_temporary_folder_is_locked_until_it_goes(parent: Path):
    with temporary_folder() as folder:
        assert folder.parent == parent and folder.name.startswith(f"dialtools-{os.getpid()}-")
        (folder / "file").touch()
        assert scraps._is_locked(folder)
        with temporary_folder() as inner:
            assert folder.is_dir() and inner != folder
    assert not folder.exists() and names(parent) == set()


def test_no_lock_stays_open(parent: Path):
    opened = lambda: names(Path("/proc/self/fd"))  # noqa: E731
    before = opened()
    with temporary_folder() as folder:
        assert scraps._is_locked(folder)
    assert opened() == before


def test_folders_of_killed_runs_go_unless_somebody_holds_their_lock(parent: Path):
    held, left, link = (parent / f"dialtools-{GONE}-{name * 16}" for name in "abc")
    target, own = parent / "precious", parent / f"dialtools-{GONE}-notes"
    for folder in (held, left, target, own, parent / "other-1-x"):
        folder.mkdir()
        (folder / "file").touch()
    link.symlink_to(target)
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with temporary_folder() as folder:
        assert names(parent) == {held.name, "precious", own.name, "other-1-x", folder.name}
        assert names(target) == {"file"}, "a link goes, not what it leads to"
    os.close(lock)
    with temporary_folder():
        assert not held.exists()
    assert scraps._is_locked(held), "what is gone is nobody's to remove"


def test_where_no_lock_can_be_had_the_number_of_the_process_decides(
    parent: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(lock: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    left = parent / f"dialtools-{GONE}-{'a' * 16}"
    left.mkdir()
    with temporary_folder() as folder:
        assert names(parent) == {folder.name}
    assert names(parent) == set()


def test_a_folder_goes_also_when_its_removal_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "folder"
    folder.mkdir()
    remove, calls = shutil.rmtree, []

    def once_interrupted(path: Path, *, ignore_errors: bool) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", once_interrupted)
    with pytest.raises(KeyboardInterrupt):
        remove_folder(folder)
    assert not folder.exists()
    remove_folder(folder)  # which is not there


def test_a_half_written_file_that_cannot_be_read_has_the_name_that_the_user_gave(tmp_path: Path):
    """A run reads its own store, to note checksums."""
    folder = tmp_path / "model.partial"
    folder.mkdir()
    with (
        pytest.raises(DataError) as told,
        atomic_directory(folder / "store", overwrite=True) as aside,
    ):
        checksums.of_file(aside / "texts.bin")
    error = as_dial_error(OSError(errno.EMFILE, "odd", str(aside / "texts.bin")))
    assert [told.value.where, error.where] == [str(tmp_path / "model")] * 2
    with pytest.raises(DataError, match=r"partial/texts\.bin"):
        checksums.of_file(folder / "texts.bin")
