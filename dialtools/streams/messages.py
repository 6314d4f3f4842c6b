"""Messages of Arrow streams and files, looked at before Arrow makes room for what they say.

A buffer that is compressed says in its first eight bytes how long it is once unpacked. Where the
buffers are stands in the message's metadata, a FlatBuffer: tables whose fields are found by offset.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from dialtools.streams import bounds
from dialtools.streams.bytesio import display_name

CONTINUATION = b"\xff\xff\xff\xff"
"""Before the length of the metadata, since Arrow 0.15."""
DICTIONARY, BATCH = 2, 3
"""Kinds of messages that have buffers."""
COMPRESSED_BEFORE_1 = b"ARROW:experimental_compression"
"""Told among the custom metadata by Arrow 0.17."""
NOT_COMPRESSED = -1
FOOT = 10
"""Bytes after a file's footer: its length, and the magic."""

ReadAt = Callable[[int, int], bytes]
"""Returns bytes of a message's body, from a place on."""


class Damaged(ValueError):
    """A message or a footer that is none."""


class _Table(NamedTuple):
    """A table of a FlatBuffer, by its place."""

    data: bytes
    at: int

    def number(self, field: int, layout: str) -> int:
        """Return a field that is a number, 0 if it is not there."""
        at = self._place(field)
        return struct.unpack_from(layout, self.data, at)[0] if at else 0

    def table(self, field: int) -> _Table | None:
        """Return a field that is a table."""
        at = self._place(field)
        return _Table(self.data, at + _offset(self.data, at)) if at else None

    def structs(self, field: int, layout: str) -> Iterator[tuple[int, ...]]:
        """Yield the members of a field that is a vector of structs."""
        at = self._place(field)
        if at:
            at += _offset(self.data, at)
            size = _offset(self.data, at) * struct.calcsize(layout)
            yield from struct.iter_unpack(layout, _part(self.data, at + 4, size))

    def _place(self, field: int) -> int:
        """Return where a field is, or 0 if the table has none."""
        layout = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        entry = 4 + 2 * field
        if layout < 0 or entry >= struct.unpack_from("<H", self.data, layout)[0]:
            return 0
        offset = struct.unpack_from("<H", self.data, layout + entry)[0]
        return self.at + offset if offset else 0


def _offset(data: bytes, at: int) -> int:
    return struct.unpack_from("<I", data, at)[0]


def _part(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if len(part) < size:
        raise Damaged("its metadata ends early")
    return part


class Message:
    """The metadata of a message.

    Attributes:
        body: bytes that follow it.

    Raises:
        Damaged: if it cannot be read.
    """

    def __init__(self, metadata: bytes) -> None:
        self.body, self._buffers = 0, list[tuple[int, ...]]()
        try:
            root = _Table(metadata, _offset(metadata, 0))
            kind, content = root.number(1, "<B"), root.table(2)
            self.body = root.number(3, "<q")
            batch = content.table(1) if content and kind == DICTIONARY else content
            packed = batch and (batch.table(3) or COMPRESSED_BEFORE_1 in metadata)
            if kind in (DICTIONARY, BATCH) and batch and packed:
                self._buffers = list(batch.structs(2, "<qq"))
        except struct.error:
            raise Damaged("a message whose metadata cannot be read") from None
        if self.body < 0:
            raise Damaged("a message of less than no bytes")

    @property
    def compressed(self) -> bool:
        """Whether it has buffers that are compressed."""
        return bool(self._buffers)

    def check(self, read: ReadAt, path: str) -> None:
        """Raise DataError if its compressed buffers say that they are larger than is allowed."""
        size = sum(_unpacked(read, at, length) for at, length in self._buffers)
        if size > bounds.most("page"):
            what = f"a batch of {size >> 20:,} MB once unpacked, more than"
            raise bounds.beyond("page", what, where=display_name(path))


def _unpacked(read: ReadAt, at: int, length: int) -> int:
    """Return the bytes of a buffer once unpacked."""
    head = read(at, 8) if at >= 0 and length >= 8 else b""
    if len(head) < 8:
        return 0  # an empty one, or for Arrow to tell
    size = struct.unpack("<q", head)[0]
    return length if size == NOT_COMPRESSED else max(0, size)


def read_head(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Return what a message begins with, and its metadata, which is empty at a stream's end."""
    prefix = stream.read(4)
    if prefix == CONTINUATION:
        prefix += stream.read(4)
    length = struct.unpack("<i", prefix[-4:])[0] if len(prefix) >= 4 else 0
    return prefix, stream.read(length) if length > 0 else b""


def check_file(file: BinaryIO, path: str) -> None:
    """Check the messages that the footer of an Arrow file names.

    Raises:
        DataError: if one is larger, unpacked, than is allowed.
        Damaged: if the footer or a message cannot be read.
    """
    try:
        for at, _, _ in _blocks(file):
            file.seek(at)
            _, metadata = read_head(file)
            message, body = Message(metadata), file.tell()
            message.check(lambda place, size, body=body: _read_at(file, body + place, size), path)
    except struct.error:
        raise Damaged("a footer that cannot be read") from None
    file.seek(0)


def _blocks(file: BinaryIO) -> list[tuple[int, ...]]:
    """Return offset, bytes of metadata and of body of each message with buffers."""
    end = file.seek(0, io.SEEK_END)
    length = struct.unpack("<i", _read_at(file, end - FOOT, 4))[0]
    if not 0 < length <= end - FOOT:
        raise Damaged("a footer that cannot be read")
    footer = _read_at(file, end - FOOT - length, length)
    root = _Table(footer, _offset(footer, 0))
    return [block for field in (2, 3) for block in root.structs(field, "<qi4xq")]


def _read_at(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(max(0, at))
    return file.read(size)
