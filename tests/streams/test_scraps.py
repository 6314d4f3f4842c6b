"""What killed runs left goes; what is of a run that is at work, or of others, stays."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from dialtools.streams import scraps
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
