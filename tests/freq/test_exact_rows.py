"""Counts as records and weights beside records: exact rows, in process."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import date
from decimal import Decimal
from math import e
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from least import check_least, own_hows
from pair_corpus import as_lines

from dialtools.corpora.fields import BadRecord
from dialtools.corpora.names import corpus_names
from dialtools.errors import ConfigError, DataError
from dialtools.freq import annotate, output
from dialtools.freq.annotate import Spool
from dialtools.freq.columns import integers, strings
from dialtools.freq.fields import count_of, field_texts
from dialtools.freq.imbalance import Spectrum
from dialtools.freq.job import Freq, spectra
from dialtools.freq.options import FreqOptions
from dialtools.freq.output import check_outputs, summaries, write_annotated, write_frequencies
from dialtools.freq.texts import NO_FREQUENCY, Extractor, Texts, count_empty
from dialtools.freq.weights import Weighting
from dialtools.streams.chunks import Chunk, read_records
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

PAIRS = [
    {"response": "yes", "window": 1, "dialogue_id": "d", "turn": 1},
    {"response": "yes", "window": 2, "dialogue_id": "d", "turn": 1},
    {"response": "Yes", "window": 1, "dialogue_id": "e", "turn": 1},
    {"response": "", "window": 1, "dialogue_id": "e", "turn": 2},
    {"response": "no", "window": 1, "dialogue_id": "e", "turn": 3},
]


@pytest.fixture
def freq(tmp_path: Path):
    """A run over files of records, given by their names."""

    def made(files: dict[str, list[dict[str, Any]] | bytes], **options: Any) -> Freq:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else as_lines(content)
            (tmp_path / name).write_bytes(data)
        inputs = tuple(str(tmp_path / name) for name in files if not name.startswith("counts"))
        if "counts.jsonl" in files:
            options["counts"] = str(tmp_path / "counts.jsonl")
        return Freq(FreqOptions(inputs=inputs, **options), Policy())

    return made


def counts(run: Freq) -> list[dict[str, Any]]:
    with run.counted() as counting:
        lines = b"".join(run.frequencies(counting, lines=True))
        batches = list(run.frequencies(counting, lines=False))
    rows = [json.loads(line) for line in lines.splitlines()]
    columns = [row for batch in batches for row in batch.to_pylist()]
    assert [{**r, "weight": pytest.approx(r["weight"])} for r in rows] == columns
    return rows


def weights(run: Freq) -> list[tuple[str, float]]:
    lines = b"".join(annotate.rendered(run.annotated(), lines=True, columns=False))
    return [(r["response"], r["weight"]) for r in map(json.loads, lines.splitlines())]


def test_a_frequency_record_has_text_count_share_rank_and_weight(freq):
    run = freq({"a.jsonl": PAIRS}, weights="inverse")
    assert counts(run) == [
        {"text": "yes", "count": 2, "share": 2 / 3, "rank": 1, "weight": 0.5},
        {"text": "no", "count": 1, "share": 1 / 3, "rank": 2, "weight": 1.0},
    ]
    assert run.closing_line() == "3 texts, 2 distinct; dropped 1 empty"
    each = counts(freq({"a.jsonl": PAIRS}, weights="none", unit="record", rank=False))
    assert sorted((r["text"], r["count"]) for r in each) == [("no", 1), ("yes", 3)]
    assert all(list(r) == ["text", "count", "share", "weight"] for r in each)


def test_progress_is_told_of_every_text(freq):
    told: list[int] = []
    run = freq({"a.jsonl": PAIRS, "b.jsonl": PAIRS[:2]})
    run.advance = told.append
    counts(run)
    assert sum(told) == 5 + 2


@pytest.mark.parametrize(("terminal", "kind"), [(True, "jsonl"), (False, "arrow")])
def test_weighed_columns_go_to_a_pipe_as_columns_and_to_a_terminal_as_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool, kind: str
):
    batch = pa.RecordBatch.from_pydict({"text": ["a"]})
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), batch.schema) as stream:
        stream.write_batch(batch)
    kinds: list[str] = []
    monkeypatch.setattr(
        output, "_write", lambda _payloads, _options, kind, _made: kinds.append(kind)
    )
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    options = FreqOptions(inputs=(str(tmp_path / "a.arrow"),), annotate=True)
    write_annotated(Freq(options, Policy()), dict)
    assert kinds == [kind]


def test_top_and_limit_cut_after_the_ranks_are_told(freq):
    said = [{"text": t} for t in "aaabbc"]
    whole = counts(freq({"a.jsonl": said}))
    assert [r["count"] for r in whole] == [3, 2, 1]
    assert counts(freq({"a.jsonl": said}, top=2)) == whole[:2]
    assert counts(freq({"a.jsonl": said}, limit=1)) == whole[:1]
    assert counts(freq({"a.jsonl": said}, top=2, limit=1)) == whole[:1]
    assert len(counts(freq({"a.jsonl": said}, rank=False, limit=2))) == 2


def test_frequencies_of_shards_add_up(freq):
    shards = {
        "a.jsonl": [{"text": "Yes", "count": 3}, {"text": "no", "count": 1}],
        "b.jsonl": [{"text": "no", "count": 4, "rank": 9}],
    }
    found = counts(freq(shards, merge=True))
    assert [(r["text"], r["count"]) for r in found] == [("no", 5), ("Yes", 3)]


def test_records_are_weighed_by_what_the_input_or_a_file_counts(freq):
    by_turn = {"weights": "inverse", "annotate": True}
    assert weights(freq({"a.jsonl": PAIRS}, **by_turn)) == [
        ("yes", 0.5),
        ("yes", 0.5),
        ("Yes", 0.5),
        ("", 1.0),
        ("no", 1.0),
    ]
    known = [{"text": "yes", "count": 8}]
    run = freq({"counts.jsonl": known, "a.jsonl": PAIRS}, **by_turn)
    assert [weight for _, weight in weights(run)] == [1 / 8] * 3 + [1, 1]
    assert (run.unseen, run.closing_line()) == (2, "5 records weighed; 2 not in --counts")
    scaled = freq({"counts.jsonl": known, "a.jsonl": PAIRS}, weights_mean_one=True, **by_turn)
    assert [weight for _, weight in weights(scaled)] == [1] * 3 + [8, 8]


def test_a_limit_of_weighed_records_is_kept_within_a_part(freq):
    every = weights(freq({"a.jsonl": PAIRS}, annotate=True))
    for limit in range(1, 12):
        run = freq({"a.jsonl": PAIRS, "b.jsonl": PAIRS}, annotate=True, limit=limit)
        expected = [text for text, _ in (2 * every)[:limit]]
        assert [text for text, _ in weights(run)] == expected
        assert run.tally.kept == len(expected)
        files = {"counts.jsonl": [{"text": "yes", "count": 8}], "a.jsonl": PAIRS}
        run = freq(files, annotate=True, limit=limit)
        assert len(weights(run)) == run.tally.kept
        assert run.unseen == max(0, run.tally.kept - 3), "of the records that are written"


def test_corpora_are_called_by_their_short_names_unless_these_are_not_enough(freq):
    assert corpus_names(["x/a.jsonl.gz", "b"]) == ["a", "b"]
    paths = ["x/a.jsonl", "y/a.txt", "all.txt"]
    assert corpus_names(paths) == paths
    assert corpus_names(["a", "a"]) == ["a (1)", "a (2)"]
    assert corpus_names(["b", "all"]) == ["b", "all (2)"], "all is the name of all of them"
    assert corpus_names(["<stdin>", ".gz"]) == ["stdin", ".gz"]
    files = {"a.jsonl": [{"text": "x"}, {"text": "x"}], "b.jsonl": [{"text": "x"}, {"text": "y"}]}
    run = freq(files, summary=True)
    with run.counted() as counting:
        found = spectra(counting)
        assert (counting.total, counting.distinct) == (4, 2)
    told = {
        name: (own.counts.tolist(), own.texts.tolist(), own.total, own.distinct)
        for name, own in found.items()
    }
    assert told == {"a": ([2], [1], 2, 1), "b": ([1], [2], 2, 2), "all": ([3, 1], [1, 1], 4, 2)}
    alone = freq({"a.jsonl": files["a.jsonl"]}, summary=True)
    with alone.counted() as counting:
        assert list(spectra(counting)) == ["a"]


def test_a_weight_is_put_beside_every_kind_of_payload():
    lines = annotate.Weighed(b'{"a":1}\n{"a":2}\n{"a":3}\n', np.array([0.5, 1, 0.5]))
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, None], "weight": [9, 9, 9]})
    table = annotate.Weighed(batch, lines.weights)
    assert lines.is_lines and not table.is_lines
    three = Texts(0, "x", pa.array(["a", "b", "c"]), payload=lines.payload)
    assert three.first(2).payload == b'{"a":1}\n{"a":2}\n'
    data = b'{"x": 1.50,"a":1,"weight":9}\n{"a":2, "y":{"weight":1}}\n'
    assert annotate.as_lines(annotate.Weighed(data, np.array([0.5, 1]))) == (
        b'{"x":1.5,"a":1,"weight":0.5}\n{"a":2, "y":{"weight":1},"weight":1.0}\n'
    )
    assert annotate.as_lines(table) == (
        b'{"a":1,"weight":0.5}\n{"a":2,"weight":1.0}\n{"weight":0.5}\n'
    )
    cut = dataclasses.replace(three, payload=batch).first(1).payload
    one = next(annotate.as_batches(annotate.Weighed(cut, lines.weights[:1])))
    assert one.to_pydict() == {"a": [1], "weight": [0.5]}
    assert next(annotate.as_batches(table)).schema.field("weight").type == pa.float32()
    (made,) = annotate.rendered([lines], lines=False, columns=False)
    assert made.to_pydict() == {"a": [1, 2, 3], "weight": [0.5, 1, 0.5]}


def test_parts_are_looked_up_together_until_enough_is_held():
    asked: list[int] = []

    def weigh(texts: pa.ChunkedArray) -> np.ndarray:
        asked.append(len(texts))
        return np.arange(len(texts), dtype=float)

    parts = [Texts(0, "x", pa.array(["a"] * n), payload=b"0\n" * n) for n in (1, 2, 3)]
    size = parts[0].texts.nbytes + 2 + parts[1].texts.nbytes + 4
    found = list(annotate.weighed(parts, weigh, held_bytes=size))
    assert asked == [3, 3]
    assert [(p.payload, p.weights.tolist()) for p in found] == [
        (b"0\n", [0]),
        (b"0\n0\n", [1, 2]),
        (b"0\n0\n0\n", [0, 1, 2]),
    ]


def test_a_spool_gives_back_lines_and_batches_in_their_order():
    batch = pa.RecordBatch.from_pydict({"text": ["b", "c"], "n": [1, 2]})
    with Spool() as spool:
        assert list(spool) == []
        spool.add(Texts(0, "x", pa.array(["a"]), payload=b'{"text":"a"}\n'))
        spool.add(Texts(1, "y", pa.array(["b", "c"]), payload=batch))
        first, second = spool
    assert spool.payloads.file.closed and spool.texts.closed
    assert (first.source, first.name, first.texts.to_pylist()) == (0, "x", ["a"])
    assert first.payload == b'{"text":"a"}\n'
    assert (second.source, second.name, second.payload.to_pydict()) == (1, "y", batch.to_pydict())


def test_the_texts_of_a_record_by_kind_or_by_name():
    assert field_texts(
        {"text": "t", "turns": ["a", {"text": "b"}], "response": "r"}, None, Tally()
    ) == ["r"]
    assert field_texts({"text": "t", "turns": ["a", {"text": "b"}]}, None, Tally()) == ["a", "b"]
    assert field_texts({"x": ["a", {"utterance": "b"}]}, "x", Tally()) == ["a", "b"]
    for record, name, says in (
        ({"x": "a"}, None, 'no "response", "turns" or "text"; there are x'),
        ({}, None, "there are no fields"),
        ({"x": [["a"]]}, "x", r"x\[0\]: expected text, got a list"),
        ({"x": {"y": "a"}}, "x", "x: expected text, got an object"),
        ({"x": "a"}, "y", "no field 'y'; there are x"),
    ):
        with pytest.raises(BadRecord, match=says):
            field_texts(record, name, Tally())


def test_the_count_of_a_frequency_record_is_a_whole_number_above_0_that_64_bits_can_add_up():
    assert [count_of({"count": n}) for n in (1, (1 << 62) - 1)] == [1, (1 << 62) - 1]
    for bad in (0, 1 << 62, -1, 1.0, True, "1", None):
        with pytest.raises(BadRecord):
            count_of({"count": bad})


def test_weights_are_scaled_smoothed_and_of_any_base():
    frequency = np.array([1, 4, 16])
    assert Weighting(base=2)(frequency) == pytest.approx([1, 1 / 3, 1 / 5])
    assert Weighting("inverse", smooth=1)(frequency) == pytest.approx([1 / 2, 1 / 5, 1 / 17])
    assert Weighting("sqrt", scale=3)(frequency) == pytest.approx([3, 1.5, 0.75])
    twice = Weighting("inverse", e, 0.0, 5.0).with_mean_one(np.array([4, 1]), np.array([1, 2]))
    # occurrences: 4 of weight 1/4, 2 of weight 1: their mean is 1/2
    assert twice(np.array([4, 1])) == pytest.approx([0.5, 2])
    nothing = np.zeros(0, np.int64)
    assert Weighting().with_mean_one(nothing, nothing) == Weighting()


def test_numbers_have_least_values_and_some_options_only_change_how_a_run_goes():
    least = {"top": ("1", "0"), "smooth": ("0", "-0.1"), "log_base": ("1.5", "1")}
    check_least(FreqOptions, least)
    assert own_hows(FreqOptions) == {"dry_run", "jobs", "json", "memory", "plot", "shard"}


def extracted(kind: str, data: Any, field: str | None = None, **options: Any) -> Texts:
    """The texts of a chunk that begins at line 1."""
    take = Extractor(field, options.pop("policy", Policy()), **options)
    return take(Chunk("x", 1, kind, data), 0)


def test_records_after_a_bad_one_are_taken():
    policy = Policy("skip")
    rows = b'{"text":"a"}\n{"x":1}\n{"text":"b"} \n{"text":["c","d"]}\n'
    found = extracted("jsonl", rows, policy=policy)
    assert found.texts.to_pylist() == ["a", "b", "c", "d"] and policy.skipped == 1
    assert found.payload is None and found.dialogue is None and found.counts is None
    kept = extracted("jsonl", rows, policy=(policy := Policy("skip")), keep=True)
    assert (kept.payload, policy.skipped) == (b'{"text":"a"}\n{"text":"b"}\n', 2)


def test_rows_that_are_kept_are_json_whatever_they_hold():
    rows = [{"text": "a", "when": date(2024, 5, 1)}]
    assert extracted("rows", rows, keep=True).payload == b'{"text":"a","when":"2024-05-01"}\n'
    odd = extracted("rows", [{"text": "a", "size": Decimal("1.50")}], keep=True)
    assert odd.payload == b'{"text":"a","size":"1.50"}\n'


def test_columns_are_taken_whole_and_else_row_by_row():
    columns = {"text": ["a", "b", "b"], "count": [1, 2, 3], "x": ["p", None, "q"]}
    batch = pa.RecordBatch.from_pydict(columns)
    whole = extracted("arrow", batch, keep=True)
    assert whole.texts.to_pylist() == ["a", "b", "b"] and whole.payload is batch
    merged = extracted("arrow", batch, merge=True)
    assert merged.counts is not None and merged.counts.to_pylist() == [1, 2, 3]
    policy = Policy("skip")
    some = extracted("arrow", batch, "x", policy=policy, keep=True)
    assert some.texts.to_pylist() == ["p", "q"] and policy.skipped == 1
    assert some.payload.to_pydict() == {"text": ["a", "b"], "count": [1, 3], "x": ["p", "q"]}
    for numbers, kept in (([0, 2], ["b"]), ([None, 2], ["b"]), ([1.0, 2.0], [])):
        bad = pa.RecordBatch.from_pydict({"text": ["a", "b"], "count": numbers})
        some = extracted("arrow", bad, merge=True, policy=(policy := Policy("skip")))
        assert (some.texts.to_pylist(), some.counts.to_pylist()) == (kept, [2] * len(kept))
        assert policy.skipped == 2 - len(kept)


def test_columns_of_every_kind_of_strings_and_integers_are_taken_without_a_look_at_rows():
    texts = pa.array(["a", "b", "a"])
    for column in (texts, texts.dictionary_encode(), texts.cast(pa.large_string())):
        found = strings(batch := pa.RecordBatch.from_arrays([column], ["text"]), "text")
        assert (found.type, found.to_pylist()) == (pa.string(), ["a", "b", "a"])
        whole = Extractor(None, Policy())._columns(Chunk("x", 1, "arrow", batch), 3)
        assert (whole.source, whole.texts.to_pylist()) == (3, ["a", "b", "a"])
    numbers = pa.array([1, 2, 3])
    for column in (numbers, numbers.cast(pa.uint64()), numbers.cast(pa.int8())):
        found = integers(pa.RecordBatch.from_arrays([column], ["n"]), "n")
        assert (found.type, found.to_pylist()) == (pa.int64(), [1, 2, 3])
    gaps, wide = pa.array(["a", None]), pa.array([1, 1 << 63], pa.uint64())
    for column in (gaps, wide, pa.array([1.0, 2.0])):
        batch = pa.RecordBatch.from_arrays([column, column, texts[:2]], ["x", "twice", "twice"])
        assert all(
            take(batch, name) is None
            for take in (strings, integers)
            for name in ("x", "none", "twice")
        )


def test_counts_in_columns_are_above_0_and_a_shard_may_have_none():
    merging = Extractor(None, Policy(), merge=True)
    schema = pa.schema([("text", pa.string()), ("count", pa.int64())])
    for counts, whole in (([], True), ([1], True), ([0], False), ([3, -1], False)):
        columns = {"text": ["a", "b"][: len(counts)], "count": counts}
        batch = pa.RecordBatch.from_pydict(columns, schema)
        found = merging._columns(Chunk("x", 1, "arrow", batch), 0)
        assert (found is not None) == whole
    assert count_empty(pa.array(["", "a", ""])) == 2
    assert count_empty(pa.array([], pa.string())) == 0


def test_pairs_in_columns_and_in_lines_stand_at_the_same_turns():
    rows = [{**row, "dialogue_id": None if i == 1 else "d"} for i, row in enumerate(PAIRS)]
    for records in (PAIRS, rows):
        batch = pa.RecordBatch.from_pylist(records)
        places = [
            [column.to_pylist() for column in (found.dialogue, found.turn, found.window)]
            for found in (extracted("arrow", batch), extracted("jsonl", as_lines(records)))
        ]
        assert places[0] == places[1]
    windows = [1, None, 1, 1, 1]
    assert places[0] == [["d", None, "d", "d", "d"], [1, 1, 1, 2, 3], windows]
    nameless = [{k: v for k, v in row.items() if k != "dialogue_id"} for row in PAIRS]
    nameless[4]["turn"] = None  # no pair: a turn of its own
    found = extracted("arrow", pa.RecordBatch.from_pylist(nameless))
    assert (found.dialogue.to_pylist(), found.turn.to_pylist()) == ([None] * 5, [1, 1, 2, 3, 4])
    apart = extracted("arrow", batch, tell_places=False)
    assert apart.dialogue is apart.turn is None
    whole = pa.RecordBatch.from_pylist(PAIRS)
    for kind, data in (("jsonl", as_lines(PAIRS)), ("arrow", whole)):
        assert extracted(kind, data, "dialogue_id").turn is None


def some(*values: Any) -> st.SearchStrategy:
    return st.sampled_from(values)


COLUMNS = {
    "response": some("yes", "no", ""),
    "text": some("yes", "a"),
    "turns": some([], [{"text": "yes"}], [{"text": "a"}, {"text": ""}]),
    "x": some("p", None, "q"),
    "window": some(1, 2),
    "turn": some(1, 2, None),
    "dialogue_id": some("d", "e", None),
    "count": some(0, 1, 2),
}


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.just({*COLUMNS}) | st.sets(st.sampled_from([*COLUMNS]), min_size=1))
    row = st.fixed_dictionaries({name: COLUMNS[name] for name in COLUMNS if name in names})
    return draw(st.lists(row, min_size=1, max_size=6))


def what_is_taken(found: Texts) -> tuple[Any, ...]:
    """Texts, counts, which of them are of one turn, and the records that are kept."""
    rows = len(found.texts)
    turns = [("alone", row) for row in range(rows)]
    if found.turn is not None:
        places = (found.dialogue, found.turn, found.window)
        turns = list(zip(*(column.to_pylist() for column in places), strict=True))
    counts = None if found.counts is None else found.counts.to_pylist()
    payload = found.payload
    if payload is not None:
        lines = isinstance(payload, bytes)
        payload = [*map(json.loads, payload.splitlines())] if lines else payload.to_pylist()
    return found.texts.to_pylist(), counts, [turns.index(turn) for turn in turns], payload


@given(tables(), some(None, "response", "x", "turn"), some({}, {"keep": True}, {"merge": True}))
def test_columns_are_taken_as_their_rows_are(
    records: list[dict[str, Any]], field: str | None, options: dict[str, bool]
):
    batch = pa.RecordBatch.from_pylist(records)
    for tell_places in (True, False) if not options.get("merge") else (False,):
        lanes = []
        for kind, data in (("arrow", batch), ("jsonl", as_lines(records))):
            policy = Policy("skip")
            found = extracted(kind, data, field, policy=policy, tell_places=tell_places, **options)
            lanes.append((*what_is_taken(found), policy.skipped))
        assert lanes[0] == lanes[1]


def test_which_column_is_counted_depends_on_what_there_is():
    both = {"response": ["r"], "text": ["t"], "turns": [["a", "b"]]}
    for names, texts in (
        (("response", "text", "turns"), ["r"]),
        (("text", "turns"), ["a", "b"]),
        (("response", "text"), ["r"]),
        (("text",), ["t"]),
    ):
        batch = pa.RecordBatch.from_pydict({name: both[name] for name in names})
        assert extracted("arrow", batch).texts.to_pylist() == texts


def test_a_column_without_a_name_is_an_index_of_pandas_and_not_what_is_counted():
    batch = pa.RecordBatch.from_pydict({"": ["i0", "i1"], "turns": [["a"], ["b"]]})
    assert extracted("arrow", batch).texts.to_pylist() == ["a", "b"]


def test_lines_of_plain_text_are_texts_whatever_ends_them():
    assert extracted("text", b"a\r\nb\n\n c").texts.to_pylist() == ["a", "b", "", " c"]
    kept = extracted("text", b"a\n \nb", keep=True)
    assert kept.payload == b'{"text":"a"}\n{"text":"b"}\n' and len(kept.texts) == 2
    policy = Policy("skip")
    assert extracted("text", b"a\n\xff\nb\n", policy=policy).texts.to_pylist() == ["a", "b"]
    assert policy.skipped == 1
    beside = extracted("text", b" a \n\xff\n", policy=Policy("skip"))
    assert beside.texts.to_pylist() == [" a "], "as without the bad line"


def test_the_hint_of_a_record_without_texts_says_what_to_do():
    for kind, field, record, options, hint in (
        ("jsonl", None, {"x": 1}, {}, "--field NAME counts another field"),
        ("jsonl", None, {"text": 1}, {}, None),
        ("jsonl", "txt", {"text": "a"}, {}, "did you mean text?"),
        ("jsonl", "text", {"text": 1}, {}, None),
        ("jsonl", None, {"text": "a"}, {"merge": True}, NO_FREQUENCY),
        ("jsonl", None, {"turns": [{"text": "a"}]}, {"merge": True}, NO_FREQUENCY),
    ):
        with pytest.raises(DataError) as told:
            extracted(kind, as_lines([record]), field, **options)
        assert told.value.hint == hint


def test_outputs_replace_a_file_only_where_that_is_asked_for(freq, tmp_path: Path):
    def made(counts: dict[str, int] | None = None) -> dict[str, Any]:
        return {"made by": "us", **(counts or {})}

    for name, annotated in (("o.jsonl", False), ("o.parquet", False), ("w.jsonl", True)):
        path = tmp_path / name
        for overwrite in (False, True):
            run = freq(
                {"a.jsonl": PAIRS}, output=str(path), overwrite=overwrite, annotate=annotated
            )
            check_outputs(run.options)
            (write_annotated if annotated else write_frequencies)(run, made)
            assert len([row for _, row in read_records([str(path)], policy=Policy())]) in (2, 5)
    metadata = pq.read_schema(tmp_path / "o.parquet").metadata[b"dialtools"]
    assert json.loads(metadata) == {"made by": "us", "total": 3, "distinct": 2}


def test_a_summary_is_a_record_a_corpus():
    even = Spectrum(np.array([3]), np.array([4]))
    (row,) = summaries({"a": even})
    assert row == {
        "schema": "dialtools.imbalance/1",
        "corpus": "a",
        "total": 12,
        "distinct": 4,
        "distinct_share": 1 / 3,
        "top_1_percent_share": 0.25,
        "gini": 0.0,
        "entropy_bits": 2.0,
        "zipf_slope": pytest.approx(0),
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"top": 1, "rank": False}, "--top needs the rank"),
        ({"annotate": True, "top": 1}, "--annotate and --top are runs of their own"),
        ({"plot": "x.svg", "top": 1}, "--summary and --top are runs of their own"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        FreqOptions(**options)


def test_options_that_only_look_alike_are_taken():
    for options in (
        {"top": 1},
        {"rank": False},
        {"merge": True},
        {"counts": "-", "annotate": True, "inputs": ("a",)},
        {"log_base": 2.0},
        {"weights": "sqrt"},
    ):
        assert FreqOptions(**options).summary is False
    assert FreqOptions(plot="x.svg").summary and FreqOptions(summary=True).summary
