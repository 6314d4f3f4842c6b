"""Lines of JSON straight to columns, where all of them are dialogues of the plain dialect:

    {"id": "a text", "turns": [{"speaker": "a text", "text": "a text", ...}, ...], ...}

Arrow's parser reads such lines several times as fast as Python makes objects of them. It is used
only where it cannot differ from the careful reader (`read.dialogues`), by a byte or by an error:
what is odd in any way is not read here at all.
"""

# pyarrow.compute makes its functions when it is imported, so that pyright sees none of them
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from dialtools.corpora.dialogues import SPEAKER_KEYS
from dialtools.corpora.flat import FlatTurns
from dialtools.streams import bounds, nesting
from dialtools.streams.chunks import Chunk
from dialtools.streams.text_columns import offsets_and_bytes

TURN = pa.struct([("speaker", pa.string()), ("text", pa.string())])
SCHEMA = pa.schema([("id", pa.string()), ("dialogue_id", pa.string()), ("turns", pa.list_(TURN))])
PARSE = pj.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore")
BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What str.strip takes off."""
INFINITE = re.compile(rb"Inf(?:inity)?\s*[,}\]]")
STRIDE = 64
"""Of as many bytes one is looked at: a HUGE number has four such neighbours."""
WORD = 8
"""Bytes that are counted at once."""
HUGE = re.compile(rb"[0-9]{309}")
"""A whole number of so many digits is more than any float: no JSON to the careful reader."""


def read_block(chunk: Chunk, *, but: str | None = None) -> FlatTurns | None:
    """Return the turns of a chunk of JSON lines; None if any of it is odd, or no dialogue.

    Args:
        but: a field that no record may have.
    """
    if not chunk.json or chunk.lines:
        return None
    data: bytes = chunk.data
    if but and _may_have(data, but):
        return None
    ends = _ends_of_objects(data)
    if ends is None or not _begins_plain(data[: ends[0]]) or not _parsed_alike(data, ends):
        return None
    try:
        read = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
        table = pj.read_json(pa.BufferReader(data), read_options=read, parse_options=PARSE)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != len(ends):  # two on a line, and none on another
        return None
    return _flat(table.combine_chunks(), data, chunk.first)


def _ends_of_objects(data: bytes) -> np.ndarray | None:
    """Return where each line ends, if each begins and ends as an object does."""
    content = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    if not len(ends) or not data.startswith(b"{"):
        return None
    closed = (content[ends - 1] == ord("}")).all()
    return ends if closed and (content[ends[:-1] + 1] == ord("{")).all() else None


def _begins_plain(line: bytes) -> bool:
    """Tell whether a first line may be of the dialect: one tells others, not reading all."""
    try:
        turns = orjson.loads(line).get("turns")
    except orjson.JSONDecodeError:
        return False
    if not isinstance(turns, list):
        return False
    first = turns[0] if turns else {"text": ""}
    if not isinstance(first, dict) or not isinstance(first.get("text"), str):
        return False
    return "speaker" in first or not any(key in first for key in SPEAKER_KEYS)


def _parsed_alike(data: bytes, ends: np.ndarray) -> bool:
    """Tell whether lines have nothing that Arrow's parser takes and the careful reader does not.

    That is bytes that are not UTF-8, numbers that are none or infinite, and deep nesting.
    """
    if not _is_utf8(data):
        return False
    content = np.frombuffer(data, np.uint8)
    if len(_places(content, b"NaN")):
        return False
    if any(INFINITE.match(data, place) for place in _places(content, b"Inf").tolist()):
        return False
    if _may_be_huge(data) and HUGE.search(data):
        return False
    starts = np.append(0, ends[:-1])
    return not any(_is_deep(data[starts[i] : ends[i]]) for i in _of_many_levels(content, starts))


def _is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8, in an eighth of the time that it takes to decode them."""
    ends = pa.py_buffer(np.array([0, len(data)], np.int32))
    try:
        pa.StringArray.from_buffers(1, ends, pa.py_buffer(data)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _may_be_huge(data: bytes) -> bool:
    """Tell whether a number may have 309 digits: of those, four in a row are looked at."""
    digits = np.frombuffer(data, np.uint8)[::STRIDE] - ord("0") < 10  # bytes below "0" become large
    together = digits[:-3] & digits[1:-2] & digits[2:-1] & digits[3:]
    places = np.flatnonzero(together) * STRIDE
    return any(data[place : place + 3 * STRIDE].isdigit() for place in places.tolist())


def _of_many_levels(content: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the lines that open more levels than are allowed, one after another or not.

    It counts by words of eight bytes: one in which two lines meet is the second's.
    """
    padded = np.zeros(-(-len(content) // WORD) * WORD, bool)
    np.equal(content | 0x20, ord("{"), out=padded[: len(content)])  # and "["
    of_word = np.bitwise_count(padded.view(np.uint64))
    opens = np.add.reduceat(of_word, starts // WORD, dtype=np.int32)
    return np.flatnonzero(opens + WORD > bounds.most("nesting"))


def _places(content: np.ndarray, word: bytes) -> np.ndarray:
    """Return where bytes have a word of three: `find` is slow where its letters are frequent."""
    a, b, c = word
    places = np.flatnonzero((content[:-2] == a) & (content[2:] == c))
    return places[content[places + 1] == b]


def _is_deep(line: bytes) -> bool:
    try:
        return nesting.too_deep(orjson.loads(line))
    except orjson.JSONDecodeError:
        return True


def _flat(table: pa.Table, data: bytes, first: int) -> FlatTurns | None:
    """Return the turns of a table, unless a list, a turn, a text, or some of the names are null."""
    own, other, lists = (column.chunk(0) for column in table.columns)
    turns = lists.flatten()
    speakers, texts = (turns.field(name) for name in ("speaker", "text"))
    ids = own if own.null_count == 0 else other
    if any(column.null_count for column in (lists, turns, texts)):
        return None
    if ids is other and not _absent(own, data, "id"):
        return None
    if ids.null_count and not _absent(ids, data, "dialogue_id"):
        return None
    if speakers.null_count and not _absent(speakers, data, *SPEAKER_KEYS):
        return None
    if has_blank(ids):
        return None
    nobody = pc.equal(speakers, "")
    if pc.any(nobody).as_py():
        if any(_may_have(data, key) for key in SPEAKER_KEYS[1:]):
            return None
        speakers = pc.if_else(nobody, None, speakers)
    lines = np.arange(first, first + len(ids))
    sizes = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    return FlatTurns(_stripped(texts), speakers, ids, lines, sizes)


def has_blank(names: pa.Array) -> bool:
    """Tell whether one of some names is blank, which is no name."""
    return bool(pc.any(pc.equal(pc.utf8_trim(names, BLANKS), "")).as_py())


def _absent(column: pa.StringArray, data: bytes, *keys: str) -> bool:
    """Tell whether a column is null because no record has its key."""
    return column.null_count == len(column) and not any(_may_have(data, key) for key in keys)


def _may_have(data: bytes, key: str) -> bool:
    return f'"{key}"'.encode() in data or b"\\u00" in data  # which spells any letter


def _stripped(texts: pa.StringArray) -> pa.StringArray:
    """Return texts without blanks at their ends; most have none, which their first bytes show."""
    ends, content = offsets_and_bytes(texts)
    some = ends[1:] > ends[:-1]
    at_ends = content[np.concatenate([ends[:-1][some], ends[1:][some] - 1])]
    if ((at_ends > ord(" ")) & (at_ends < 0x80)).all():
        return texts
    return pc.utf8_trim(texts, characters=BLANKS)
