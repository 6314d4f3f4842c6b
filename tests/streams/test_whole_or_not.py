"""An output is whole under its name or not there, and what is in its way is told."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dialtools.errors import OutputError
from dialtools.streams import atomic
from dialtools.streams.atomic import (
    atomic_directory,
    atomic_file,
    check_kind,
    check_parent,
    is_special,
    link_or_copy,
    refuse_existing,
    witnessed,
)

GONE = 999_999_999  # no such process


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A file, a folder, a pipe, a link to each, and one into nothing."""
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "folder", "pipe", "nothing"):
        (tmp_path / f"to {name}").symlink_to(name)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "special", "refused", "directory"),
    [
        ("file", False, True, "no directory"),
        ("folder", False, True, "directory"),
        ("pipe", True, False, "no directory"),
        ("nothing", False, False, ""),
    ],
)
def test_what_is_in_the_way_is_told_by_its_kind_through_links_too(
    there: Path, name: str, special: bool, refused: bool, directory: str
):
    for path in (there / name, str(there / f"to {name}")):
        assert is_special(path) is special
        refuse_existing(path, overwrite=True)
        if refused:
            with pytest.raises(OutputError, match="exists already") as told:
                refuse_existing(path, overwrite=False)
            assert told.value.where == str(path) and "--overwrite" in str(told.value.hint)
        else:
            refuse_existing(path, overwrite=False)
        for wanted in (True, False):
            clash = directory == ("no directory" if wanted else "directory")
            if clash:
                with pytest.raises(OutputError, match=f"is (a|no) {directory[-9:]}"):
                    check_kind(path, directory=wanted)
            else:
                check_kind(path, directory=wanted)


def test_a_folder_that_is_not_there_or_cannot_be_written_is_told(tmp_path: Path, monkeypatch):
    check_parent(tmp_path / "x")
    monkeypatch.chdir(tmp_path)
    check_parent(Path("x"))
    for missing in (tmp_path / "none" / "x", tmp_path / "file" / "x"):
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="no such directory") as told:
            check_parent(missing)
        assert told.value.where == str(missing.parent)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(OutputError, match=r"^\.: no such directory"):
        check_parent(Path("x"))
    monkeypatch.chdir(tmp_path)
    asked: list[Any] = []
    monkeypatch.setattr(os, "access", lambda *words: asked.append(words))
    with pytest.raises(OutputError, match="directory is not writable") as told:
        check_parent(Path("x"))
    assert asked == [(tmp_path, os.W_OK)] and told.value.where == "."


@pytest.mark.parametrize("make", [atomic_file, atomic_directory])
def test_an_output_is_written_beside_its_name_without_scraps_of_killed_runs(tmp_path, make):
    (tmp_path / f".x.{GONE}.tmp").touch()
    (tmp_path / f".x.{GONE}.old").mkdir()
    with make(tmp_path / "x", overwrite=False) as aside:
        assert aside == tmp_path / f".x.{os.getpid()}.tmp"
        assert names(tmp_path) == {aside.name}
        if make is atomic_file:
            aside.write_text("new")
    assert names(tmp_path) == {"x"}
    with pytest.raises(OutputError, match="exists already"), make(tmp_path / "x", overwrite=False):
        raise AssertionError
    missing = tmp_path / "none" / "x"
    with pytest.raises(OutputError, match="no such directory"), make(missing, overwrite=True):
        raise AssertionError


def test_what_a_link_points_to_is_replaced_where_that_is(there: Path):
    (there / "far").mkdir()
    (there / "far" / "file").write_text("old")
    (there / "link").symlink_to("far/file")
    with atomic_file(there / "link", overwrite=True) as aside:
        assert aside.parent == there / "far"
        aside.write_text("new")
    assert (there / "link").is_symlink() and (there / "far" / "file").read_text() == "new"
    (there / "far" / "folder").mkdir()
    (there / "far" / "folder" / "old").touch()
    (there / "links").symlink_to("far/folder")
    with atomic_directory(there / "links", overwrite=True) as aside:
        assert aside.parent == there / "far"
        (aside / "new").touch()
    assert (there / "links").is_symlink() and names(there / "far") == {"file", "folder"}
    assert names(there / "far" / "folder") == {"new"}


def test_a_witness_sees_what_was_written_before_it_has_its_name(tmp_path: Path):
    seen: list[tuple[Path, str, bool]] = []
    path, beside = tmp_path / "x", tmp_path / "x.note"

    def note(written: Path) -> None:
        seen.append((written, written.read_text(), path.exists()))

    with witnessed(path, beside, note):
        for overwrite in (False, True):
            with atomic_file(path, overwrite=overwrite) as aside:
                aside.write_text("content")
        with atomic_file(tmp_path / "y", overwrite=False) as other:
            other.write_text("other")
        with pytest.raises(ZeroDivisionError), atomic_file(path, overwrite=True) as aside:
            raise ZeroDivisionError
    with atomic_file(path, overwrite=True) as aside:
        aside.write_text("later")
    name = tmp_path / f".x.{os.getpid()}.tmp"
    assert seen == [(name, "content", False), (name, "content", True)]
    with pytest.raises(ZeroDivisionError), witnessed(path, beside, note):
        raise ZeroDivisionError
    assert not atomic._witnesses


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400])
def test_only_a_file_that_was_made_private_is_opened_to_others(tmp_path: Path, mode: int):
    before = os.umask(0o022)
    try:
        with atomic_file(tmp_path / "x", overwrite=False) as aside:
            aside.touch()
            aside.chmod(mode)
        with atomic_directory(tmp_path / "y", overwrite=False) as folder:
            (folder / "in").mkdir(mode=0o700)
            (folder / "in" / "x").touch()
            (folder / "in" / "x").chmod(mode)
    finally:
        os.umask(before)
    for path in (tmp_path / "x", tmp_path / "y" / "in" / "x"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o644 if mode == 0o600 else mode)
    assert stat.S_IMODE((tmp_path / "y" / "in").stat().st_mode) == 0o700


def test_a_directory_is_replaced_as_a_whole_and_the_old_one_comes_back_if_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "old").touch()
    with pytest.raises(KeyboardInterrupt), atomic_directory(tmp_path / "x", overwrite=True):
        raise KeyboardInterrupt
    assert names(tmp_path) == {"x"} and names(tmp_path / "x") == {"old"}
    replace = Path.replace

    def interrupted(path: Path, target: Path) -> Path:
        if path.suffix == ".tmp":
            raise KeyboardInterrupt
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_directory(tmp_path / "x", overwrite=True):
        pass
    assert names(tmp_path) == {"x"} and names(tmp_path / "x") == {"old"}
    monkeypatch.undo()
    with atomic_directory(tmp_path / "x", overwrite=True) as aside:
        (aside / "new").touch()
    assert names(tmp_path) == {"x"} and names(tmp_path / "x") == {"new"}


def test_a_file_has_a_second_name_or_is_copied(tmp_path: Path, monkeypatch):
    (tmp_path / "a").write_text("content")
    os.utime(tmp_path / "a", (1, 1))
    link_or_copy(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "a").samefile(tmp_path / "b")

    def refuse(*_: Any) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    link_or_copy(str(tmp_path / "a"), str(tmp_path / "c"))
    assert (tmp_path / "c").read_text() == "content" and (tmp_path / "c").stat().st_mtime == 1
    assert not (tmp_path / "a").samefile(tmp_path / "c")
