"""The group-by beneath dial-freq."""

from __future__ import annotations

import errno
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialtools.corpora.fields import BadRecord
from dialtools.errors import DataError, DialError
from dialtools.freq import count, output
from dialtools.freq.count import Counting
from dialtools.freq.job import Freq
from dialtools.freq.options import FreqOptions
from dialtools.freq.places import Place, Places
from dialtools.freq.texts import Texts
from dialtools.streams.policy import Policy

MEMORY = count.OURS + (48 << 20)
"""Of which DuckDB has 48 MiB."""


def test_counts_beyond_memory_spill_and_come_out_whole():
    """64 MB of distinct texts in 48 MiB; half of them come again after all the others."""
    distinct, batch = 800_000, 20_000
    said = [
        f"a rather long text that is said {i % 2 + 1} times and has the number {i:06d} of all"
        for i in range(distinct)
    ]
    with Counting(memory=MEMORY, threads=1) as counting:
        for texts in (said, said[1::2]):
            for start in range(0, len(texts), batch):
                counting.add(Texts(0, "said", pa.array(texts[start : start + batch])))
        counting.finish()
        assert sum(file.stat().st_size for file in counting.folder.rglob("*")) > 0
        assert (counting.total, counting.distinct) == (distinct * 3 // 2, distinct)
        ranked = [
            (text, n)
            for texts, counts in counting.counts()
            for text, n in zip(texts.to_pylist(), counts, strict=True)
        ]
        assert ranked == [(text, 2) for text in sorted(said[1::2])] + [
            (text, 1) for text in sorted(said[::2])
        ]
        folder = counting.folder
    assert not folder.exists()


@pytest.mark.parametrize(("megabytes", "threads"), [(512, 1), (1024, 4), (4096, 8)])
def test_as_many_threads_count_as_memory_has_room_for(megabytes: int, threads: int):
    with Counting(memory=megabytes << 20, threads=8) as counting:
        told = counting.connection.execute("SELECT current_setting('threads')").fetchone()
    assert told == (threads,)


def counted(*parts: Texts, **options: Any) -> dict[str, int]:
    with Counting(memory=MEMORY, threads=1, **options) as counting:
        for part in parts:
            counting.add(part)
        counting.finish()
        batches = list(counting.counts())
    return {t: int(n) for texts, ns in batches for t, n in zip(texts.to_pylist(), ns, strict=True)}


def test_a_turn_counts_once_in_its_dialogue_and_again_in_every_other_dialogue_turn_and_input():
    places = [("d", 1), ("d", 1), ("d", 2), ("e", 1), (None, 1), (None, 1), (None, 2)]
    dialogues, turns = (pa.array(column) for column in zip(*places, strict=True))
    said = pa.array(["yes"] * len(places))
    parts = [Texts(i, f"{i}.jsonl", said, dialogue=dialogues, turn=turns) for i in range(2)]
    assert counted(*parts, by_turn=True) == {"yes": 2 * 5}
    assert counted(*parts) == {"yes": 2 * 7}
    # what is no pair is a turn of its own
    alone = Texts(1, "1.jsonl", pa.array(["yes", "yes", "", "no"]))
    assert counted(parts[0], alone, by_turn=True) == {"yes": 5 + 2, "no": 1}
    assert counted(parts[0], alone, alone, by_turn=True) == {"yes": 5 + 4, "no": 2}


PLACE = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["d", None]),
    st.integers(0, 9),
    st.sampled_from([None, 1, 1, 2]),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(PLACE, min_size=1), st.lists(st.lists(PLACE) | st.text("ab", max_size=6)))
def test_turns_differ_in_text_dialogue_turn_or_input_come_again_in_a_window_or_are_no_pairs(
    first: list[tuple[Any, ...]], others: list[list[tuple[Any, ...]] | str]
):
    parts, slow, pairs = [], Counter[str](), Counter[tuple[Any, ...]]()
    for i, said in enumerate([first, *others]):
        source = i % 2  # an input has chunks of either kind
        texts = [*said] if isinstance(said, str) else [text for text, *_ in said]
        part = Texts(source, "x", pa.array(texts, pa.string()))
        if not isinstance(said, str):
            _, dialogues, turns, windows = zip(*said, strict=True) if said else [()] * 4
            part.dialogue = pa.array(dialogues, pa.string())
            part.turn = pa.array(turns, pa.int64())
            part.window = pa.array(windows, pa.int64())
            pairs.update((source, *place) for place in said)
        else:
            slow.update(texts)
        parts.append(part)
    times = Counter[tuple[Any, ...]]()
    for (*place, window), n in pairs.items():  # as often as one window, however many those are
        times[*place] = max(times[*place], n if window else 1)
    for (_, text, *_), n in times.items():
        slow[text] += n
    assert counted(*parts, by_turn=True) == slow


def test_pairs_after_records_of_another_kind_are_refused():
    pairs = Texts(1, "p", pa.array(["a"]), dialogue=pa.array(["d"]), turn=pa.array([1]))
    with pytest.raises(DataError, match="pairs after records of another kind"):
        counted(Texts(0, "t", pa.array(["a"])), pairs, by_turn=True)
    assert counted(Texts(0, "t", pa.array(["a"])), pairs) == {"a": 2}


def test_pairs_without_a_dialogue_are_told_apart_by_where_they_stand():
    def pair(turn: Any, window: Any, text: str = "yes", **facts: object) -> dict[str, Any]:
        return {"response": text, "turn": turn, "window": window, **facts}

    places = Places()
    rows = [pair(2, 1), pair(2, 2), pair(2, 1), pair(2, 2), pair(3, 1), pair(3, 1, "no")]
    assert [places.place(row) for row in rows] == [Place(None, n) for n in (1, 1, 2, 2, 3, 4)]
    places.next()  # a record that is no pair stands between
    assert places.place(pair(3, 2, "no")) == Place(None, 6)
    assert places.place(pair(2, 1, dialogue_id=7)) == Place("7", 2, 1)
    for window in (None, "1", 1 << 80):
        assert places.place(pair(2, window, dialogue_id=7)) == Place("7", 2)
    assert places.place(pair(2, 1), "text") is None and places.place({"response": "a"}) is None
    assert places.place(pair(2, 1), "response") == Place(None, 7)
    assert places.place(pair(None, 1)) is None
    for turn in (1 << 62, True, "1"):
        with pytest.raises(BadRecord, match="turn: expected a whole number"):
            places.place(pair(turn, 1))
    with pytest.raises(BadRecord, match="window: expected"):
        places.place(pair(2, "1"))


def test_a_count_that_is_broken_off_ends_at_once():
    said = Texts(0, "said", pa.array(["a"] * 10))
    with pytest.raises(KeyboardInterrupt), Counting(memory=MEMORY) as counting:
        counting.connection = Mock(wraps=counting.connection)
        counting.add(said)
        raise KeyboardInterrupt
    assert not counting.thread.is_alive() and not counting.folder.exists()
    counting.connection.close.assert_called_once()
    # whether DuckDB had begun when it was told is a matter of time: so is what the thread says
    counting.connection.interrupt.assert_called_once()
    with Counting(memory=MEMORY) as counting:
        pass
    assert counting.thread is None and not counting.folder.exists()


def test_a_count_that_no_interruption_reaches_ends_with_what_it_was_fed():
    with pytest.raises(KeyboardInterrupt), Counting(memory=MEMORY) as counting:
        counting.connection = Mock(wraps=counting.connection)
        counting.connection.interrupt.side_effect = lambda: None
        counting.add(Texts(0, "said", pa.array(["a"])))
        raise KeyboardInterrupt
    assert not counting.thread.is_alive()


def test_what_duckdb_says_is_told_in_one_line_of_ours():
    full = count._as_ours(duckdb.OutOfMemoryException("too big\nmore"))
    assert type(full) is DialError and full.message == "--memory is too little: too big"
    assert "-j 1" in full.hint and "TMPDIR" in full.hint
    other = count._as_ours(duckdb.IOException("broken\nmore"))
    assert type(other) is DialError and (other.message, other.hint) == ("broken", None)
    assert count._as_ours(duckdb.Error("")).message == ""
    assert count._as_ours(error := ValueError("x")) is error


def test_counts_of_texts_that_are_looked_up_and_spectra_of_one_input_or_all():
    parts = [Texts(0, "a", pa.array(["x", "x", "y"])), Texts(1, "b", pa.array(["x", "z", ""]))]
    with Counting(memory=MEMORY, threads=1, apart=True) as counting:
        for part in parts:
            counting.add(part)
        counting.finish()
        assert (counting.total, counting.distinct, counting.names) == (5, 3, {0: "a", 1: "b"})
        spectra = [counting.spectrum(source) for source in (0, 1, None)]
    assert [(s.counts.tolist(), s.texts.tolist()) for s in spectra] == [
        ([2, 1], [1, 1]),
        ([1], [2]),
        ([3, 1], [1, 2]),
    ]
    with Counting(memory=MEMORY, threads=1) as counting:
        counting.add(parts[0])
        counting.finish()
        assert counting.lookup(pa.array(["y", "none", "x", "y"])).tolist() == [1, 0, 2, 1]
        assert counting.lookup(pa.array([], pa.string())).tolist() == []
        assert [len(texts) for texts, _ in counting.counts(1, ranked=False)] == [1]
        assert [n.tolist() for _, n in counting.counts(1)] == [[2]]


def test_of_long_texts_few_are_under_way_at_once():
    long = pa.array([f"{i:05d}" * 400 for i in range(10_000)])
    with Counting(memory=MEMORY + (144 << 20), threads=1) as counting:
        counting.add(Texts(0, "mails", long))
        counting.finish()
        for ranked in (True, False):
            sizes = [texts.nbytes for texts, _ in counting.counts(ranked=ranked)]
            assert sum(sizes) > 20_000_000
            assert max(sizes) < count.BYTES_A_BATCH + count.DUCKDB_ROWS * 2_010


def test_what_waits_for_counting_is_bounded_by_bytes_and_never_stops_a_larger_batch():
    waiting = count.Ahead(1000)
    small, large = (pa.record_batch({"n": pa.array(range(n))}) for n in (2, 500))
    for _ in range(58):  # of 16 bytes and one
        assert waiting.put(small, timeout=0)
    assert waiting.put(large, timeout=0)
    assert not waiting.put(small, timeout=0.01)
    assert waiting.put(None, timeout=0)  # the end has room
    assert all(waiting.get() is small for _ in range(58))
    assert not waiting.put(small, timeout=0)  # the large one fills it alone
    assert [waiting.get() for _ in range(2)] == [large, None]
    assert waiting.put(small, timeout=0)


def test_a_signal_at_any_step_of_handing_on_lets_counting_end(monkeypatch: pytest.MonkeyPatch):
    """Where it comes, no lock stays taken; one that did would be waited for without an end."""
    monkeypatch.setattr(count, "BYTES_AHEAD", 1)  # of one batch
    said = Texts(0, "said", pa.array(["a"]))
    for last in range(1000):
        steps = iter(range(last))

        def step(*_: object, steps: Iterator[int] = steps) -> Callable[..., Any]:
            if next(steps, None) is None:
                sys.settrace(None)
                raise KeyboardInterrupt
            return step

        with suppress(KeyboardInterrupt), Counting(memory=MEMORY, threads=1) as counting:
            counting.add(said)
            try:
                sys.settrace(step)
                counting.batches.put(counting._batch(said), timeout=5)
                sys.settrace(None)
                break
            finally:
                sys.settrace(None)
    assert last > 20


@pytest.mark.parametrize("batches", [1, 3])
def test_what_is_fed_waits_for_as_long_as_counting_takes(
    monkeypatch: pytest.MonkeyPatch, batches: int
):
    begins, group = threading.Event(), Counting._group

    def late(self: Counting, query: str) -> None:
        begins.wait()
        group(self, query)

    monkeypatch.setattr(count, "BYTES_AHEAD", 1)  # of one batch
    monkeypatch.setattr(Counting, "_group", late)
    threading.Timer(0.2, begins.set).start()
    assert counted(*[Texts(0, "said", pa.array(["a"]))] * batches) == {"a": batches}


def test_whoever_adds_or_finishes_is_told_why_counting_ended():
    def full(*_: object) -> None:
        added.wait()
        raise duckdb.OutOfMemoryException("too big")

    said = Texts(0, "said", pa.array(["a"]))
    for last in (Counting.finish, lambda counting: counting.add(said)):
        added = threading.Event()
        with Counting(memory=MEMORY, threads=1) as counting:
            counting.connection = Mock(wraps=counting.connection, execute=full)
            counting.add(said)
            added.set()
            counting.thread.join()
            with pytest.raises(DialError, match="--memory is too little: too big"):
                last(counting)


def test_ranks_go_on_from_batch_to_batch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(count, "BYTES_A_BATCH", 1)
    (tmp_path / "a.txt").write_text("".join(f"{i:05d}\n" for i in range(5000)) + "04000\n")
    freq = Freq(FreqOptions(inputs=(str(tmp_path / "a.txt"),)), Policy())
    with freq.counted() as counting:
        lines = b"".join(freq.frequencies(counting, lines=True)).splitlines()
    rows = [orjson.loads(line) for line in lines]
    assert [row["rank"] for row in rows] == list(range(1, 5001))
    assert [row["text"] for row in rows[:3]] == ["04000", "00000", "00001"]


def test_nothing_reads_the_counts_any_more_when_they_go(monkeypatch, tmp_path: Path):
    (tmp_path / "a.txt").write_text("yes\nno\n")
    reading = threading.Event()
    at_the_end: list[bool] = []
    close = Counting.__exit__

    def slowly(counting: Counting, limit: int | None, *, ranked: bool) -> Iterator[Any]:
        for _ in range(3):
            reading.set()
            time.sleep(0.2)
            reading.clear()
            yield pa.array(["yes"]), np.array([1])

    def closed(counting: Counting, *error: Any) -> None:
        at_the_end.append(reading.is_set())
        close(counting, *error)

    @contextmanager
    def full(*_: Any, **__: Any) -> Iterator[Any]:
        def write(payload: bytes) -> None:
            assert reading.wait(5)
            raise OSError(errno.ENOSPC, "No space left on device")

        yield write

    monkeypatch.setattr(Counting, "counts", slowly)
    monkeypatch.setattr(Counting, "__exit__", closed)
    monkeypatch.setattr(output, "writer", full)
    with pytest.raises(OSError, match="No space left") as kept:  # it holds the frames
        freq = Freq(FreqOptions(inputs=(str(tmp_path / "a.txt"),)), Policy())
        output.write_frequencies(freq, lambda *counts: {})
    assert kept and at_the_end == [False]
