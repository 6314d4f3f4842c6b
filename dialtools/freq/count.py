"""Counting texts with DuckDB: a group-by that spills to disk, fed batch by batch.

The caller adds batches; a thread of ours lets DuckDB pull them, so that parsing and grouping
overlap.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from dialtools.errors import DataError, DialError
from dialtools.freq.imbalance import Spectrum
from dialtools.freq.texts import Texts
from dialtools.streams.scraps import temporary_folder

OURS = 224 << 20
"""Bytes of --memory that are not DuckDB's: the interpreter, its libraries, batches on their way."""
BYTES_A_THREAD = 192 << 20
"""That a thread of DuckDB needs to spill long texts, at least."""
BYTES_AHEAD = 4 << 20
"""That wait for DuckDB: enough for parsing and grouping to overlap, and no more memory."""
DUCKDB_ROWS = 2048
"""Rows of DuckDB's own vectors: it hands on no fewer for less memory."""
ROWS_A_BATCH = 1 << 15
BYTES_A_BATCH = 4 << 20
EACH_TURN_ONCE = """(
    SELECT text, input, dialogue, turn, max(times) AS times FROM (
        SELECT text, input, dialogue, turn, size, count(size) AS times FROM feed GROUP BY ALL
    ) GROUP BY ALL
)"""
"""A turn is in one pair of each window: one that is in two is of two dialogues of one name."""


class Ahead:
    """Batches on their way to a thread, full by their bytes: one of chats has a hundredth of mails.

    Its queues take no lock that a signal could leave taken, for which `Counting` would wait then.
    """

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0
        self.waiting: SimpleQueue[pa.RecordBatch | None] = SimpleQueue()
        self.taken: SimpleQueue[int] = SimpleQueue()

    def put(self, batch: pa.RecordBatch | None, timeout: float) -> bool:
        """Tell whether a batch had room within so many seconds; None, the end, always has."""
        while batch is not None and self.held >= self.most:
            try:
                self.held -= self.taken.get(timeout=timeout)
            except Empty:
                return False
        self.held += _size(batch)
        self.waiting.put(batch)
        return True

    def get(self) -> pa.RecordBatch | None:
        """Return the next batch as soon as there is one."""
        batch = self.waiting.get()
        self.taken.put(_size(batch))
        return batch


def _size(batch: pa.RecordBatch | None) -> int:
    """Return the bytes of a batch, one at least."""
    return 1 if batch is None else 1 + batch.nbytes


class Counting:
    """Adds up texts; after `finish` the table `counts` has one row for each text (of each input).

    Args:
        memory: bytes that the process should stay within.
        threads: of DuckDB, as far as memory has room for them; None is one a core.
        by_turn: count a pair's response once, in however many windows of its dialogue it stands.
        apart: keep the counts of each input apart.
    """

    def __init__(
        self, *, memory: int, threads: int | None = None, by_turn: bool = False, apart: bool = False
    ) -> None:
        self.by_turn, self.apart = by_turn, apart
        self.turns_matter = by_turn
        self.names: dict[int, str] = {}
        self.total = self.distinct = 0
        self.scratch = ExitStack()
        self.folder = self.scratch.enter_context(temporary_folder())
        room = memory - OURS
        self.connection = duckdb.connect(
            config={
                "memory_limit": f"{room >> 10}KiB",
                "temp_directory": str(self.folder),
                "threads": min(threads or os.cpu_count() or 1, max(1, room // BYTES_A_THREAD)),
                "preserve_insertion_order": False,
            }
        )
        self.batches = Ahead(BYTES_AHEAD)
        self.thread: threading.Thread | None = None
        self.failure: BaseException | None = None
        self.fed = 0

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *_: object) -> None:
        if self.thread and self.thread.is_alive():
            self.connection.interrupt()
            self._end_of_feed()
        self.connection.close()
        self.scratch.close()

    def add(self, texts: Texts) -> None:
        """Count the texts of a batch.

        Raises:
            DataError: if pairs come after records of another kind.
        """
        if self.thread is None:
            self._begin(texts)
        elif texts.turn is not None and not self.by_turn and self.turns_matter:
            raise DataError(
                "pairs after records of another kind",
                where=texts.name,
                hint="count them apart and --merge, or --unit record",
            )
        self.names.setdefault(texts.source, texts.name)
        if not self._put(self._batch(texts)):
            assert self.failure is not None
            raise _as_ours(self.failure)

    def finish(self) -> Counting:
        """Wait for the last group; the results can be asked for from then on."""
        if self.thread is None:
            self._begin(Texts(0, "", pa.array([], pa.string())))
        self._end_of_feed()
        if self.failure:
            raise _as_ours(self.failure)
        texts = "count(DISTINCT text)" if self.apart else "count(*)"
        self.total, self.distinct = next(
            self._rows(f"SELECT coalesce(sum(n), 0)::BIGINT, {texts} FROM counts")
        )
        return self

    def _begin(self, first: Texts) -> None:
        """Let DuckDB pull what is added from now on.

        The first batch tells what there is to group by.
        """
        self.by_turn = self.turns_matter and first.turn is not None
        # the same in all batches: DuckDB reads them as one table
        fields: list[tuple[str, pa.DataType]] = [("text", pa.string()), ("input", pa.int32())]
        times = "count(*)"
        if first.counts is not None:
            fields.append(("n", pa.int64()))
            times = "sum(n)::BIGINT"
        if self.by_turn:
            fields += [("dialogue", pa.string()), ("turn", pa.int64()), ("size", pa.int64())]
            times = "sum(greatest(times, 1))::BIGINT"
        self.schema = pa.schema(fields)

        groups = "text, input" if self.apart else "text"
        rows = EACH_TURN_ONCE if self.by_turn else "feed"
        query = (
            f"CREATE TEMP TABLE counts AS SELECT {groups}, {times} AS n "
            f"FROM {rows} WHERE text <> '' GROUP BY {groups}"
        )
        feed = pa.RecordBatchReader.from_batches(self.schema, iter(self.batches.get, None))
        self.connection.register("feed", feed)
        self.thread = threading.Thread(target=self._group, args=(query,))
        self.thread.start()

    def _group(self, query: str) -> None:
        try:
            self.connection.execute(query)
        except BaseException as error:  # told by whoever adds or finishes
            self.failure = error

    def _batch(self, texts: Texts) -> pa.RecordBatch:
        rows = len(texts.texts)
        columns: dict[str, Any] = {
            "text": texts.texts,
            "input": np.full(rows, texts.source, np.int32),
            "n": texts.counts,
        }
        if self.by_turn:  # what is no pair is a turn of its own, with a number that no pair has
            alone = -1 - np.arange(self.fed, self.fed + rows)
            named = texts.dialogue is not None
            columns["dialogue"] = texts.dialogue if named else pa.nulls(rows, pa.string())
            columns["turn"] = alone if texts.turn is None else texts.turn
            columns["size"] = pa.nulls(rows, pa.int64()) if texts.window is None else texts.window
        self.fed += rows
        arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _put(self, batch: pa.RecordBatch | None) -> bool:
        """Wait until a batch has room, and tell whether counting goes on."""
        assert self.thread is not None
        while self.thread.is_alive():
            if self.batches.put(batch, timeout=0.05):
                return True
        return False

    def _end_of_feed(self) -> None:
        self._put(None)
        while self.thread and self.thread.is_alive():  # short waits, so that a signal is heard
            self.thread.join(0.05)

    def _results(self, query: str, rows: int = ROWS_A_BATCH) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.connection.sql(query).to_arrow_reader(rows)
        except (duckdb.Error, OSError) as error:
            raise _as_ours(error) from None

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        for batch in self._results(query):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def counts(
        self, limit: int | None = None, *, ranked: bool = True
    ) -> Iterator[tuple[pa.Array, np.ndarray]]:
        """Yield texts and counts in batches.

        Args:
            ranked: falling counts, then the texts by code point; else in no order.
        """
        order = "ORDER BY n DESC, text" if ranked else ""
        top = "" if limit is None else f"LIMIT {limit}"
        query = f"SELECT text, n FROM counts {order} {top}"
        for batch in _filled(self._results(query, DUCKDB_ROWS)):
            yield batch["text"], np.asarray(batch["n"])

    def spectrum(self, source: int | None = None) -> Spectrum:
        """Return how many texts have each count, in one input or (None) in all."""
        table = "counts"
        if source is not None:
            table = f"(SELECT n FROM counts WHERE input = {source})"
        elif self.apart:
            table = "(SELECT sum(n)::BIGINT AS n FROM counts GROUP BY text)"
        query = f"SELECT n, count(*) AS texts FROM {table} GROUP BY n ORDER BY n DESC"
        counts, texts = np.array(list(self._rows(query)), np.int64).reshape(-1, 2).T
        return Spectrum(counts, texts)

    def lookup(self, texts: pa.Array) -> np.ndarray:
        """Return the count of each text, 0 if it was never added."""
        counts = np.zeros(len(texts), np.int64)
        self.connection.register("asked", pa.table({"row": np.arange(len(texts)), "text": texts}))
        for batch in self._results("SELECT row, n FROM asked JOIN counts USING (text)"):
            counts[np.asarray(batch["row"])] = np.asarray(batch["n"])
        self.connection.unregister("asked")
        return counts


def _filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches until they have the rows or the bytes of one."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        rows = sum(part.num_rows for part in held)
        if rows >= ROWS_A_BATCH or sum(part.nbytes for part in held) >= BYTES_A_BATCH:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


def _as_ours(error: BaseException) -> BaseException:
    """Return DuckDB's errors as ours, others as they are."""
    text = (str(error).splitlines() or [""])[0]
    if isinstance(error, duckdb.OutOfMemoryException):
        return DialError(
            f"--memory is too little: {text}",
            hint="give more, or fewer threads (-j 1); TMPDIR names the directory it spills to",
        )
    return DialError(text) if isinstance(error, duckdb.Error) else error
