"""Lines of JSON straight to columns, where all of them are dialogues of the plain dialect:

    {"id": "a text", "turns": [{"speaker": "a text", "text": "a text", ...}, ...], ...}

They are read as `read.dialogues` reads them, or not at all (`streams.json_columns`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.corpora.dialogues import IDS, SPEAKER_KEYS
from dialtools.corpora.flat import FlatTurns
from dialtools.streams.chunks import Chunk
from dialtools.streams.json_columns import columns_of_lines
from dialtools.streams.text_columns import offsets_and_bytes

TURN = pa.struct([("speaker", pa.string()), ("text", pa.string())])
SCHEMA = pa.schema([("id", pa.string()), ("dialogue_id", pa.string()), ("turns", pa.list_(TURN))])
BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What str.strip takes off."""


def read_block(chunk: Chunk, *, but: str | None = None) -> FlatTurns | None:
    """Return the turns of a chunk of JSON lines; None if any of it is odd, or no dialogue.

    Args:
        but: a field that no record may have.
    """
    if but and chunk.json and _may_have(chunk.data, but):
        return None
    batch = columns_of_lines(chunk, SCHEMA, begins=_begins_plain)
    return None if batch is None else _flat(batch, chunk.data, chunk.first)


def _begins_plain(record: dict[str, Any]) -> bool:
    """Tell whether a first record may be of the dialect: one tells others, not reading all."""
    turns = record.get("turns")
    if not isinstance(turns, list):
        return False
    first = turns[0] if turns else {"text": ""}
    if not isinstance(first, dict) or not isinstance(first.get("text"), str):
        return False
    return "speaker" in first or not any(key in first for key in SPEAKER_KEYS)


def _flat(batch: pa.RecordBatch, data: bytes, first: int) -> FlatTurns | None:
    """Return the turns of a batch, unless a list, a turn, a text, or some of the names are null."""
    own, other, lists = batch.columns
    turns = lists.flatten()
    speakers, texts = (turns.field(name) for name in ("speaker", "text"))
    ids = own if own.null_count == 0 else other
    if any(column.null_count for column in (lists, turns, texts)):
        return None
    if ids is other and not _absent(own, data, "id"):
        return None
    if ids.null_count and not _absent(ids, data, *IDS[1:]):
        return None
    if speakers.null_count and not _absent(speakers, data, *SPEAKER_KEYS):
        return None
    if has_blank(ids):
        return None
    nobody = pc.equal(pc.utf8_trim(speakers, BLANKS), "")
    if pc.any(nobody).as_py():
        if any(_may_have(data, key) for key in SPEAKER_KEYS[1:]):
            return None
        speakers = pc.if_else(nobody, None, speakers)
    lines = np.arange(first, first + len(ids))
    sizes = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    return FlatTurns(
        _stripped(texts),
        speakers,
        ids,
        lines,
        sizes,
        np.ones_like(sizes),
        pa.nulls(len(ids), pa.string()),
    )


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
