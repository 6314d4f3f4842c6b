"""A folder of parts is looked through before a cluster is: what is no part is told by name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialtools.engine.folder import Folder
from dialtools.errors import OutputError
from dialtools.streams.parts import Part


@pytest.mark.parametrize("told", [b"{rubbish", b"\xff", b"5", b'{"inputs": ["name sha256"]}', None])
def test_a_table_of_another_make_is_no_part(tmp_path: Path, told: bytes | None):
    folder = Folder(str(tmp_path / "parts"), 2)
    table = pa.table({"a": [1]}).replace_schema_metadata({b"dialtools": told} if told else None)
    pq.write_table(table, folder.file(1))
    with pytest.raises(OutputError, match="is no part, or damaged") as error:
        folder.done(Part("x", {"inputs": [], "shard": {"part": 1, "of": 2}}))
    assert error.value.where == folder.file(1) and error.value.hint
