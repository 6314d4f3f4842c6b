"""Arrow's messages and Parquet's pages, byte by byte: what they say of themselves, and damage."""

from __future__ import annotations

import io
import struct
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dialtools.errors import DataError
from dialtools.streams import bounds, messages, pages
from dialtools.streams.messages import (
    Damaged,
    Message,
    _read_at,
    _Table,
    _unpacked,
    check_file,
    read_head,
)
from dialtools.streams.pages import Header, _header, _sizes, read_together


def flat(*fields: bytes | None) -> bytes:
    """A FlatBuffer whose root table holds numbers; None is a field that is not there."""
    table, offsets = b"", []
    for field in fields:
        offsets.append(4 + len(table) if field is not None else 0)
        table += field or b""
    vtable = struct.pack(f"<HH{len(offsets)}H", 4 + 2 * len(offsets), 4 + len(table), *offsets)
    return struct.pack("<I", 4 + len(vtable)) + vtable + struct.pack("<i", len(vtable)) + table


def root(data: bytes) -> _Table:
    return _Table(data, struct.unpack_from("<I", data)[0])


def test_fields_of_a_table_are_found_by_their_offsets_or_are_not_there():
    table = root(flat(b"\7", None, struct.pack("<q", -5), b"\1\2"))
    assert table.number(0, "<B") == 7 and table.number(2, "<q") == -5
    assert table.number(3, "<H") == 0x0201
    assert table.number(1, "<B") == table.number(4, "<B") == 0
    assert table.table(1) is None and list(table.structs(1, "<q")) == []
    before = _Table(b"\x09\0\0\0", 0)  # whose fields would stand before the data
    assert before.number(0, "<B") == 0


def vector(*rows: tuple[int, ...], layout: str) -> bytes:
    return struct.pack("<I", len(rows)) + b"".join(struct.pack(layout, *row) for row in rows)


def test_a_vector_of_structs_is_read_whole_or_is_damaged():
    rows = [(1, 2), (3, 4)]
    data = flat(struct.pack("<I", 4)) + vector(*rows, layout="<qq")
    assert list(root(data).structs(0, "<qq")) == rows
    with pytest.raises(Damaged, match="ends early"):
        list(root(data[:-1]).structs(0, "<qq"))
    inner = flat(struct.pack("<I", 4)) + flat(b"\x07")[4:]
    found = root(inner).table(0)
    assert found is not None and found.at == root(inner).at + 8


def head(body: bytes = b"", begin: bytes = messages.CONTINUATION) -> bytes:
    return begin + struct.pack("<i", len(body)) + body


def test_a_message_begins_with_a_length_and_ends_a_stream_with_none():
    for begin in (messages.CONTINUATION, b""):
        stream = io.BytesIO(head(b"metadata", begin) + b"body")
        assert read_head(stream) == (head(b"metadata", begin)[:-8], b"metadata")
        assert stream.read() == b"body"
    for end in (b"", b"\0\0", head(), head(begin=b""), messages.CONTINUATION):
        assert read_head(io.BytesIO(end)) == (end, b"")
    below = messages.CONTINUATION + struct.pack("<i", -1)
    assert read_head(io.BytesIO(below + b"more")) == (below, b"")


def test_metadata_that_cannot_be_read_is_damage():
    for data in (b"", b"\0", b"\xff\xff\xff\x7f", b"\4\0\0\0\xff\xff\xff\xff"):
        with pytest.raises(Damaged, match="cannot be read"):
            Message(data)
    less = flat(None, b"\1", None, struct.pack("<q", -1))
    with pytest.raises(Damaged, match="less than no bytes"):
        Message(less)
    none = Message(flat(None, b"\1", None, struct.pack("<q", 0)))
    assert none.body == 0 and not none.compressed
    some = Message(flat(None, b"\1", None, struct.pack("<q", 9)))
    assert some.body == 9 and not some.compressed


def test_a_buffer_says_how_long_it_is_unpacked():
    data = struct.pack("<qqq", 100, -1, -7) + b"1234567"

    def read(at: int, size: int) -> bytes:
        return data[max(0, at) : max(0, at) + size]

    assert _unpacked(read, 0, 8) == 100 and _unpacked(read, 0, 20) == 100
    assert _unpacked(read, 8, 12) == 12, "not packed: as long as it is"
    assert _unpacked(read, 16, 12) == 0
    for at, length in ((0, 7), (0, 0), (-1, 8), (24, 8), (24, 7)):
        assert _unpacked(read, at, length) == 0


def packed(begin: Any, rows: int = 64) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    batch = pa.RecordBatch.from_pydict({"n": [0] * rows})
    with begin(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    return sink.getvalue()


@pytest.mark.parametrize(("most", "refused"), [(512, False), (511, True)])
def test_a_batch_may_be_as_large_as_the_bound_each_by_itself(most: int, refused: bool, monkeypatch):
    monkeypatch.setitem(bounds._chosen, "page", most)
    stream = io.BytesIO(packed(pa.ipc.new_stream))
    _, schema = read_head(stream)
    assert not Message(schema).compressed
    _, metadata = read_head(stream)
    message, at = Message(metadata), stream.tell()
    assert message.compressed and message.body % 8 == 0
    read = lambda place, size: _read_at(stream, at + place, size)  # noqa: E731
    file = io.BytesIO(packed(pa.ipc.new_file))
    if refused:
        with pytest.raises(DataError, match=r"x: a batch of 0 MB once unpacked, more than 511"):
            message.check(read, "x")
        with pytest.raises(DataError, match="a batch of 0 MB"):
            check_file(file, "x")
    else:
        message.check(read, "x")
        check_file(file, "x")
        assert file.tell() == 0


def test_a_footer_that_is_none_is_damage():
    data = packed(pa.ipc.new_file)
    at = len(data) - messages.FOOT
    for length in (0, -1, at + 1, 1 << 30):
        wrong = data[:at] + struct.pack("<i", length) + data[at + 4 :]
        with pytest.raises(Damaged, match="footer that cannot be read"):
            check_file(io.BytesIO(wrong), "x")
    for short in (b"", b"ARROW1", b"1234567890"):
        with pytest.raises(Damaged, match="footer that cannot be read"):
            check_file(io.BytesIO(short), "x")
    assert _read_at(io.BytesIO(b"abc"), -2, 2) == b"ab"


# pages of Parquet


def number(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + number(rest) if rest else bytes([low])


def page(unpacked: int, held: int, *, long: int = 0) -> bytes:
    """A header of fields 1 (kind), 2 and 3 (sizes), 8 (a text, as long as wanted), and the page."""
    sizes = b"".join(b"\x15" + number(2 * value) for value in (0, unpacked, held))
    text = b"\x58" + number(long) + b"s" * long if long else b""
    return sizes + text + b"\0" + b"p" * held


def column(data_page: int, total: int, dictionary: int | None = None) -> Any:
    return SimpleNamespace(
        data_page_offset=data_page,
        has_dictionary_page=dictionary is not None,
        dictionary_page_offset=dictionary,
        total_compressed_size=total,
    )


def test_pages_are_found_one_after_another_from_the_dictionary_on():
    words, one, two = page(700, 5), page(30, 3), page(40, 200)
    file = io.BytesIO(b"PAR1" + words + one + two + page(9999, 1))
    begin, total = 4 + len(words), len(one + two)
    assert list(_sizes(file, column(begin, total))) == [30, 40]
    assert list(_sizes(file, column(begin, total - len(two)))) == [30]
    of_all = column(begin, total + len(words), 4)
    assert list(_sizes(file, of_all)) == [700, 30, 40]
    for none in (0, begin, begin + 5):  # no place of a dictionary before its pages
        assert list(_sizes(file, column(begin, total, none))) == [30, 40]
    group: Any = SimpleNamespace(
        num_columns=3, column=[of_all, column(begin, total), column(4, 0)].__getitem__
    )
    assert read_together(file, group) == 700 + 40 + 0


def test_a_header_is_read_further_if_it_is_long_and_is_none_if_it_is_damaged(monkeypatch):
    monkeypatch.setattr(pages, "HEADER_BYTES", (16, 64))
    short, long = page(30, 3), page(30, 3, long=40)
    for data in (short, long):
        file = io.BytesIO(b"...." + data)
        assert _header(file, 4) == Header(len(data) - 3, 30, 3)
    text = b"\x28\x01a" + b"\x15\x02" + b"\0"  # where a size should be
    for none in (page(30, 3, long=70), text, b"", b"\x15\x02\0", b"\x1d", short[:3]):
        assert _header(io.BytesIO(none), 0) is None
    nested = b"\x1c" * 5000
    monkeypatch.setattr(pages, "HEADER_BYTES", (1 << 14,))
    assert _header(io.BytesIO(nested), 0) is None
    monkeypatch.undo()
    below = b"\x15\0" + b"\x15" + number(60) + b"\x15" + number(1) + b"\0"  # -1 bytes packed
    assert list(_sizes(io.BytesIO(below), column(0, 10))) == []
    assert list(_sizes(io.BytesIO(b"\xff" * 20), column(0, 10))) == []
    none_packed = page(30, 0)
    assert list(_sizes(io.BytesIO(none_packed * 2), column(0, 2 * len(none_packed)))) == [30, 30]
