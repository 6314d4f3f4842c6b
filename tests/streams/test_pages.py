"""Headers of Parquet's pages: Thrift's compact protocol, read back from a slow writer of it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.streams.pages import _fields

INTEGERS = {4: 16, 5: 32, 6: 64}
"""Bits of each kind of whole number."""


def unsigned(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + unsigned(rest) if rest else bytes([low])


def signed(number: int) -> bytes:
    return unsigned(2 * number if number >= 0 else -2 * number - 1)


@st.composite
def values(draw: st.DrawFn, kind: int, *, in_list: bool) -> tuple[bytes, int | None]:
    """The bytes of a value of a kind, and the value if it is an integer of 32 bits."""
    if kind in (1, 2):  # a field says true or false by its kind
        return (b"\1" if in_list else b""), None
    if kind in INTEGERS:
        most = 1 << (INTEGERS[kind] - 1)
        number = draw(st.integers(-most, most - 1))
        return signed(number), number if kind == 5 else None
    if kind == 8:
        text = draw(st.binary(max_size=200))
        return unsigned(len(text)) + text, None
    if kind in (9, 10):
        inner = draw(st.sampled_from([1, 3, 5, 8]))
        items = draw(st.lists(values(inner, in_list=True), max_size=20))
        size = len(items)
        head = [size << 4 | inner] if size < 15 else [0xF0 | inner, *unsigned(size)]
        return bytes(head) + b"".join(item for item, _ in items), None
    if kind == 11:
        pair = st.tuples(values(5, in_list=True), values(2, in_list=True))
        pairs = draw(st.lists(pair, max_size=3))
        head = unsigned(len(pairs)) + (bytes([5 << 4 | 2]) if pairs else b"")
        return head + b"".join(key + value for (key, _), (value, _) in pairs), None
    if kind == 12:
        return draw(structs(kinds=(3, 5, 8)))[0], None
    return draw(st.binary(min_size=8 if kind == 7 else 1, max_size=8 if kind == 7 else 1)), None


@st.composite
def structs(draw: st.DrawFn, kinds: tuple[int, ...] = tuple(range(1, 13))) -> tuple[bytes, list]:
    """A struct, and number and value of each of its fields."""
    data, told, number = b"", [], 0
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=5)):
        step = draw(st.sampled_from([1, 2, 15, 16, 300]))
        number += step
        head = bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + signed(number)
        value, integer = draw(values(kind, in_list=False))
        data += head + value
        told.append((number, integer))
    return data + b"\0", told


@given(structs())
def test_fields_of_a_header_are_those_that_were_written(struct: tuple[bytes, list]):
    data, told = struct
    stream = io.BytesIO(data + b"the page")
    assert list(_fields(stream)) == told
    assert stream.read() == b"the page"


def test_a_header_that_is_cut_or_none_is_told():
    for number in (-64, 63, 64, -65, 1 << 20):  # of one byte, and of more
        whole = bytes([0x15]) + signed(number) + b"\0"
        assert list(_fields(io.BytesIO(whole))) == [(1, number)]
    widest = bytes([0x16]) + signed(-(1 << 63)) + b"\0"  # ten bytes
    assert list(_fields(io.BytesIO(widest))) == [(1, None)]
    for end in range(len(whole)):
        with pytest.raises(EOFError):
            list(_fields(io.BytesIO(whole[:end])))
    for none in (b"\x1d\0", b"\x15" + b"\xff" * 10):  # no such kind; more than 64 bits
        with pytest.raises(ValueError, match=r"no kind of value|more than 64 bits"):
            list(_fields(io.BytesIO(none)))
