"""Parts of inputs: one after another they are what one run reads, chunk by chunk."""

from __future__ import annotations

import gzip
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from dialtools.streams.chunks import Chunk, read_chunks
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.shards import Shard, Span
from dialtools.streams.spans import spans, within
from dialtools.streams.tally import Tally

FEW_BYTES = st.integers(1, 40)
PARTS = st.integers(1, 9)
PIECES = (b"a", b"bc", b"\n", b"\r\n", b"\n\n", b"\n\r\n", b"\n\n\n", b"d" * 50, b"\xc3\xa9")
"""What texts are made of whose borders are hard to find."""
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
STARTS = st.sampled_from([b"", b"\xef\xbb\xbf"])


def told(chunk: Chunk) -> tuple:
    data = chunk.data.to_pylist() if chunk.columnar else chunk.data
    return Path(chunk.name).name, chunk.first, chunk.format, data


def of_one_run(paths: list[str], **options) -> list[tuple]:
    return [told(chunk) for chunk in read_chunks(paths, **options)]


def of_parts(paths: list[str], parts: int, **options) -> list[tuple]:
    return [
        told(chunk)
        for number in range(1, parts + 1)
        for path, span in spans(paths, Shard(number, parts))
        for chunk in read_chunks([path], span=span, **options)
    ]


@given(st.lists(TEXTS, min_size=1, max_size=3), STARTS, st.booleans(), FEW_BYTES, PARTS)
def test_the_parts_of_lines_are_the_chunks_of_one_run(texts, start, whole_dialogues, size, parts):
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{n}.txt") for n in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            Path(path).write_bytes(start + text)
        how = {"chunk_bytes": size, "whole_dialogues": whole_dialogues}
        assert of_parts(paths, parts, **how) == of_one_run(paths, **how)


@given(TEXTS, FEW_BYTES, PARTS)
def test_compressed_lines_are_cut_between_chunks(text, size, parts):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.txt.gz"
        path.write_bytes(gzip.compress(text))
        how = {"chunk_bytes": size}
        assert of_parts([str(path)], parts, **how) == of_one_run([str(path)], **how)


@given(st.lists(st.integers(0, 6000), min_size=1, max_size=3), PARTS)
def test_tables_are_cut_between_batches(sizes, parts):
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{n}.parquet") for n in range(len(sizes))]
        for path, rows in zip(paths, sizes, strict=True):
            pq.write_table(pa.table({"n": range(rows)}), path, row_group_size=500)
        assert of_parts(paths, parts) == of_one_run(paths)


@given(st.integers(0, 10**12), st.integers(1, 1000))
def test_every_unit_is_of_one_part(units, parts):
    cuts = [Shard(number, parts).cut(units) for number in range(1, parts + 1)]
    assert cuts[0].start == 0
    assert cuts[-1].stop == units
    assert all(before.stop == after.start for before, after in pairwise(cuts))
    assert max(map(len, cuts)) - min(map(len, cuts)) <= 1


@given(st.integers(0, 20), st.integers(1, 6))
def test_a_part_has_its_units_and_counts_and_rejects_those_alone(units: int, parts: int):
    def read(policy: Policy, tally: Tally):
        for n in range(units):
            tally.keep()
            policy.reject(Where("x", n), "odd")
            yield n

    found: list[int] = []
    for number in range(1, parts + 1):
        tally, policy = Tally(), Collecting()
        span = Span(10 * (number - 1), 10 * number, 10 * parts)
        mine = list(within(span, read, policy, tally))
        assert tally.kept == len(mine)
        assert [bad.where.line for bad in policy.rejected] == mine
        found += mine
    assert found == list(range(units)) == list(within(None, read, Policy("skip")))
