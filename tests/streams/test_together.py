"""Outputs of one command are all the old ones, or all the new."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialtools.errors import GateError, OutputError
from dialtools.streams.atomic import atomic_file, witnessed
from dialtools.streams.policy import Policy, Where
from dialtools.streams.together import content_of, name_now, together


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., None]:
    """Write a file of the folder as a command does."""

    def to(name: str, text: str = "new", error: type[Exception] | None = None) -> None:
        with atomic_file(tmp_path / name, overwrite=True) as aside:
            aside.write_text(text)
            if error:
                raise error

    return to


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What gets its name, in order."""
    seen: list[str] = []
    replace = Path.replace

    def watched(path: Path, target: Any) -> Path:
        seen.append(Path(target).name)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", watched)
    return seen


def test_a_late_failure_of_one_output_leaves_them_all_as_they_were(tmp_path: Path, write):
    for name in ("side", "main"):
        (tmp_path / name).write_text("old")
    with pytest.raises(ZeroDivisionError), together(tmp_path / "side", tmp_path / "main"):
        write("side")
        assert content_of(tmp_path / "side").read_text() == "new"
        write("main", error=ZeroDivisionError)
    assert content(tmp_path) == {"side": "old", "main": "old"}


def test_a_disk_that_is_full_at_the_last_leaves_them_all_as_they_were(
    tmp_path: Path, write, monkeypatch: pytest.MonkeyPatch
):
    """A full one may show itself with the last bytes, which `fsync` brings there."""
    for name in ("side", "main"):
        (tmp_path / name).write_text("old")
    fsync, left = os.fsync, [None]

    def full(descriptor: int) -> None:
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left.pop()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OutputError, match="main: No space"),
        together(tmp_path / "side", tmp_path / "main"),
    ):
        write("side")
        write("main")
    assert content(tmp_path) == {"side": "old", "main": "old"}


def test_names_are_given_in_order_and_what_belongs_to_one_before_it(tmp_path, write, renamed):
    main, note = tmp_path / "main", tmp_path / "note"
    with (
        together(tmp_path / "side", main),
        witnessed(main, note, lambda written: write("note", written.read_text())),
        together(tmp_path / "columns", main),
    ):
        write("main", "numbers")
        write("other")
        for name in ("columns", "side"):
            write(name)
        assert content_of(tmp_path / "columns").read_text() == "new"
    assert renamed == ["other", "side", "columns", "note", "main"]
    assert (tmp_path / "note").read_text() == "numbers"


def test_what_is_put_aside_has_its_name_before_the_outputs_and_only_with_them(
    tmp_path: Path, write, renamed, monkeypatch: pytest.MonkeyPatch
):
    def run(error: type[Exception] | None = None) -> None:
        with (
            together(tmp_path / "side", tmp_path / "main"),
            Policy(f"quarantine={tmp_path}/bad") as policy,
        ):
            write("side")
            policy.reject(Where("x", 1), "odd")
            write("main", error=error)
            name_now(tmp_path / "main")

    with pytest.raises(ZeroDivisionError):
        run(ZeroDivisionError)
    assert not renamed and not content(tmp_path)
    run()
    assert renamed == ["bad", "side", "main"]


def test_a_gate_that_is_not_met_fails_no_output(tmp_path: Path, write):
    with pytest.raises(GateError), together(tmp_path / "side", tmp_path / "main"):
        write("side")
        write("main")
        raise GateError("low")
    assert content(tmp_path) == {"side": "new", "main": "new"}


def test_one_that_has_come_meanwhile_is_not_replaced_nor_are_the_others(tmp_path: Path, write):
    (tmp_path / "side").write_text("old")
    with (
        pytest.raises(OutputError, match="exists already"),
        together(tmp_path / "side", tmp_path / "main"),
    ):
        write("side")
        with atomic_file(tmp_path / "main", overwrite=False) as aside:
            aside.write_text("new")
        (tmp_path / "main").write_text("somebody's")
    assert content(tmp_path) == {"side": "old", "main": "somebody's"}


@pytest.mark.parametrize("old", [("side", "main"), ("main",), ()])
def test_a_name_that_cannot_be_given_leaves_the_old_outputs(
    tmp_path: Path, write, monkeypatch: pytest.MonkeyPatch, old
):
    for name in old:
        (tmp_path / name).write_text("old")
    replace, fails = Path.replace, [True]

    def failing(path: Path, target: Any) -> Path:
        if path.suffix == ".tmp" and Path(target).name == "main" and fails.pop():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    with (
        pytest.raises(OutputError, match="main: Input/output error"),
        together(tmp_path / "side", tmp_path / "main"),
    ):
        write("side")
        write("main")
    assert content(tmp_path) == dict.fromkeys(old, "old")
