"""Texts of an Arrow column by their bytes: what each is, and what JSON makes of it."""

from __future__ import annotations

from itertools import pairwise

import orjson
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dialtools.streams.text_columns import escaped, lengths, offsets_and_bytes

TEXTS = st.lists(st.text(st.sampled_from('a"\\\t\x1f \x7f\u2028é😀'), max_size=4), max_size=6)


def view(texts: list[str | None]) -> pa.Array:
    """Return a column which must not be read as the whole that it is a part of."""
    return pa.array(["a\n", *texts, "\n"], pa.string()).slice(1, len(texts))


@given(TEXTS)
def test_texts_are_escaped_as_json_has_them(texts: list[str]):
    written = [orjson.dumps(text).decode()[1:-1] for text in texts]
    assert escaped(view(texts)).to_pylist() == written


@given(TEXTS)
def test_the_bytes_of_each_text_lie_between_its_offsets(texts: list[str]):
    offsets, data = offsets_and_bytes(view(texts))
    parts = [data[i:j].tobytes() for i, j in pairwise(offsets)]
    assert parts == [text.encode() for text in texts]


def test_null_has_no_bytes():
    assert lengths(view(["é", None, ""])).tolist() == [2, 0, 0]
