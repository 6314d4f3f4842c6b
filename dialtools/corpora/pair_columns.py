"""Lines of JSON straight to columns, where all of them are pairs as dial-pairs writes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dialtools.corpora.dialogues import DOMAIN
from dialtools.streams.chunks import Chunk
from dialtools.streams.json_columns import columns_of_lines

TEXT, TEXTS = pa.string(), pa.list_(pa.string())
COLUMNS = {
    "context": TEXTS,
    "response": TEXT,
    "follow": TEXTS,
    "negatives": TEXTS,
    "template": TEXT,
    "speakers": TEXTS,
    "weight": pa.float64(),
    "similar": pa.int64(),
    "kind": TEXT,
    "window": pa.int64(),
    "dialogue_id": TEXT,
    "turn": pa.int64(),
    DOMAIN: TEXT,
}
"""The fields of a pair that a command reads, as most records have them."""
SCHEMA = pa.schema(COLUMNS)


def pair_columns(chunk: Chunk) -> pa.RecordBatch | None:
    """Return the fields that some pair of a chunk of JSON lines has, as columns.

    None if a field of any is not as in `COLUMNS`, or the first record is no pair.
    """
    batch = columns_of_lines(chunk, SCHEMA, begins=_is_pair)
    if batch is None:
        return None
    return batch.select([name for name in COLUMNS if batch[name].null_count < len(batch)])


def _is_pair(record: dict[str, Any]) -> bool:
    return isinstance(record.get("context"), list) and isinstance(record.get("response"), str)
