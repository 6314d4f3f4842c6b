"""What a token store holds of the pairs that go in, row for row."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.slow_tokens import assemble
from pair_corpus import as_lines
from train_parts import stored

from dialtools.chance import share
from dialtools.corpora.fields import MOST_TURNS
from dialtools.encoder.encoder import Encoder
from dialtools.errors import DataError
from dialtools.roles import SYSTEM, UNKNOWN, USER
from dialtools.streams.chunks import Chunk, read_chunks
from dialtools.streams.policy import Policy
from dialtools.train.data import spool as spooling
from dialtools.train.data import store as storing
from dialtools.train.data.collate import (
    Joining,
    Lengths,
    contexts,
    named_negatives,
    negatives,
    responses,
)
from dialtools.train.data.pairs_of_batch import LISTS, ChunkPairs, is_columnar
from dialtools.train.data.pairs_of_chunk import read_pairs
from dialtools.train.data.store import (
    COLUMNS,
    Store,
    column_file,
    placeholders,
    utterance_texts,
)
from dialtools.train.data.weights import pair_weights

ROWS = [
    {
        "context": ["a b", "c"],
        "response": "d",
        "speakers": ["user", "system", "user"],
        "follow": ["e", "f"],
        "dialogue_id": "x",
        "turn": 2,
        "weight": 0.5,
        "kind": "p",
        "domain": "taxi",
    },
    {
        "context": ["d"],
        "response": "a b",
        "speakers": ["user", "system"],
        "negatives": ["g", "c"],
        "dialogue_id": "y",
        "turn": 1,
    },
    {
        "context": ["h", "a b", "i"],
        "response": "d",
        "follow": ["j"],
        "dialogue_id": "x",
        "turn": 9,
        "similar": 0,
        "kind": "p",
        "domain": "hotel",
        "template": "d {X} {C} {A}",
    },
    {
        "context": ["k"],
        "response": "l",
        "speakers": ["system", "user"],
        "negatives": ["a b"],
        "dialogue_id": "y",
        "turn": 4,
    },
]


def told(store: Store) -> list[dict]:
    """Return the rows of a store, read through its ranges; roles: 0 unknown, 1 user, 2 system."""
    rows = []
    for i in range(len(store)):
        context = store.context(i)
        row = {
            "context": store.text(store.turns[context].tolist()),
            "roles": [*store.roles[context].tolist(), int(store.response_role[i])],
            "response": store.text([int(store.response[i])])[0],
            "follow": store.text(store.follow[store.after(i)].tolist()),
            "negatives": store.text(store.negatives[store.negative(i)].tolist()),
            "window": int(store.window[i]),
            "turn": int(store.turn[i]),
        }
        rows.append(row)
    return rows


def expected(rows: list[dict]) -> list[dict]:
    number = {"user": 1, "system": 2}
    return [
        {
            "context": row["context"],
            "roles": [number[s] for s in row["speakers"]]
            if "speakers" in row
            else [0] * (len(row["context"]) + 1),
            "response": row["response"],
            "follow": row.get("follow", []),
            "negatives": row.get("negatives", []),
            "window": len(row["context"]),
            "turn": row["turn"],
        }
        for row in rows
    ]


@pytest.mark.parametrize("files", [[ROWS], [ROWS[:1], ROWS[1:2], ROWS[2:]]])
def test_a_store_tells_the_pairs_that_went_in(
    files: list[list[dict]], encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = stored(files, tmp_path, encoder)
    assert told(store) == expected(ROWS)
    np.testing.assert_array_equal(store.weight, np.float32([0.5, np.nan, np.nan, np.nan]))
    assert [store.text([t])[0] if t >= 0 else None for t in store.template.tolist()] == [
        *(None, None, "d {X} {C} {A}", None),
    ]
    assert store.dialogue[0] == store.dialogue[2] != store.dialogue[1] == store.dialogue[3]
    assert store.similar.tolist() == [1, 1, 0, 1]
    assert store.kind[0] == store.kind[2] != store.kind[1] == store.kind[3] == 0
    assert store.domain[0] != store.domain[2] and store.domain[[1, 3]].tolist() == [0, 0]
    assert placeholders(store.directory) == ["{A}", "{C}", "{X}"]
    texts = list(utterance_texts(store.directory))
    assert len(texts) == len(set(texts)) == 12
    assert list(utterance_texts(store.directory, every=5)) == texts[::5]
    for i, text in enumerate(texts):
        whole = encoder.tokenizer(text, add_special_tokens=False)["input_ids"]
        assert store.utterance(i).tolist() == whole
    often = np.bincount(np.concatenate([store.utterance(i) for i in range(12)]), minlength=99)
    monkeypatch.setattr(storing, "COUNTED_AT_ONCE", 3)
    assert store.token_counts(99).tolist() == often.tolist()
    counts = {"pairs": 4, "lessons": 0, "utterances": 12, "turns": 7, "skipped": 0}
    assert store.counts == counts | {"tokens": len(store.tokens)}
    assert store.record(2) == {"context": ["h", "a b", "i"], "response": "d"}


def arrow(rows: list[dict], kind: str) -> pa.RecordBatch:
    """Return records as a batch whose lists are lists, or views in an order of their own."""
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        column = pa.array(values)
        if pa.types.is_list(column.type) and kind == "views":
            filled = [["of no row"] if value is None else value for value in values]
            sizes = [len(value) for value in filled]
            backwards = [text for value in reversed(filled) for text in value]
            starts = [sum(sizes[i + 1 :]) for i in range(len(rows))]
            mask = pa.array([value is None for value in values])
            column = pa.ListViewArray.from_arrays(
                pa.array(starts, pa.int32()),
                pa.array(sizes, pa.int32()),
                pa.array(backwards, pa.string()),
                mask=mask,
            )
        elif kind == "large":
            column = column.cast(
                pa.large_list(pa.large_string())
                if pa.types.is_list(column.type)
                else pa.large_string()
                if pa.types.is_string(column.type)
                else column.type
            )
        columns[name] = column
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize("kind", ["lists", "views", "large"])
def test_a_store_of_columns_is_that_of_lines(
    kind: str, template: bool, encoder: Encoder, tmp_path: Path
):
    """Records that lack a field, speakers too, lie between others that have it."""
    rows = [row if template else without(row, "template") for row in ROWS]
    rows[3] = rows[3] | {"speakers": ["system", "user", "user"]}  # of which turns, nobody knows
    parts = [arrow(rows[:3], kind).slice(1), arrow(rows, kind)]
    paths = []
    for i, batch in enumerate(parts):
        paths.append(str(tmp_path / f"{i}.arrow"))
        with pa.ipc.new_stream(paths[-1], batch.schema) as stream:
            stream.write_batch(batch)
    spooling.spool(tmp_path / "columns", read_chunks(paths), Policy())
    lines = stored([rows[1:3], rows], tmp_path, encoder)
    spooling.tokenise_store(tmp_path / "columns", encoder.tokenizer)
    columns = Store(tmp_path / "columns")
    silent = [
        without(row, "speakers")
        if len(row.get("speakers", ())) == 3 and len(row["context"]) == 1
        else row
        for row in rows
    ]
    assert told(columns) == told(lines) == expected(silent[1:3] + silent)
    numbers = [file for file in lines.directory.iterdir() if file.suffix != ".json"]
    assert lines.directory / "texts.bin" in numbers  # those of the pairs alone, in their order
    for file in numbers:
        assert (columns.directory / file.name).read_bytes() == file.read_bytes(), file.name


TEXTS = st.lists(st.sampled_from("abcde"), max_size=3)
NAME = st.sampled_from(["x", "y", None])
PAIR = st.fixed_dictionaries(
    {"context": TEXTS.filter(len), "response": st.sampled_from("abcde")},
    optional={
        "follow": st.none() | TEXTS,
        "negatives": st.none() | TEXTS,
        "speakers": st.none() | st.lists(st.sampled_from(["user", "bot", None]), max_size=4),
        "weight": st.sampled_from([0.0, 0.5, 2.0, None]),
        "similar": st.sampled_from([0, 1, None]),
        "kind": NAME,
        "domain": NAME,
        "dialogue_id": NAME,
        "turn": st.sampled_from([0, 1, 7, None]),
    },
)


OF_PAIRS = {"response", "weight", "similar", "kind", "domain", "dialogue", "turn", "template"}


def said(row: dict) -> tuple:
    """What a record says, field by field."""
    speakers = row.get("speakers") or []
    if len(speakers) != len(row["context"]) + 1:
        speakers = [None] * (len(row["context"]) + 1)
    return (
        row["context"],
        *(row.get(name) or [] for name in ("follow", "negatives")),
        row["response"],
        [{"user": USER, "bot": SYSTEM, None: UNKNOWN}[name] for name in speakers],
        row.get("weight"),
        row.get("similar") in (1, None),
        *(row.get(name) for name in ("kind", "domain")),
        row.get("dialogue_id") or None,
        -1 if row.get("turn") is None else row["turn"],
        row.get("template"),
    )


def as_said(pairs: ChunkPairs) -> list[tuple]:
    """What the pairs of a chunk say, read through their places."""
    of = pairs.texts.__getitem__
    cuts = {name: np.cumsum(getattr(pairs, name).sizes)[:-1] for name in LISTS}
    turns = {
        name: [[*map(of, part)] for part in np.split(getattr(pairs, name).places, cuts[name])]
        for name in LISTS
    }
    roles = np.split(pairs.context_roles, cuts["context"])
    return [
        (
            *(turns[name][i] for name in LISTS),
            of(pairs.response[i]),
            [*roles[i].tolist(), int(pairs.response_role[i])],
            None if np.isnan(pairs.weight[i]) else float(pairs.weight[i]),
            bool(pairs.similar[i]),
            *(names[i] for names in (pairs.kind, pairs.domain, pairs.dialogue)),
            int(pairs.turn[i]),
            None if pairs.template[i] < 0 else of(pairs.template[i]),
        )
        for i in range(len(pairs))
    ]


@given(st.lists(PAIR, min_size=1, max_size=6), st.sampled_from(["lists", "views", "large"]))
def test_every_field_of_a_pair_is_read_from_lines_and_columns_alike(rows: list[dict], kind: str):
    expected = [*map(said, rows)]
    batch = arrow([{"context": ["z"], "response": "z"}, *rows], kind).slice(1)
    for chunk in (Chunk("x", 1, "jsonl", as_lines(rows)), Chunk("x", 1, "arrow", batch)):
        pairs = read_pairs(chunk, Policy())
        for n in range(len(rows) + 1):
            first = pairs.head(n)
            assert as_said(first)[:n] == expected[:n]
            assert {len(column) for name, column in vars(first).items() if name in OF_PAIRS} == {n}
    told = [row | {"template": "t"} if i % 2 else row for i, row in enumerate(rows)]
    objects = [
        row
        | {"context": [text if i % 2 else {"text": text} for i, text in enumerate(row["context"])]}
        for row in told
    ]
    pairs = read_pairs(Chunk("x", 1, "jsonl", as_lines(objects)), Policy())
    assert as_said(pairs) == [*map(said, told)]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"text": 3}, "text: expected"),
        ({"text": "a", "weight": "x"}, "weight: expected"),
        ({"text": "a", "context": ["a"]}, 'no "response"'),
        ({"text": "a", "response": "a"}, 'no "context"'),
        ({"context": ["a", 1], "response": "b"}, r"context\[1\]: expected"),
        ({"context": 7, "response": "b"}, "context: expected"),
        ({"context": ["a"], "response": None}, 'no "response"'),
        ({"context": ["a"], "response": "b", "similar": 2}, "similar: expected 0 or 1"),
        *(
            ({"context": ["a"], "response": "b", name: 2}, f"{name}: expected")
            for name in ("speakers", "follow")
        ),
        ({"context": ["a"], "response": "b", "turn": "third"}, "turn: expected"),
        *(
            ({"context": ["a"], "response": "b", "weight": weight}, "weight: expected a number")
            for weight in ("much", -1, True, [1])
        ),
    ],
)
def test_what_is_wrong_with_a_record_is_told_by_its_field(record: dict, says: str):
    with pytest.raises(DataError, match=says):
        read_pairs(Chunk("x", 1, "jsonl", as_lines([record])), Policy())


def test_a_text_alone_is_a_pair_with_itself():
    lines = as_lines([{"text": "a", "weight": 2}])
    pairs = read_pairs(Chunk("x", 1, "jsonl", lines), Policy())
    row = {"context": ["a"], "response": "a", "weight": 2.0}
    assert as_said(pairs) == [said(row)]


COLUMNAR = {"context": [["a"], ["b", "c"]], "response": ["d", "e"]}
INT = pa.int64()
NULL_OVER_A_TEXT = pa.ListViewArray.from_arrays(
    pa.array([0, 0], pa.int32()),
    pa.array([1, 1], pa.int32()),
    pa.array(["a"]),
    mask=pa.array([False, True]),
)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({}, True),
        ({"template": ["x", "y"]}, True),
        ({"other": [{"x": 1}, None]}, True),
        ({"context": [["a"], []]}, False),
        ({"context": [["a"], None]}, False),
        ({"context": [["a"], [None]]}, False),
        ({"context": NULL_OVER_A_TEXT}, False),
        ({"follow": NULL_OVER_A_TEXT}, True),
        ({"context": [[1], [2]]}, False),
        ({"context": ["a", "b"]}, False),
        ({"context": pa.array([["a"], ["b"]], pa.large_list(pa.large_string()))}, True),
        ({"context": pa.array([["a"], ["b"]], pa.large_list_view(pa.string_view()))}, True),
        ({"response": pa.array(["d", "e"], pa.string_view())}, True),
        ({"response": ["d", None]}, False),
        ({"response": [1, 2]}, False),
        ({"follow": [["a"], None], "negatives": [[], ["b"]]}, True),
        ({"follow": [["a", None], []]}, False),
        ({"negatives": [[1], [2]]}, False),
        ({"speakers": [["user", None], None]}, True),
        ({"speakers": [[1], [2]]}, False),
        ({"weight": [0.0, None]}, True),
        ({"weight": [1, 2]}, True),
        ({"weight": [1.0, -0.5]}, False),
        ({"weight": ["1", "2"]}, False),
        ({"dialogue_id": ["x", None]}, True),
        ({"dialogue_id": [1, 2]}, False),
        ({"turn": pa.array([0, MOST_TURNS - 1], INT)}, True),
        ({"turn": pa.array([0, MOST_TURNS], INT)}, False),
        ({"turn": pa.array([-1, 3], INT)}, False),
        ({"turn": pa.array([None, None], INT)}, True),
        ({"turn": [0.0, 1.0]}, False),
        ({"similar": pa.array([0, 1], INT)}, True),
        ({"similar": [True, None]}, True),
        ({"similar": pa.array([1, 2], INT)}, False),
        ({"similar": [0.0, 1.0]}, False),
        ({"kind": ["x", None]}, True),
        ({"kind": pa.array(["x", "y"]).dictionary_encode()}, True),
        ({"kind": pa.array([1, 2]).dictionary_encode()}, False),
        ({"kind": [1, 2]}, False),
    ],
)
def test_columns_are_taken_whole_if_no_value_in_them_is_wrong(columns: dict, told: bool):
    assert is_columnar(pa.RecordBatch.from_pydict(COLUMNAR | columns)) is told


@pytest.mark.parametrize("name", ["context", "response"])
def test_pairs_have_a_context_and_a_response(name: str):
    assert not is_columnar(pa.RecordBatch.from_pydict(without(COLUMNAR, name)))


def test_texts_are_tokenised_by_so_many_and_fewer_where_they_are_long(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(spooling, "TEXTS_A_BATCH", 3)
    monkeypatch.setattr(spooling, "CHARACTERS_A_BATCH", 5)
    assert list(spooling._batches([])) == []
    assert list(spooling._batches("abcdefg")) == [list("abc"), list("def"), ["g"]]
    texts = ["ab", "cde", "f", "ghijklmno", "pq", "rst", "u", "v"]
    assert list(spooling._batches(texts)) == [
        ["ab", "cde"],
        ["f"],
        ["ghijklmno"],
        ["pq", "rst"],
        ["u", "v"],
    ]


def test_without_a_share_to_hold_out_none_is_and_the_responses_of_a_turn_count_once(
    encoder: Encoder, tmp_path: Path
):
    """irf: 1 / (ln f + 1), f over the turns of the pairs named; what is said stays."""
    places = [("x", 1, "b"), ("x", 1, "b"), ("x", 2, "b"), ("y", 1, "b"), ("y", 2, "c")]
    rows = [
        {"context": ["a"], "response": text, "dialogue_id": name, "turn": turn}
        for name, turn, text in places
    ]
    rows[1]["context"] = ["a", "a"]
    rows[3]["weight"] = 5
    store = stored([rows], tmp_path, encoder)
    assert store.held_out(0, seed=3).tolist() == [False] * 5

    def irf(pairs: list[int]) -> list[float]:
        return pair_weights(store, np.array(pairs), kind="irf", mean_one=False).tolist()

    three, two = (1 / (math.log(f) + 1) for f in (3, 2))
    assert irf([0, 1, 2, 3, 4]) == pytest.approx([three] * 3 + [5, 1])
    assert irf([0, 1, 3, 4]) == pytest.approx([two] * 3 + [5, 1])
    assert irf([0]) == irf([4]) == [1, 1, 1, 5, 1], "a response that is not among them: as if once"
    given_ = pair_weights(store, np.arange(5), kind="given", mean_one=False)
    assert given_.tolist() == [1, 1, 1, 5, 1] and given_.dtype == np.float32
    assert pair_weights(store, np.arange(5), kind="none", mean_one=True).tolist() == [1] * 5


@pytest.mark.parametrize("roles", [None, (7, 8, 9)])
@pytest.mark.parametrize("lengths", [Lengths(40, 40), Lengths(5, 4), Lengths(3, 3)])
def test_sides_of_a_batch_are_those_of_its_pairs_one_by_one(
    roles: tuple[int, int, int] | None, lengths: Lengths, encoder: Encoder, tmp_path: Path
):
    """A context of turns keeps its newest tokens; what is said alone, the first."""
    store, special = stored([ROWS], tmp_path, encoder), encoder.special
    pairs = np.array([3, 0, 2, 1, 0])

    def alone(utterance: int, pair: int) -> list[int]:
        by = None if roles is None else [roles[store.response_role[pair]]]
        tokens = [store.utterance(utterance)]
        whole, _ = assemble(tokens, special, max_length=lengths.response, newest=False, roles=by)
        return whole.tolist()

    slow_contexts, slow_negatives = [], []
    for pair in pairs.tolist():
        place = store.context(pair)
        by = None if roles is None else [roles[role] for role in store.roles[place]]
        tokens = [*map(store.utterance, store.turns[place].tolist())]
        newest = len(tokens) > 1
        whole, _ = assemble(tokens, special, max_length=lengths.context, newest=newest, roles=by)
        slow_contexts.append(whole.tolist())
        named = store.negatives[store.negative(pair)].tolist()
        slow_negatives += [alone(utterance, pair) for utterance in named]
    batch = (store, pairs, Joining(special, lengths, roles))
    assert [side.tolist() for side in contexts(*batch)] == slow_contexts
    slow = [alone(int(store.response[pair]), pair) for pair in pairs]
    assert [side.tolist() for side in responses(*batch)] == slow
    assert [side.tolist() for side in negatives(*batch)] == slow_negatives
    assert named_negatives(store, pairs)[1].tolist() == [0, 3, 3]


def test_a_closed_spool_has_written_all_that_it_was_given(tmp_path: Path):
    spool = spooling.Spool(tmp_path)
    spool.add(read_pairs(Chunk("x", 1, "jsonl", as_lines(ROWS)), Policy()))
    counts = spool.close()
    sizes = {name: column_file(tmp_path, name).stat().st_size for name in COLUMNS}
    assert (sizes["response"], sizes["turn_ends"]) == (4 * spool.pairs, 8 * spool.pairs)
    assert sizes.pop("vectors") == 0  # of no teacher
    assert all(sizes.values()) and spool.pairs == 4
    assert list(utterance_texts(tmp_path))[-1] == "l" and counts["utterances"] == 12


def without(row: dict, name: str) -> dict:
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("files", [[ROWS], [ROWS[:1], ROWS[1:]], [ROWS[:2], ROWS[2:]]])
def test_a_limit_is_of_all_pairs_whatever_files_they_are_in(
    limit: int, files: list[list[dict]], encoder: Encoder, tmp_path: Path
):
    store = stored(files, tmp_path, encoder, limit=limit)
    assert told(store) == expected(ROWS[:limit])
    assert store.counts["pairs"] == len(store) == min(limit, 4)
    (tmp_path / "alone").mkdir()
    alone = stored([ROWS[:limit]], tmp_path / "alone", encoder)
    texts, of_these = (sorted(utterance_texts(each.directory)) for each in (store, alone))
    assert texts == of_these


def test_texts_are_tokenised_the_same_however_few_at_once(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, size in (("at once", 20_000), ("in threes", 3)):
        monkeypatch.setattr(spooling, "TEXTS_A_BATCH", size)
        (tmp_path / name).mkdir()
        stored([ROWS], tmp_path / name, encoder)
    for file in ("tokens.i4", "token_ends.i8"):
        one, other = (
            (tmp_path / name / "store" / file).read_bytes() for name in ("at once", "in threes")
        )
        assert one == other


def nameless(places: list[tuple[int, int]]) -> list[dict]:
    """Pairs that do not say of which dialogue they are: (turn, window) of each."""
    return [
        {"context": ["a"] * window, "response": "b"} | ({"turn": turn} if turn else {})
        for turn, window in places
    ]


@pytest.mark.parametrize("cut", [0, 3, 6, 9])
def test_a_nameless_dialogue_goes_on_for_as_long_as_turn_and_window_do(
    cut: int, encoder: Encoder, tmp_path: Path
):
    """However the pairs are cut into files."""
    places = [(1, 1), (2, 1), (2, 2), (3, 1), (1, 1), (1, 2), (2, 1), (2, 1), (5, 1), (5, 3)]
    runs = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    rows = nameless(places)
    files = [part for part in (rows[:cut], rows[cut:]) if part]
    dialogue = stored(files, tmp_path, encoder).dialogue
    assert (np.diff(dialogue) != 0).tolist() == (np.diff(runs) != 0).tolist()
    assert (dialogue < 0).all() and len(set(dialogue.tolist())) == 3


def test_nameless_pairs_without_a_turn_or_beside_named_ones_are_dialogues_of_their_own(
    encoder: Encoder, tmp_path: Path
):
    rows = nameless([(1, 1), (0, 1), (0, 2)])
    dialogue = stored([rows], tmp_path, encoder).dialogue.tolist()
    assert len(set(dialogue)) == 3
    rows = nameless([(1, 1), (2, 1), (3, 1)])
    rows[1]["dialogue_id"] = "x"
    for number, files in enumerate(([rows], [rows[:2], rows[2:]])):
        folder = tmp_path / str(number)
        folder.mkdir()
        dialogue = stored(files, folder, encoder).dialogue.tolist()
        assert [d < 0 for d in dialogue] == [True, False, True]
        assert dialogue[0] != dialogue[2]


def test_numbers_of_nameless_dialogues_depend_on_no_chunk_no_name_and_no_teacher(tmp_path: Path):
    """So the same ones are held out of lines and of tables, with a teacher and without."""
    rows = nameless([(1, 1), (2, 1), (1, 1), (2, 1), (3, 1), (1, 1), (1, 1), (1, 1)])
    for row, name in zip(rows, ("x", None, "x", "y", None, None, "x", None), strict=True):
        row |= {"dialogue_id": name} if name else {}
    chunks = [[rows], [[row] for row in rows], [rows[:1], rows[1:4], [], rows[4:]]]
    lessons = [{"text": f"t{i}", "embedding": [1.0, i]} for i in range(3)]
    for number, cut in enumerate(chunks * 2):
        parts = [Chunk("p", 1, "jsonl", as_lines(part)) for part in cut]
        taught = [Chunk("t", 1, "jsonl", as_lines(lessons))] if number < len(chunks) else None
        spooling.spool(tmp_path / str(number), parts, Policy(), lessons=taught)
        dialogue = storing.column(tmp_path / str(number), "dialogue")[-len(rows) :]
        assert dialogue[dialogue < 0].tolist() == [-2, -3, -4, -5]


def test_held_out_dialogues_are_held_out_whole_and_by_the_seed(encoder: Encoder, tmp_path: Path):
    rows = [
        {"context": ["a"], "response": "b", "dialogue_id": f"d{i % 200}", "turn": 1}
        for i in range(600)
    ]
    store = stored([rows], tmp_path, encoder)
    held = store.held_out(0.25, seed=0)
    assert held[:200].tolist() == held[200:400].tolist() == held[400:].tolist()
    assert 30 <= held[:200].sum() <= 70
    assert held.tolist() == store.held_out(0.25, seed=0).tolist()
    assert held.tolist() != store.held_out(0.25, seed=1).tolist()
    assert not store.held_out(0, seed=0).any() and store.held_out(1, seed=0).all()
    border = share(str(store.dialogue[0]), seed=0)
    assert not store.held_out(border, seed=0)[0]
    assert store.held_out(math.nextafter(border, 1), seed=0)[0]


def test_weights_are_scaled_to_a_mean_of_one_over_the_pairs_that_are_trained_on(
    encoder: Encoder, tmp_path: Path
):
    rows = [
        {"context": ["a"], "response": "b", "weight": w, "dialogue_id": str(i)}
        for i, w in enumerate([1, 3, 100, 0])
    ]
    store = stored([rows], tmp_path, encoder)
    scaled = pair_weights(store, np.array([0, 1]), kind="given", mean_one=True)
    assert scaled.tolist() == [0.5, 1.5, 50, 0]
    nothing = pair_weights(store, np.array([3]), kind="given", mean_one=True)
    assert all(map(math.isfinite, nothing.tolist()))
