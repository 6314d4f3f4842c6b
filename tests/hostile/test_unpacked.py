"""Pages and batches that unpack to more than they should are refused by what they say of it."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended

from dialtools.errors import DataError
from dialtools.streams import bounds
from dialtools.streams.pages import _sizes
from dialtools.streams.tables import arrow_batches, parquet_batches

MEGABYTE = 1 << 20
LONG = pa.table({"text": ["a" * MEGABYTE] * 8})
WORDS = pa.table({"text": ["hello " * 100, "world " * 100] * 100})
DICTIONARY = pa.table({"text": LONG["text"].combine_chunks().dictionary_encode()})
DICTIONARY_OF_LONG = pa.table(
    {"text": pa.DictionaryArray.from_arrays([0, 1], ["a" * MEGABYTE, "b" * 7 * MEGABYTE])}
)
OPENERS = {"stream": pa.ipc.new_stream, "file": pa.ipc.new_file}


def arrow(table: pa.Table, opener: str, packing: str | None = "zstd", **options) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=packing, **options)
    with OPENERS[opener](sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def rows(data: bytes, read=arrow_batches) -> int:
    return sum(len(batch) for batch in read(io.BufferedReader(io.BytesIO(data)), "-"))


@pytest.fixture(autouse=True)
def four_megabytes(monkeypatch):
    monkeypatch.setitem(bounds._chosen, "page", 4 * MEGABYTE)


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("packing", ["zstd", "lz4"])
@pytest.mark.parametrize("table", [LONG, DICTIONARY_OF_LONG])
def test_a_batch_or_dictionary_that_unpacks_to_more_is_refused(
    opener: str, packing: str, table: pa.Table, monkeypatch
):
    data = arrow(table, opener, packing)
    assert len(data) < MEGABYTE
    with pytest.raises(DataError, match="a batch of 8 MB once unpacked, more than 4MB"):
        rows(data)
    monkeypatch.setitem(bounds._chosen, "page", 9 * MEGABYTE)
    assert rows(data) == len(table)


@pytest.mark.parametrize("opener", OPENERS)
def test_a_buffer_that_claims_terabytes_is_refused_before_room_is_made(opener: str):
    data, stated = arrow(WORDS, opener), struct.pack("<q", 200 * 600)
    assert stated in data
    with pytest.raises(DataError, match=r"33,554,432 MB once unpacked"):
        rows(data.replace(stated, struct.pack("<q", 1 << 45)))


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("options", [{"packing": None}, {"use_legacy_format": True}, {}])
def test_batches_come_through_whatever_they_are_packed_with(opener: str, options: dict):
    parts = pa.concat_tables([WORDS, WORDS.slice(0, 3), WORDS.slice(0, 0), WORDS])
    assert rows(arrow(parts, opener, **options)) == len(parts)
    assert rows(arrow(DICTIONARY, opener, **options)) == len(DICTIONARY)
    if opener == "stream":
        assert rows(arrow(parts, opener, **options) * 2) == 2 * len(parts)


def test_what_is_not_packed_is_as_large_as_the_input():
    assert rows(arrow(LONG, "stream", None)) == rows(arrow(LONG, "file", None)) == len(LONG)


WAYS = [
    {},
    {"compression": "none"},
    {"compression": "gzip", "data_page_version": "2.0"},
    {"compression": "zstd", "use_dictionary": False, "data_page_size": 1},
    {"compression": "lz4", "write_page_checksum": True, "row_group_size": 7},
    {"write_statistics": False, "write_page_index": True, "data_page_version": "2.0"},
]
MIXED = pa.table(
    {
        "text": [None, "é", "a" * 5000, "b"] * 50,
        "n": list(range(200)),
        "list": [[i, i + 1] for i in range(200)],
        "of": [{"a": i / 7, "b": [str(i)] * (i % 4)} for i in range(200)],
    }
)


@pytest.mark.parametrize("options", WAYS)
def test_pages_and_their_headers_are_all_of_a_column(options: dict, monkeypatch):
    """Headers beside pages fill what the footer says that a column takes, unpacked."""
    from dialtools.streams import pages

    data, read, lengths = parquet(MIXED, **options), pages._header, []

    def header(file, at):
        lengths.append(read(file, at).length)
        return read(file, at)

    monkeypatch.setattr(pages, "_header", header)
    metadata = pq.read_metadata(io.BytesIO(data))
    for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
        for column in (group.column(i) for i in range(group.num_columns)):
            lengths.clear()
            sizes = list(_sizes(io.BytesIO(data), column))
            assert sum(sizes) + sum(lengths) == column.total_uncompressed_size
    assert rows(data, parquet_batches) == len(MIXED)


def test_a_page_that_unpacks_to_more_is_refused_and_many_small_ones_are_read():
    with pytest.raises(DataError, match="pages of 8 MB once unpacked, more than 4MB"):
        rows(parquet(LONG, use_dictionary=False, data_page_size=1 << 30), parquet_batches)
    small = parquet(LONG, use_dictionary=False, data_page_size=1, write_batch_size=1)
    assert rows(small, parquet_batches) == len(LONG)


def test_columns_of_a_row_group_are_unpacked_together():
    wide = pa.table({str(i): ["a" * MEGABYTE] for i in range(8)})
    with pytest.raises(DataError, match="pages of"):
        rows(parquet(wide), parquet_batches)


@pytest.mark.parametrize("name", ["bomb.parquet", "bomb.arrow"])
def test_the_bound_is_an_option_of_the_command(scripts: Path, tmp_path: Path, name: str):
    content = parquet(LONG, use_dictionary=False) if "parquet" in name else arrow(LONG, "file")
    (tmp_path / name).write_bytes(content)
    for bound, code in (("page=4MB", 1), ("page=1GB", 0)):
        words = ["dial-pairs", "--kind", "utterance", "--bounds", bound, name]
        done = ended(scripts / words[0], *words[1:], code=code, cwd=tmp_path, text=True)
        assert ("--bounds page=SIZE allows more" in done.stderr) == bool(code)
