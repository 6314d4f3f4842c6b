"""Rows that belong together brought together, whatever their order: sorted on disk by DuckDB.

DuckDB and pyarrow are imported inside functions: only --unsorted needs them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import orjson

from dialtools.streams.full import naming
from dialtools.streams.scraps import temporary_folder

MEMORY = "256MiB"
ROWS_A_BATCH = 8192
IN_ORDER = """
    SELECT line, dialogue, turn
    FROM log JOIN (SELECT dialogue, min(n) AS first FROM log GROUP BY dialogue) USING (dialogue)
    ORDER BY first, n
"""


class Row(NamedTuple):
    """A turn as a table has it, and the line (or number) of its row."""

    line: int
    dialogue: str
    turn: dict[str, Any]


def by_dialogue(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows dialogue by dialogue, in the order in which those begin.

    Holds 256 MiB, and the rest on disk.
    """
    import duckdb

    with temporary_folder() as folder, naming(folder.parent):
        limits = {
            "memory_limit": MEMORY,
            "temp_directory": str(folder),
            "threads": min(4, os.cpu_count() or 1),
        }
        with duckdb.connect(folder / "log.duckdb", config=limits) as connection:
            # DuckDB draws a bar of its own on a terminal, through ours
            connection.execute("SET enable_progress_bar = false")
            connection.execute(
                "CREATE TABLE log (n BIGINT, line BIGINT, dialogue VARCHAR, turn VARCHAR)"
            )
            _fill(connection, iter(rows))
            for batch in connection.sql(IN_ORDER).to_arrow_reader(ROWS_A_BATCH):
                columns = (batch[name].to_pylist() for name in ("line", "dialogue", "turn"))
                yield from (
                    Row(line, dialogue, orjson.loads(turn))
                    for line, dialogue, turn in zip(*columns, strict=True)
                )


def _fill(connection: Any, rows: Iterator[Row]) -> None:
    import pyarrow as pa

    n = 0
    while part := list(islice(rows, ROWS_A_BATCH)):
        lines, dialogues, turns = zip(*part, strict=True)
        texts = [orjson.dumps(turn, default=str).decode() for turn in turns]
        places = range(n, n + len(part))
        batch = pa.table({"n": places, "line": lines, "dialogue": dialogues, "turn": texts})
        connection.register("part", batch)
        connection.execute("INSERT INTO log SELECT * FROM part")
        connection.unregister("part")
        n += len(part)
