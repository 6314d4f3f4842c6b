"""Outputs appear whole or not at all; what is no file is written to, and never replaced."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from dialtools.errors import OutputError
from dialtools.streams.atomic import atomic_directory, atomic_file


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
