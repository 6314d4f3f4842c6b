"""Files elsewhere, file:// as s3:// would be: copied here, and called by their own names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dialtools.errors import DataError
from dialtools.streams import remote
from dialtools.streams.bytesio import own_name
from dialtools.streams.remote import at_hand, copied, is_remote, scratch, send, size
from dialtools.streams.shards import Shard


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder of ours, of 4 and 6 bytes."""
    folder = tmp_path / "bucket"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(b"aaaa")
    (folder / "inner/b.jsonl").write_bytes(b"bbbbbb")
    return folder


def test_a_uri_is_elsewhere_and_a_path_is_here():
    assert is_remote("s3://bucket/key") and is_remote("gs+x.1-y://a")
    assert not any(map(is_remote, ("a/b", "/s3://b", "S3://b", "-", "3s://b", "s3:/b")))


def test_a_folder_may_be_named_twice_and_beside_a_file_in_it(there: Path, tmp_path: Path):
    names = [f"file://{there}/inner", f"file://{there}/inner", f"file://{there}/inner/b.jsonl"]
    for order in (names, names[::-1]):
        with scratch() as folder:
            folders = [name for name in copied(order, folder) if Path(name).is_dir()]
            assert [Path(name, "b.jsonl").read_bytes() for name in folders] == [b"bbbbbb"] * 2


def test_sizes_are_those_of_files_and_of_all_in_folders(there: Path):
    for name, total in (("a.jsonl", 4), ("inner", 6), ("", 10)):
        assert size(f"{there}/{name}") == size(f"file://{there}/{name}") == total
    for name in (f"{there}/none", f"file://{there}/none"):
        with pytest.raises(DataError, match="no such file or directory") as told:
            size(name)
        assert str(told.value.where) == name
    with pytest.raises(DataError) as told:
        size("nowhere://x")
    assert str(told.value.where) == "nowhere://x" and "\n" not in str(told.value)


def test_what_is_elsewhere_is_copied_and_called_by_its_own_name(there: Path):
    here = str(there / "a.jsonl")
    names = [f"file://{there}/inner", here, f"file://{there}/a.jsonl?use_mmap=false"]
    with scratch() as folder:
        local = copied(names, folder)
        told = [name.partition("?")[0] for name in names]
        assert [own_name(path) for path in local] == told and local[1] == here
        assert (Path(local[0]) / "b.jsonl").read_bytes() == b"bbbbbb"
        assert Path(local[2]).read_bytes() == b"aaaa" and Path(local[2]).parent != there
    assert not folder.exists()


def test_a_matrix_elsewhere_comes_with_its_columns(there: Path):
    for name in ("x.npy", "x.npy.columns.jsonl", "y.fbin", "z.npy.gz", "z.npy.columns.jsonl.gz"):
        (there / name).write_text(name)
    with scratch() as folder:
        x, y, z = copied([f"file://{there}/{x}" for x in ("x.npy", "y.fbin", "z.npy.gz")], folder)
        assert Path(f"{x}.columns.jsonl").read_text() == "x.npy.columns.jsonl"
        assert not Path(f"{y}.columns.jsonl").exists()
        assert Path(f"{z.removesuffix('.gz')}.columns.jsonl.gz").exists()


@pytest.mark.parametrize(("part", "read"), [(1, [True, False]), (2, [False, True])])
def test_a_part_copies_its_files_alone_and_knows_the_sizes_of_all(
    there: Path, part: int, read: list[bool]
):
    (there / "b.jsonl").write_bytes(b"bbbb")

    @dataclass
    class Options:
        inputs: tuple[str, ...]
        part: Shard | None
        reads_all: bool

    names = tuple(f"file://{there}/{name}.jsonl" for name in "ab")
    for reads_all in (False, True):
        with scratch() as folder:
            options = Options(names, Shard(part, 2), reads_all)
            paths = [Path(path) for path in at_hand(options, folder).inputs]
            assert options.inputs == names, "the options that were given stay"
            assert [path.stat().st_size for path in paths] == [4, 4]
            whole = [path.read_bytes() != b"\0" * 4 for path in paths]
            assert whole == ([True, True] if reads_all else read)


@pytest.mark.parametrize("stores", [remote.OBJECT_STORES, ("local",)])
def test_a_result_is_sent_whole_and_nothing_is_left_beside_it(
    there: Path, monkeypatch: pytest.MonkeyPatch, stores: tuple[str, ...]
):
    monkeypatch.setattr(remote, "OBJECT_STORES", stores)
    for name in (f"file://{there}/out.jsonl", f"{there}/out2.jsonl"):
        for content in (b"first", b"second"):
            (there / "made").write_bytes(content)
            send(there / "made", name)
            assert Path(name.removeprefix("file://")).read_bytes() == content
    assert {path.name for path in there.iterdir()} == {
        *("a.jsonl", "inner", "made", "out.jsonl", "out2.jsonl")
    }
    with scratch() as folder:
        assert folder.is_dir() and not [*folder.iterdir()]
    assert not folder.exists()
    with pytest.raises(DataError) as told:
        send(there / "made", f"file://{there}/none/x")
    assert str(told.value.where) == f"file://{there}/none/x"
