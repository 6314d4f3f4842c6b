"""Outputs appear whole or not at all; what is no file is written to, and never replaced."""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file

from dialtools.errors import OutputError
from dialtools.streams.atomic import atomic_directory, atomic_file
from dialtools.streams.scraps import temporary_folder
from dialtools.streams.sinks import writer


def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path):
    (tmp_path / "x").write_text("before")
    with pytest.raises(ZeroDivisionError), atomic_file(tmp_path / "x", overwrite=True) as path:
        path.write_text("half")
        raise ZeroDivisionError
    assert (tmp_path / "x").read_text() == "before" and [p.name for p in tmp_path.iterdir()] == [
        "x"
    ]
    with (
        pytest.raises(OutputError, match="exists already"),
        atomic_file(tmp_path / "x", overwrite=False),
    ):
        raise AssertionError
    with pytest.raises(OutputError, match="is a directory"), atomic_file(tmp_path, overwrite=True):
        raise AssertionError


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path):
    """As /dev/null must, when root names it as an output."""
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    with atomic_file(tmp_path / "pipe", overwrite=False) as path:
        path.write_text("data")
    reader.join(30)
    assert read == ["data"] and (tmp_path / "pipe").is_fifo()


def test_a_link_stays_one(tmp_path: Path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_file(tmp_path / "link", overwrite=True) as path:
        path.write_text("new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_directory_never_takes_the_place_of_a_device_or_a_pipe(tmp_path: Path, overwrite: bool):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (
        pytest.raises(OutputError, match="is no directory"),
        atomic_directory(pipe, overwrite=overwrite),
    ):
        pass
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_link_to_a_directory_stays_one(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "model").symlink_to("disk")
    with atomic_directory(tmp_path / "model", overwrite=True) as directory:
        (directory / "weights").write_text("new")
    assert (tmp_path / "model").is_symlink()
    assert (tmp_path / "disk" / "weights").read_text() == "new"


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is flushed to the disk and what is renamed, in order, each by its inode."""
    seen: list[tuple[str, int]] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        seen.append(("synced", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def renamed(path: Path, target: Any) -> Path:
        seen.append(("renamed", path.stat().st_ino))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    return seen


def test_a_file_is_on_the_disk_before_it_has_its_name(events: list, tmp_path: Path):
    with atomic_file(tmp_path / "x", overwrite=False) as path:
        path.write_text("whole")
    inode = (tmp_path / "x").stat().st_ino
    assert events == [("synced", inode), ("renamed", inode)]


def test_every_file_of_a_directory_is_on_the_disk_before_it_has_its_name(
    events: list, tmp_path: Path
):
    with atomic_directory(tmp_path / "model", overwrite=False) as directory:
        (directory / "inner").mkdir()
        for name in ("weights", "inner/config"):
            (directory / name).write_text(name)
    model = tmp_path / "model"
    files = {("synced", (model / name).stat().st_ino) for name in ("weights", "inner/config")}
    assert set(events[:-1]) >= files and events[-1] == ("renamed", model.stat().st_ino)


def test_the_old_directory_goes_only_when_the_new_one_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    final = tmp_path / "model"
    final.mkdir()
    (final / "weights").write_text("old")
    replace = Path.replace

    def refused(path: Path, target: Any) -> Path:
        assert [p for p in tmp_path.rglob("weights") if p.read_text() == "old"], "still there"
        if path.suffix == ".tmp":
            raise OSError("the disk is gone")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(OSError, match="gone"), atomic_directory(final, overwrite=True) as directory:
        (directory / "weights").write_text("new")
    assert (final / "weights").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    monkeypatch.setattr(Path, "replace", replace)
    with atomic_directory(final, overwrite=True) as directory:
        (directory / "weights").write_text("new")
    assert (final / "weights").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_killed_runs_left_beside_an_output_goes_with_the_next_run(tmp_path: Path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    ours = [f".x.{gone.pid}.tmp", f".x.{gone.pid}.old"]
    others = [f".x.{os.getppid()}.tmp", f".xy.{gone.pid}.tmp", f".x.{gone.pid}.bak", ".x.a.tmp"]
    (tmp_path / ours[1]).mkdir()
    for name in (ours[0], f"{ours[1]}/weights", *others):
        (tmp_path / name).write_text("")
    with atomic_file(tmp_path / "x", overwrite=False) as path:
        path.write_text("after")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["x", *others])


def test_folders_of_killed_runs_in_tmpdir_go_with_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    scrap, elsewhere, mine, theirs = (
        tmp_path / name
        for name in (
            f"dialtools-{gone.pid}-{'a' * 16}",
            f"dialtools-{gone.pid}-{'b' * 16}",
            f"dialtools-{gone.pid}-results",
            f"dialtools-{os.getppid()}-{'c' * 16}",
        )
    )
    for folder in (scrap, elsewhere, mine, theirs):
        folder.mkdir()
    lock = os.open(elsewhere, os.O_RDONLY)  # of a process of another container
    fcntl.flock(lock, fcntl.LOCK_EX)
    with temporary_folder() as folder:
        assert set(tmp_path.iterdir()) == {folder, elsewhere, mine, theirs}
    os.close(lock)
    assert set(tmp_path.iterdir()) == {elsewhere, mine, theirs}


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_parquet_writer_that_is_broken_off_writes_and_says_nothing_more(tmp_path: Path):
    table = tmp_path / "table.parquet"
    with pytest.raises(KeyboardInterrupt), writer(str(table), format="parquet") as write:
        write(pa.RecordBatch.from_pydict({"text": ["hello"]}))
        raise KeyboardInterrupt
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_who_may_read_new_files_may_read_weights(tmp_path: Path, umask: int, mode: int):
    before = os.umask(umask)
    try:
        with atomic_directory(tmp_path / "model", overwrite=False) as folder:
            save_file({"a": np.zeros(1)}, folder / "model.safetensors")
        with atomic_file(tmp_path / "a.safetensors", overwrite=False) as file:
            save_file({"a": np.zeros(1)}, file)
    finally:
        os.umask(before)
    for weights in tmp_path.rglob("*.safetensors"):
        assert weights.stat().st_mode & 0o777 == mode
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["model.safetensors"]


def test_a_folder_whose_run_was_killed_between_two_renames_gets_its_name_back(tmp_path: Path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = tmp_path / f".model.{gone.pid}.old"
    left.mkdir()
    (left / "weights").write_text("the only ones")
    with pytest.raises(OutputError), atomic_directory(tmp_path / "model", overwrite=False):
        pytest.fail("it is there")
    assert (tmp_path / "model/weights").read_text() == "the only ones"
