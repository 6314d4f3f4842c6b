"""Parts of a run: which they are, what they share, what is read of inputs; joined, one run's."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.errors import ConfigError, DataError
from dialtools.streams import join as joins
from dialtools.streams.chunks import _blank_line, _line_end
from dialtools.streams.job_files import beside
from dialtools.streams.join import join
from dialtools.streams.parts import Part, Whole, gathered, part_in, part_of, unfolded, whole
from dialtools.streams.policy import Policy, Where
from dialtools.streams.provenance import digest
from dialtools.streams.shards import Shard, Span
from dialtools.streams.sinks import writer
from dialtools.streams.spans import Blocks, Elsewhere, spans, within
from dialtools.streams.tally import Tally
from dialtools.streams.vectors import embedding_batch

READ, LONGER = {"name": "x", "bytes": 3, "sha256": "1" * 64}, {"name": "x", "bytes": 4}


def facts(number: int, of: int = 2, **changed: Any) -> dict[str, Any]:
    told = {"command": "dial-x", "options": {"lr": 1}, "inputs": [], "argv": [f"{number}/{of}"]}
    return {**told, "shard": {"part": number, "of": of}, "counts": {"kept": number}, **changed}


def part(number: int, of: int = 2, **changed: Any) -> Part:
    found = part_of(f"{number}.jsonl", facts(number, of, **changed))
    assert found is not None
    return found


def test_parts_in_any_order_are_one_run_that_tells_what_they_share():
    one, two = part(1, output={"name": "a"}), part(2)
    for parts in ([one, two], [two, one]):
        joined = whole(parts, where=None)
        assert joined.paths == ["1.jsonl", "2.jsonl"]
        assert set(joined.facts) == {"command", "options", "inputs", "argv", "counts"}
    assert one.job() == {
        **{"command": "dial-x", "options": {"lr": 1}, "inputs": [], "files": {}, "of": 2}
    }
    assert part(1, files={"a": 1}).job()["files"] == {"a": 1}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([part(1)], "x: not there: part 2 of 2"),
        ([part(1, 4), part(3, 4)], "x: not there: part 2, 4 of 4"),
        ([part(2)], "x: not there: part 1 of 2"),
        ([part(1), part(1)], "1.jsonl: is part 1 of 2, and so is 1.jsonl"),
        ([part(1), part(2, 3)], "2.jsonl: is of another run than 1.jsonl: of was 2, is 3"),
        ([part(1), part(2, options={"lr": 2})], "another run than 1.jsonl: --lr was 1, is 2"),
        ([part(1), part(2, command="y")], "another run than 1.jsonl: command was dial-x, is y"),
        ([part(1, inputs=[READ]), part(2, inputs=[LONGER])], "than 1.jsonl: x was 3 bytes, is 4"),
    ],
)
def test_what_is_not_one_run_is_told(parts: list[Part], said: str):
    with pytest.raises(DataError) as told:
        whole(parts, where="x")
    assert said in str(told.value)


def test_digests_that_another_part_knows_are_taken_for_the_same_input():
    x, y = {"name": "x", "sha256": "1" * 32, "bytes": 3}, {"name": "y", "bytes": 5}
    known = {**y, "sha256": "2" * 32}
    one, two = part(1, inputs=[x, y]), part(2, inputs=[{"name": "x", "bytes": 3}, known])
    assert whole([one, two], where=None).facts["inputs"] == [x, known]
    other = part(2, inputs=[{**x, "sha256": "3" * 32}, known])
    with pytest.raises(DataError, match="is of another run"):
        whole([one, other], where=None)


def test_what_tells_of_no_part_is_none():
    for shard in ({"part": 0, "of": 2}, {"part": 3, "of": 2}, {"part": 1}, {"of": 2}, None, 5):
        assert part_of("x", facts(1, shard=shard)) is None
    for inputs in (None, 5, [5], [{"bytes": 1}], ["name sha256"], [{"name": 5}]):
        assert part_of("x", facts(1, inputs=inputs)) is None
    assert part_of("x", None) is None and part_of("x", facts(2)) is not None


def made(path: Path, number: int, of: int = 2) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"n":{number}}}\n')
    told = {**facts(number, of), "output": {"sha256": digest(path)}}
    beside(path).write_bytes(orjson.dumps(told))
    return str(path)


@pytest.mark.parametrize(
    "odd",
    [
        {"shard": {"part": 1.0, "of": 2.0}},
        {"shard": {"part": 1, "of": 10**12}},
        {"command": None},
        {"options": []},
    ],
)
def test_what_a_stranger_says_of_a_part_is_checked(odd: dict[str, Any]):
    assert part_of("1.jsonl", facts(1) | odd) is None


def test_folders_and_files_are_gathered_and_what_is_no_part_is_told(tmp_path: Path):
    one, two = made(tmp_path / "in" / "b.jsonl", 1), made(tmp_path / "in" / "a.jsonl", 2)
    (tmp_path / "in" / "d.txt").write_text("{}\n")
    (tmp_path / "in" / "e.parquet").mkdir()
    assert gathered([str(tmp_path / "in")]).paths == gathered([two, one]).paths == [one, two]
    assert unfolded(["-", str(tmp_path / "in")]) == ["-", one, two]
    (tmp_path / "c.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match="is no part, or has changed since") as told:
        gathered([one, str(tmp_path / "c.jsonl")])
    assert "--shard I/N" in str(told.value.hint)
    with pytest.raises(DataError, match="not there: part 2 of 2") as told:
        gathered([one])
    assert told.value.where is None


def test_records_beside_parts_are_not_left_out_in_silence(tmp_path: Path):
    made(tmp_path / "in" / "b.jsonl", 1), made(tmp_path / "in" / "a.jsonl", 2)
    (tmp_path / "in" / "c.parquet").write_bytes(b"PAR1")
    for read in (unfolded, gathered):
        with pytest.raises(DataError, match=r"in/c\.parquet: is no part"):
            read([str(tmp_path / "in")])


def test_tables_of_a_folder_are_read_where_nothing_but_notes_lies_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "in"
    (folder / "day=2").mkdir(parents=True)
    tables = [folder / "b.parquet", folder / "c.arrow", folder / "day=2" / "a.parquet.zst"]
    notes = [folder / name for name in ("_SUCCESS", ".x.crc", "a.crc", "b.md", "day=2/c.json")]
    for path in (*tables, *notes):
        path.touch()
    assert unfolded([str(folder)]) == [str(path) for path in tables]
    for other in ("x.csv", "x.npy", "x.jsonl", "x", "x_"):
        (folder / "day=2" / other).touch()
        assert unfolded([str(folder)]) == [str(folder)]
        (folder / "day=2" / other).unlink()
    (tmp_path / "none").mkdir()
    assert unfolded([str(tmp_path / "none")]) == [str(tmp_path / "none")]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").mkdir()
    (tmp_path / "-" / "a.parquet").touch()
    assert unfolded(["-"]) == unfolded([]) == ["-"]
    shutil.rmtree("-")
    made(Path("-"), 1)
    assert part_in("-") is None and part_in("./-") is not None
    assert part_in(".") is None and part_in("nowhere") is None


# what is read of inputs


def test_inputs_lie_one_after_another_each_as_long_as_its_bytes(tmp_path: Path):
    paths = []
    for name, size in (("a", 4), ("b", 0), ("c", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
        paths.append(str(tmp_path / name))
    a, b, c = paths
    assert list(spans(paths, Shard(1, 1))) == [(a, None), (b, None), (c, None)]
    assert list(spans(paths, Shard(1, 2))) == [(a, None), (b, None)]
    assert list(spans(paths, Shard(2, 2))) == [(c, None)]
    assert list(spans(paths, Shard(1, 3))) == [(a, None)]
    assert list(spans(paths, Shard(2, 3))) == [(b, None), (c, Span(0, 2, 5))]
    assert list(spans(paths, Shard(3, 3))) == [(c, Span(2, 5, 5))]
    assert list(spans(paths, Shard(1, 5))) == [(a, Span(0, 2, 4))]
    assert list(spans([], None)) == [("-", None)] and list(spans(paths, None))[2] == (c, None)
    os.mkfifo(tmp_path / "pipe")
    for none, said in (("none", "no such file or directory"), ("pipe", "not a pipe")):
        with pytest.raises(DataError, match=said) as told:
            list(spans([a, str(tmp_path / none)], Shard(1, 2)))
        assert told.value.where == str(tmp_path / none)


def test_a_part_is_named_by_its_number_and_cuts_upwards():
    assert Shard.named("2/3") == (2, 3) and Shard.named(None) is Shard.named("") is None
    assert [list(Shard(n, 3).cut(4)) for n in (1, 2, 3)] == [[0, 1], [2], [3]]
    assert Span(2, 5, 10).cut(4) == range(1, 2) and Span(5, 10, 10).cut(3) == range(2, 3)
    assert Span(5, 10, 10).is_last and not Span(0, 5, 10).is_last


def test_bad_records_before_a_part_begins_are_anothers():
    policy = Policy("skip")
    elsewhere = Elsewhere(policy)
    elsewhere.reject(Where("x", 1), "odd")
    assert policy.skipped == 0 and elsewhere.skipped == 0 and not elsewhere.begun
    elsewhere.begun = True
    elsewhere.reject(Where("x", 1), "odd")
    assert policy.skipped == 1
    with pytest.raises(DataError) as told:
        told_by = Elsewhere(Policy())
        told_by.begun = True
        told_by.reject(Where("x", 1), "odd", b"raw", "a hint")
    assert told.value.hint == "a hint"


def test_of_units_the_last_part_counts_what_comes_after_them_and_no_other_does():
    def read(policy: Policy, tally: Tally) -> Iterator[int]:
        for n in range(4):
            tally.drop(f"before {n}")
            yield n
        tally.drop("at the end")

    for part, found, told in (
        (1, [0, 1], {"before 0": 1, "before 1": 1}),
        (2, [2, 3], {"before 2": 1, "before 3": 1, "at the end": 1}),
    ):
        tally = Tally()
        span = Span(5 * (part - 1), 5 * part, 10)
        assert list(within(span, read, Policy(), tally)) == found and tally.dropped == told
    everything = Tally()
    assert list(within(None, read, Policy(), everything)) == [0, 1, 2, 3]
    assert everything.dropped.total() == 5


# blocks


TEXT = b"".join(b"%d\n" % n * (1 + n % 3) for n in range(40))


@pytest.mark.parametrize("block", [1, 2, 3, 7, 50, 1000])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_part_of_a_file_begins_at_the_border_before_it(
    tmp_path: Path, block: int, mark: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dialtools.streams.spans.COUNT_BYTES", 5)
    (tmp_path / "x").write_bytes(mark + TEXT)
    for start, stop in pairwise([0, 13, 40, len(TEXT)]):
        with (tmp_path / "x").open("rb") as stream:
            stream.seek(len(mark))
            span = Span(start, stop, len(TEXT))
            part = Blocks(stream, span, block_bytes=block, border=_line_end)
            begin = part.at * block
            before = begin - len(part.held)
            assert part.first == TEXT[:before].count(b"\n") + 1
            assert part.held == TEXT[before:begin] and b"\n" not in part.held
            assert TEXT[:before][-1:] in (b"", b"\n")
            read = []
            while data := part.read():
                read.append(data)
                assert part.wanted is (part.mine.start < part.at <= part.mine.stop)
            assert b"".join(read) == TEXT[begin : part.mine.stop * block]
            assert part.wanted is (part.mine.stop * block >= len(TEXT) and len(part.mine) > 0)


def test_where_no_border_is_a_part_reads_from_the_beginning(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"abcdefgh")
    with (tmp_path / "x").open("rb") as stream:
        part = Blocks(stream, Span(4, 8, 8), block_bytes=2, border=_line_end)
        assert (part.at, part.first, part.held, part.wanted) == (0, 1, b"", False)
        assert [part.read() for _ in range(5)] == [b"ab", b"cd", b"ef", b"gh", b""]
    (tmp_path / "x").write_bytes(b"a\n\nb\nc\nd\n")
    with (tmp_path / "x").open("rb") as stream:
        part = Blocks(stream, Span(6, 9, 9), block_bytes=3, border=_blank_line)
        assert (part.at, part.first, part.held, part.wanted) == (1, 3, b"", False)
        assert (part.read(), part.wanted, part.read(), part.wanted) == (
            *(b"b\nc", False, b"\nd\n", True),
        )


# joined


def test_lines_are_joined_byte_for_byte_packed_or_not(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(joins, "BLOCK_BYTES", 4)
    (tmp_path / "1.jsonl").write_bytes(b'{"a":1}\n')
    (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(b'{"a": 2}\n\n'))
    paths = [str(tmp_path / "1.jsonl"), str(tmp_path / "2.jsonl.gz")]
    done: list[int] = []
    out = str(tmp_path / "out.jsonl")
    join(Whole(paths, {"a": 1}), out, to=None, overwrite=False, advance=done.append)
    assert Path(out).read_bytes() == b'{"a":1}\n{"a": 2}\n\n' and done == [1, 1]
    assert not beside(Path(out)).exists()
    with pytest.raises(Exception, match="exists already"):
        join(Whole(paths, {}), out, to=None, overwrite=False, advance=done.append)
    join(Whole(paths[:1], {}), out, to=None, overwrite=True, advance=done.append)
    assert Path(out).read_bytes() == b'{"a":1}\n'
    for to in ("parquet", "arrow"):
        with pytest.raises(ConfigError, match=f"the parts are jsonl.*; not {to}") as told:
            join(Whole(paths, {}), str(tmp_path / "y"), to=to, overwrite=True, advance=done.append)
        assert told.value.hint == "--to jsonl, and -o with its suffix"


@pytest.mark.parametrize("begin", ["arrow", "parquet"])
def test_vectors_are_joined_into_every_table_that_holds_them(tmp_path: Path, begin: str):
    paths = []
    for n in range(2):
        path = tmp_path / f"{n}.{begin}"
        with writer(str(path), format=begin, floats=True) as write:
            write(embedding_batch({"id": [n]}, {"embedding": np.full((1, 2), n)}))
        paths.append(str(path))
    for suffix in ("arrow", "parquet", "npy", "jsonl"):
        out, done = tmp_path / f"out.{suffix}", []
        joined = Whole(paths, {"a": 1})
        how: dict[str, Any] = {"to": None, "overwrite": False, "advance": done.append}
        if suffix == "jsonl" or (begin == "parquet" and suffix != "parquet"):
            with pytest.raises(ConfigError, match=f"the parts are {begin}"):
                join(joined, str(out), **how, vectors=True)
            assert not out.exists() and not done
            continue
        join(joined, str(out), **how, vectors=True)
        assert done == [1, 1]
        assert beside(out).exists() is (suffix == "npy")
        if suffix == "npy":
            assert np.load(out).tolist() == [[0, 0], [1, 1]]
            assert orjson.loads(beside(out).read_bytes())["a"] == 1
        elif suffix == "parquet":
            table = pq.ParquetFile(out)
            assert table.metadata.metadata[b"dialtools"] == b'{"a":1}'
            vectors = table.metadata.row_group(0).column(1)
            assert "BYTE_STREAM_SPLIT" in vectors.encodings
            assert table.read()["id"].to_pylist() == [0, 1]
        else:
            with pa.OSFile(str(out)) as file:
                assert pa.ipc.open_file(file).read_all()["id"].to_pylist() == [0, 1]


def test_parts_of_two_formats_are_told(tmp_path: Path):
    (tmp_path / "1").write_bytes(b'{"a":1}\n')
    pq.write_table(pa.table({"a": [1]}), tmp_path / "2")
    paths = [str(tmp_path / "1"), str(tmp_path / "2")]
    with pytest.raises(DataError, match="is parquet, other parts are jsonl") as told:
        join(Whole(paths, {}), "-", to=None, overwrite=False, advance=print)
    assert told.value.where == paths[1]
    assert joins.format_of_parts(Whole(paths[1:], {})) == "parquet"
