"""Files elsewhere: where their copies lie, what is copied of them, and how errors are told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs

from dialtools.errors import DataError
from dialtools.streams import remote
from dialtools.streams.bytesio import own_name
from dialtools.streams.remote import Place, at_hand, copied, naming_errors, scratch, send, size
from dialtools.streams.shards import Shard


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Two files of 4 bytes, a folder of one, and an empty one."""
    (tmp_path / "in").mkdir()
    (tmp_path / "none").mkdir()
    for name in ("a.jsonl", "b.jsonl", "in/c.jsonl"):
        (tmp_path / name).write_bytes(b"data")
    return tmp_path


def test_a_place_is_a_file_a_folder_or_nothing(there: Path):
    for name, is_file, files in (
        ("a.jsonl", True, None),
        ("in", False, {"c.jsonl": 4}),
        ("none", False, {}),
        ("nothing", False, {}),
        ("", False, {"a.jsonl": 4, "b.jsonl": 4, "c.jsonl": 4}),
    ):
        for uri in (f"{there}/{name}", f"file://{there}/{name}"):
            place = Place.of(uri)
            assert place.is_file is is_file and place.uri == uri
            if files is not None:
                assert {Path(path).name: size for path, size in place.files().items()} == files
    assert isinstance(Place.of(str(there)).system, fs.LocalFileSystem)
    assert Place.of(str(there)).path == str(there)


def test_an_empty_file_is_there_and_an_empty_folder_is_not(there: Path):
    (there / "empty").touch()
    assert size(f"file://{there}/empty") == 0
    for name in ("none", "nothing"):
        with pytest.raises(DataError, match="no such file or directory") as told:
            size(f"file://{there}/{name}")
        assert told.value.where == f"file://{there}/{name}"


def test_what_a_file_system_says_is_told_in_a_line_with_the_name():
    for error in (OSError("one\ntwo"), ValueError("one"), NotImplementedError("one")):
        with pytest.raises(DataError) as told, naming_errors("s3://x"):
            raise error
        assert str(told.value) == "s3://x: one"
    with pytest.raises(ZeroDivisionError), naming_errors("s3://x"):
        raise ZeroDivisionError


def test_copies_lie_under_the_names_of_what_they_are_copies_of(there: Path):
    names = [f"file://{there}/{name}" for name in ("a.jsonl?x=1", "in", "b.jsonl")]
    with scratch() as folder:
        assert folder.name == "dialtools.remote"
        local = copied([str(there / "a.jsonl"), *names, "-"], folder)
        under = f"{folder}/file:/_{there}"
        assert local == [
            *(str(there / "a.jsonl"), f"{under}/a.jsonl", f"{under}/in", f"{under}/b.jsonl", "-")
        ]
        assert own_name(local[2]) == names[1]
        for path in (local[1], f"{local[2]}/c.jsonl", local[3]):
            assert Path(path).read_bytes() == b"data"
    assert not folder.exists()
    with scratch() as folder, pytest.raises(DataError, match="no such file or directory"):
        copied([f"file://{there}/none"], folder)


@pytest.mark.parametrize("part", [1, 2, 3])
def test_of_files_that_are_anothers_holes_come_and_all_folders(there: Path, part: int, monkeypatch):
    fetched: list[str] = []
    fetch = remote._fetch
    monkeypatch.setattr(
        remote, "_fetch", lambda place, target: (fetched.append(place.uri), fetch(place, target))
    )
    names = [f"file://{there}/{name}" for name in ("a.jsonl", "in", "b.jsonl")]
    with scratch() as folder:
        options: Any = SimpleNamespace(inputs=names, part=Shard(part, 3), reads_all=False)
        found = at_hand(options, folder)
        assert [size(path) for path in found.inputs] == [4, 4, 4] and options.inputs is names
        assert fetched == [names[1], *([names[0]] if part == 1 else [names[2]] * (part == 3))]
    for options in (
        SimpleNamespace(inputs=names, part=Shard(part, 3), reads_all=True),
        SimpleNamespace(inputs=names),
        SimpleNamespace(inputs=names, part=None, reads_all=False),
    ):
        fetched.clear()
        with scratch() as folder:
            assert isinstance(at_hand(options, folder).inputs, tuple)
            assert sorted(fetched) == sorted(names)


@pytest.mark.parametrize("store", [True, False])
def test_what_is_sent_has_its_name_at_once_or_not_at_all(there: Path, store: bool, monkeypatch):
    targets: list[str] = []
    copy_files = fs.copy_files

    def watched(source: str, target: str, **named: Any) -> None:
        targets.append(target)
        copy_files(source, target, **named)

    monkeypatch.setattr(fs, "copy_files", watched)
    monkeypatch.setattr(remote, "token_hex", lambda size: "0" * 2 * size)
    if store:
        monkeypatch.setattr(remote, "OBJECT_STORES", ("local",))
    send(there / "a.jsonl", f"file://{there}/in/sent")
    assert (there / "in" / "sent").read_bytes() == b"data"
    aside = f"{there}/in/.sent.00000000.tmp"
    assert targets == [f"{there}/in/sent" if store else aside] and not Path(aside).exists()
    (there / "a.jsonl").write_bytes(b"other")
    for target in (f"file://{there}/in/sent", str(there / "in" / "here"), str(there / "b.jsonl")):
        send(there / "a.jsonl", target)
        assert Path(target.removeprefix("file://")).read_bytes() == b"other"
