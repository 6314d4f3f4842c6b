"""dial-pairs as a specification: worked by hand, by law, and on real corpora."""

from __future__ import annotations

import json
import pickle
import re
import shlex
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pytest
from at_work import ended
from hypothesis import given, settings
from hypothesis import strategies as st
from least import check_least, own_hows
from oracles import slow_pairs

from dialtools import chance
from dialtools.chance import share, split_of
from dialtools.corpora.dialogues import WITHOUT_TEXT, Dialogue, dialogue
from dialtools.corpora.fields import BadRecord
from dialtools.errors import ConfigError, DataError, OutputError
from dialtools.options import Layer, resolve
from dialtools.pairs.chunk import merged, mine_chunk
from dialtools.pairs.convert import convert_chunk
from dialtools.pairs.job import Piece, input_chunks, mine
from dialtools.pairs.options import PairOptions
from dialtools.pairs.output import Outputs, closing_line, warnings
from dialtools.pairs.reader import camrest_turns, tod_bert_turns
from dialtools.pairs.render import Lines
from dialtools.streams import bounds
from dialtools.streams.chunks import CHUNK_BYTES, Chunk, read_chunks, read_records, records
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

WORDS = st.sampled_from(["a", "b c", "d e f g", "h i j k l", "", "yes"])
CORPUS = st.lists(st.lists(WORDS, max_size=7), max_size=5)


def pieces(
    talks: list[dict] | Chunk,
    *,
    lines: bool = True,
    policy: Policy | None = None,
    tally: Tally | None = None,
    **options,
) -> Iterator[Piece]:
    """What comes of the records of a chunk."""
    chunk = talks if isinstance(talks, Chunk) else Chunk("x", 1, "rows", talks)
    counts = {"policy": policy or Policy(), "tally": tally or Tally()}
    return mine([chunk], PairOptions(**options), lines=lines, **counts)


def rows_of(made: Iterable[Piece]) -> list[dict]:
    """The records of lines."""
    return [orjson.loads(line) for piece in made for line in piece.payload.splitlines()]


def mined(dialogues: list[dict], **options) -> list[dict]:
    """The pairs of dialogues through the JSONL lane."""
    return rows_of(pieces(dialogues, **options))


def as_dialogue(texts: list[str], identity: str = "d") -> dict:
    return {
        "id": identity,
        "turns": [
            {"speaker": "user" if i % 2 == 0 else "system", "text": t} for i, t in enumerate(texts)
        ],
    }


def test_a_dialogue_of_four_turns_worked_by_hand():
    rows = mined([as_dialogue(["a", "b", "c", "d"])], window=(1, 3))
    assert [(r["context"], r["response"], r["window"], r["turn"]) for r in rows] == [
        (["a"], "b", 1, 1),
        (["b"], "c", 1, 2),
        (["c"], "d", 1, 3),
        (["a", "b", "c"], "d", 3, 3),
    ]
    assert rows[3]["speakers"] == ["user", "system", "user", "system"]


@given(
    CORPUS,
    st.sampled_from([(1,), (2,), (1, 2, 3), (0,), (3, 2)]),
    st.sampled_from([0, 1, 4]),
    st.booleans(),
)
def test_pairs_are_those_of_the_definition_and_never_cross_dialogues(
    corpus, windows, min_words, short
):
    rows = mined(
        [as_dialogue(t, str(i)) for i, t in enumerate(corpus)],
        window=windows,
        min_words=min_words,
        short_windows=short,
    )
    expected = [
        p for texts in corpus for p in slow_pairs.pairs(texts, windows, min_words, short=short)
    ]
    assert [(r["context"], r["response"]) for r in rows] == expected


IDS, SPEAKERS = ("d", "é", None), ("user", "system", None)
SAID = st.text(st.sampled_from('ab "\\\n\u2028é😀'), max_size=4)


@st.composite
def talks(draw: st.DrawFn) -> list[dict]:
    """Dialogues whose names and speakers are known of all, of none or of some."""
    names, speakers = (draw(st.sampled_from([who[:2], who[2:], who])) for who in (IDS, SPEAKERS))
    made = []
    for _ in range(draw(st.integers(0, 4))):
        said = draw(st.lists(st.tuples(SAID, st.sampled_from(speakers)), max_size=6))
        turns = [{"text": text.strip(), "speaker": who} for text, who in said]
        talk = {
            "id": draw(st.sampled_from(names)),
            "turns": [
                {key: value for key, value in turn.items() if value is not None} for turn in turns
            ],
            "domain": draw(st.sampled_from(["taxi", None])),
        }
        made.append({key: value for key, value in talk.items() if value is not None})
    return made


@given(talks(), st.sampled_from([(1,), (2, 0), (1, 3)]), st.integers(0, 2), st.booleans())
def test_records_of_pairs_are_those_of_the_definition_in_lines_and_columns(
    corpus, windows, follow, by_turn
):
    chunk = Chunk("x", 1, "rows", corpus)
    if by_turn:  # of lines that are read as they are
        chunk = Chunk("x", 1, "jsonl", b"".join(orjson.dumps(t) + b"\n" for t in corpus))
    options = {"window": windows, "follow": follow, "domain": True}
    rows = {True: [], False: []}
    for lines in rows:
        for piece in pieces(chunk, lines=lines, **options):
            columns = Chunk("x", 1, "arrow", piece.payload)
            blob = piece.payload.splitlines() if lines else ()
            rows[lines] += map(orjson.loads, blob)
            rows[lines] += [] if lines else [row for _, row in records(columns, Policy())]
    every = (row for t in corpus for row in slow_pairs.records(t, windows, follow=follow))
    expected = [row for row in every if row["context"] != [row["response"]]]
    assert rows[True] == expected
    without = [{k: v for k, v in row.items() if v is not None} for row in rows[False]]
    assert [{**row, "speakers": 0} for row in without] == [
        {**row, "speakers": 0} for row in expected
    ]


def reason(pair: dict, talk: dict, options: PairOptions) -> str | None:
    """Why a pair is dropped, by the first filter that drops it."""
    texts = [*pair["context"], pair["response"]]
    turns = slow_pairs.spoken(talk)["turns"]
    said = [turn.get("speaker") for turn in turns]
    name = talk.get("id") or "\n".join(turn["text"] for turn in turns)
    known_by = f"{name}\t{pair['turn']}\t{pair['window']}"
    if options.distinct:  # what comes again shares its lot
        known_by = "\n".join([*pair["context"], pair["response"]])
    reasons = {
        "short": any(len(text.split()) < options.min_words for text in texts),
        "of another speaker": options.speaker and said[pair["turn"]] != options.speaker,
        "last in their dialogue": options.inner and pair["turn"] == len(said) - 1,
        "repeated": pair["context"] == [pair["response"]],
        "not sampled": share(known_by, seed=options.seed) >= (options.sample or 1),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


@given(
    talks(),
    st.fixed_dictionaries(
        {},
        optional={
            "min_words": st.integers(1, 2),
            "speaker": st.just("user"),
            "inner": st.just(True),
            "sample": st.just(0.7),
            "seed": st.integers(1, 3),
            "distinct": st.just(True),
        },
    ),
)
def test_every_pair_is_kept_or_dropped_for_the_first_reason_there_is(corpus, filters):
    options = PairOptions(window=(1, 2), **filters)
    tally, of_input, chunk = Tally(), Tally(), Chunk("x", 1, "rows", corpus)
    whose = {"tally": tally, "of_input": lambda: of_input}
    found = mine([chunk], options, lines=True, policy=Policy(), **whose)
    rows = rows_of(found)
    every = [
        (pair, reason(pair, talk, options))
        for talk in corpus
        for pair in slow_pairs.records(talk, (1, 2))
    ]
    kept = [{k: v for k, v in pair.items() if k != "domain"} for pair, why in every if why is None]
    dropped = Counter(why for _, why in every if why)
    dropped[WITHOUT_TEXT] = sum(not turn["text"] for talk in corpus for turn in talk["turns"])
    if options.distinct:
        alike = [(pair["context"], pair["response"]) for pair in kept]
        firsts = [pair for i, pair in enumerate(kept) if alike.index(alike[i]) == i]
        dropped["duplicate"] = len(kept) - len(firsts)
        kept = firsts
    assert rows == kept
    for own in (tally, of_input):
        assert own.dropped == +dropped and (own.kept, own.sources) == (len(rows), len(corpus))


def test_of_identical_pairs_the_first_stays_and_what_only_looks_alike_is_another():
    talks = (["a", "b", "c"], ["a", "b"], ["a", "c"], ["a b", "c"], ["a", "b c"])
    corpus = [as_dialogue(texts, str(i)) for i, texts in enumerate(talks)]
    rows = mined(corpus, window=(1, 2), distinct=True)
    assert [(r["dialogue_id"], r["context"], r["response"]) for r in rows] == [
        ("0", ["a"], "b"),
        ("0", ["b"], "c"),
        ("0", ["a", "b"], "c"),
        ("2", ["a"], "c"),
        ("3", ["a b"], "c"),
        ("4", ["a"], "b c"),
    ]
    assert mined(corpus, window=(1, 2), distinct=True, limit=4) == rows[:4]


def test_pairs_of_texts_that_hold_what_joins_texts_are_told_apart():
    talks = (["a", "b", "c"], ["a\0b", "c"], ["a\0\0b", "c"], ["a\0\1b", "c"], ["a", "\1b", "c"])
    corpus = [as_dialogue(texts, str(i)) for i, texts in enumerate(talks)]
    every = mined(corpus, window=(1, 2))
    assert len(every) == 9 and mined(corpus * 2, window=(1, 2), distinct=True) == every


def test_what_is_read_depends_on_the_kind(tmp_path: Path):
    """Two texts need no column of turns; a corpus of records keeps what pairs have no use for."""

    def read(text: str, **options) -> tuple[list[dict], Tally]:
        (tmp_path / "c.data").write_text(text)
        chosen = PairOptions(inputs=(str(tmp_path / "c.data"),), from_="csv", **options)
        policy, tally = Policy(), Tally()
        chunks = input_chunks(chosen, policy, tally, prompt=False)
        return rows_of(mine(chunks, chosen, lines=True, policy=policy, tally=tally)), tally

    (pair,), _ = read("premise,hypothesis,label\np,h,entailment\n", kind="entailment")
    assert (pair["context"], pair["response"]) == (["p"], "h")
    log = "dialogue_id,text,topic\n1,a,x\n1,,x\n1,b,x\n"
    logs = {"dialogue_column": "dialogue_id", "text_column": "text"}
    (pair,), tally = read(log, **logs)
    assert (pair["context"], pair["response"], "topic" in pair) == (["a"], "b", False)
    assert sum(tally.dropped.values()) == 1, tally.dropped
    (talk,), _ = read(log, kind="dialogue", **logs)
    assert [(turn["text"], turn["topic"]) for turn in talk["turns"]] == [("a", "x"), ("b", "x")]


@pytest.mark.parametrize("seed", [0, 5])
def test_a_sample_is_drawn_by_seed_dialogue_turn_and_window(seed: int):
    def drawn(row: dict) -> float:
        return share(f"{row['dialogue_id']}\t{row['turn']}\t{row['window']}", seed=seed)

    corpus = [as_dialogue(["a", "b", "c", "d", "e"], str(i)) for i in range(40)]
    every = mined(corpus, window=(1, 2))
    for size in (0.5, drawn(every[0])):  # of the second, a pair lies on the border, outside
        found = mined(corpus, window=(1, 2), sample=size, seed=seed)
        assert found == [row for row in every if drawn(row) < size]
    assert 80 < len(mined(corpus, window=(1, 2), sample=0.5, seed=seed)) < 200


def test_a_share_is_below_1_whatever_the_hash(monkeypatch: pytest.MonkeyPatch):
    for bits in (0, 2**64 - 1):
        monkeypatch.setattr(chance, "stable_hash", lambda *_, seed, bits=bits: bits)
        assert 0 <= share("x") < 1 and split_of("x", {"all": 1.0}) == "all"


def test_a_nameless_dialogue_is_of_one_part_as_pairs_and_as_a_record_with_its_blanks():
    talks = [{"turns": [f" hello {i}", "b "]} for i in range(20)]
    alone = [{"text": f" hello {i} "} for i in range(20)]
    split = {"split": ("train=0.5", "dev=0.5"), "output": "{split}"}
    for rows, kinds in ((talks, ("consecutive", "dialogue")), (alone, ("self", "utterance"))):
        told = []
        for kind in kinds:
            made = {piece.part: rows_of([piece]) for piece in pieces(rows, kind=kind, **split)}
            told.append({p: {*re.findall(r"hello (\d+)", str(made[p]))} for p in made})
        assert told[0] == told[1] and all(told[0].values())


@pytest.mark.parametrize("kind", ["consecutive", "texts"])
def test_a_nameless_dialogue_is_of_one_part_however_its_texts_are_changed(kind: str):
    who = ("user", "user", "system", "user")
    said = [zip(who, ("A", "B", "X", f"C {i}"), strict=True) for i in range(20)]
    rows = [{"turns": [{"speaker": who, "text": text} for who, text in turns]} for turns in said]
    if kind == "texts":
        rows = [{"text1": "A", "text2": f"C {i}"} for i in range(20)]
    split = {"split": ("train=0.5", "dev=0.5"), "output": "{split}"}
    changes = [{}, {"lower": True}, {"merge_speaker": True}, {"reader": "tod-bert"}]
    told = []
    for change in changes[: None if kind == "consecutive" else 2]:
        made = {
            piece.part: rows_of([piece]) for piece in pieces(rows, kind=kind, **split, **change)
        }
        told.append({p: {*re.findall(r"[Cc] (\d+)", str(made[p]))} for p in made})
    assert all(parts == told[0] for parts in told) and all(told[0].values())


@pytest.mark.parametrize("seed", [0, 5])
def test_a_dialogue_is_of_the_part_that_seed_and_id_tell_and_of_its_text_without_an_id(seed: int):
    corpus = [as_dialogue([f"hello {i}", "b", "c"], str(i)) for i in range(30)]
    nameless = [{"turns": talk["turns"]} for talk in corpus]
    shares = {"train": 0.5, "dev": 0.3}
    split = {"split": ("train=0.5", "dev=0.3"), "output": "{split}", "seed": seed}
    for talks in (corpus, nameless):
        made = pieces(talks, tally=(tally := Tally()), window=(0,), **split)
        found = {piece.part: rows_of([piece]) for piece in made}
        names = [t.get("id", "\n".join(x["text"] for x in t["turns"])) for t in talks]
        parts = [split_of(name, shares, seed=seed) for name in names]
        for part in shares:
            own = [t["turns"][0]["text"] for t, p in zip(talks, parts, strict=True) if p == part]
            assert [r["context"][0] for r in found[part]] == [text for text in own for _ in "12"]
        assert tally.dropped["outside the split"] == 2 * parts.count(None) > 0


@pytest.mark.parametrize("lines", [True, False])
def test_the_first_of_equal_pairs_and_the_first_n_are_those_of_the_input_whatever_their_part(lines):
    shares = {"train": 0.6, "dev": 0.3}
    talks = [as_dialogue(["a", f"b {i // 3}", "c"], str(i)) for i in range(40)]
    parts = [split_of(str(i), shares) for i in range(40)]
    every = [(p, i, i // 3, t) for i, p in enumerate(parts) if p for t in (1, 2)]
    distinct = {(own, turn): (part, i) for part, i, own, turn in reversed(every)}
    firsts = sorted((i, turn, part) for (_, turn), (part, i) in distinct.items())
    assert {part for _, _, part in firsts} == {*shares} and parts.index("dev") < 20
    split = {"split": tuple(f"{k}={v}" for k, v in shares.items()), "output": "{split}"}
    for options, expected in (
        ({"distinct": True}, firsts),
        ({"distinct": True, "limit": 9}, firsts[:9]),
        ({"limit": 15}, [(i, turn, part) for part, i, _, turn in every[:15]]),
    ):
        chosen, tally = PairOptions(**split, **options), Tally()
        chunks = [Chunk("x", 1, "rows", talks[:30]), Chunk("x", 31, "rows", talks[30:])]
        found = []
        for piece in mine(chunks, chosen, lines=lines, policy=Policy(), tally=tally):
            rows = piece.payload.splitlines() if lines else piece.payload.to_pylist()
            found += [(orjson.loads(r) if lines else r, piece.part) for r in rows]
        told = [(int(row["dialogue_id"]), row["turn"], part) for row, part in found]
        assert sorted(told) == expected and tally.kept == len(expected)


def test_words_are_counted_turn_by_turn_or_in_the_joined_context_and_in_the_response():
    talk = [as_dialogue(["a b", "c d", "e f g h", "i"])]
    found = {
        of: [(r["context"], r["response"]) for r in mined(talk, window=(1, 2), **options)]
        for of, options in {
            "members": {"min_words": 2},
            "joined": {"min_words": 4, "words_of": "joined"},
        }.items()
    }
    assert found["members"] == [
        (["a b"], "c d"),
        (["c d"], "e f g h"),
        (["a b", "c d"], "e f g h"),
    ]
    assert found["joined"] == [(["a b", "c d"], "e f g h")]
    negatives = ["n o", "n", "", "n o p"]  # a negative is one of the texts
    rows = [{"anchor": "a b", "positive": "c d", "negative": n} for n in negatives]
    for of in found:
        tally = Tally()
        options = {"kind": "triple", "min_words": 2, "words_of": of}
        made = rows_of(pieces(rows, tally=tally, **options))
        assert [r["negatives"] for r in made] == [["n o"], ["n o p"]]
        assert (dict(tally.dropped), tally.sources) == ({"short": 1, "empty": 1}, 4)


def test_dialogues_of_just_the_least_number_of_turns_stay():
    tally, talks = Tally(), [as_dialogue(["a", "b", "c"]), as_dialogue(["d", "e"])]
    (piece,) = pieces(talks, tally=tally, min_turns=3)
    assert piece.rows == tally.kept == 2 and tally.sources == 1
    assert tally.dropped["in dialogues of too few turns"] == 1
    alone = Tally()  # each turn is a pair with itself
    list(pieces(talks, tally=alone, min_turns=3, kind="self"))
    assert alone.dropped["in dialogues of too few turns"] == 2


@settings(max_examples=25)
@given(CORPUS, st.booleans(), st.sampled_from([None, 0.5]))
def test_the_arrow_lane_carries_what_the_json_lane_carries(corpus, distinct, sample):
    talks = [as_dialogue(t, str(i)) for i, t in enumerate(corpus)]
    options = {"window": (1, 2), "distinct": distinct, "sample": sample, "follow": 2}
    batches = pieces(talks, lines=False, **options)
    chunks = [Chunk("x", 1, "arrow", piece.payload) for piece in batches]
    arrow = [record for chunk in chunks for _, record in records(chunk, Policy())]
    assert arrow == mined(talks, **options)


def test_self_pairs_hold_each_distinct_utterance_once_and_never_slip_into_consecutive_ones():
    talk = [as_dialogue(["a", "a", "b", "a"])]
    assert [(r["context"], r["response"]) for r in mined(talk, kind="self")] == [
        (["a"], "a"),
        (["b"], "b"),
    ]
    assert [(r["context"], r["response"]) for r in mined(talk)] == [(["a"], "b"), (["b"], "a")]


def test_entailment_keeps_records_labelled_so():
    rows = [
        {"premise": "p", "hypothesis": "h", "label": "entailment"},
        {"text1": "x", "text2": "y", "label": "neutral"},
    ]
    assert [(r["context"], r["response"]) for r in mined(rows, kind="entailment")] == [(["p"], "h")]


def test_responses_can_be_those_of_one_speaker_and_what_follows_goes_along():
    rows = mined([as_dialogue(["a", "b", "c", "d", "e"])], speaker="system", follow=2)
    assert [(r["response"], r["follow"]) for r in rows] == [("b", ["c", "d"]), ("d", ["e"])]


@given(st.lists(st.integers(0, 9), max_size=6))
def test_every_utterance_between_others_is_a_sample_of_dialoguecse(sizes: list[int]):
    """Up to three turns before it, one at least, and up to three after, as in its release."""
    talks = [as_dialogue([f"{d} {i}" for i in range(n)], str(d)) for d, n in enumerate(sizes)]
    rows = mined(talks, window=(3,), short_windows=True, follow=3, inner=True)
    texts = [[turn["text"] for turn in talk["turns"]] for talk in talks]
    assert [(r["context"], r["response"], r["follow"]) for r in rows] == [
        (said[max(0, i - 3) : i], said[i], said[i + 1 : i + 4])
        for said in texts
        for i in range(1, len(said) - 1)
    ]


def test_a_dialogue_is_cut_once_before_a_turn_of_the_system_that_the_seed_draws():
    """TOD-BERT: the k-th, 1 <= k < the fewer of both sides' turns, counted from 0."""
    turns = [("system", "hello")]
    turns += [(who, f"{who} {i}") for i in range(5) for who in ("user", "user", "system")]
    talks = [
        {"id": str(n), "turns": [{"speaker": s, "text": t} for s, t in turns[1:]]}
        for n in range(200)
    ]
    cuts = {}
    for seed in (0, 1):
        rows = mined(talks, kind="random-split", seed=seed)
        assert len(rows) == 200 and {r["kind"] for r in rows} == {"random-split"}
        cuts[seed] = [r["response"] for r in rows]
        for row in rows:
            k = int(row["response"][-1])
            assert (
                row["context"][:2] == ["user 0 user 0", "system 0"]
                and len(row["context"]) == 2 * k + 1
            )
            assert row["speakers"] == ["user", "system"] * (k + 1)
        assert set(cuts[seed]) == {f"system {k}" for k in (1, 2, 3, 4)}
    assert cuts[0] != cuts[1]
    greeted = {"id": "g", "turns": [{"speaker": s, "text": t} for s, t in turns[:6]]}
    (last,) = mined([greeted], kind="random-split")
    assert (last["response"], len(last["context"])) == ("system 0", 2), "few turns: the last"
    unanswered = {"turns": [{"speaker": s, "text": t} for s, t in turns[:3]]}
    tally = Tally()
    (piece,) = pieces([unanswered, greeted], tally=tally, kind="random-split")
    assert (piece.rows, dict(tally.dropped)) == (1, {"without a response of the system": 1})
    (read,) = mined([{"turns": talks[0]["turns"][1:]}], kind="random-split", reader="tod-bert")
    assert read["context"][:4] == ["user 0", "system 0", "user 1", "system 0"], "by its own reader"


@pytest.mark.parametrize("options", [{"kind": "random-split"}, {"reader": "tod-bert"}])
def test_that_nobody_is_known_as_a_user_is_told_where_pairs_depend_on_it(options):
    turns = [{"speaker": who, "text": "好"} for who in ("客服", "用户", "客服")]
    told = f"{PairOptions(**options).users}: nobody is known as a user"

    def lines(**more) -> str:
        tally = Tally()
        list(pieces([{"turns": turns}], tally=tally, **options, **more))
        return "\n".join(warnings(PairOptions(**options, **more), tally))

    assert lines() == f"{told} (--speaker-map NAME=user says who is)"
    assert told not in lines(speaker_map=("用户=user",))


NLI = [
    {"text1": "p", "text2": "e", "label": "entailment"},
    {"premise": "q", "hypothesis": "n", "label": "neutral"},
    {"sentence1": "p", "sentence2": "c", "gold_label": "contradiction"},
]


def test_contradictions_are_pairs_that_are_not_similar():
    rows = mined(NLI, kind="nli")
    assert [(r["context"], r["response"], r["similar"]) for r in rows] == [
        (["p"], "e", 1),
        (["p"], "c", 0),
    ]
    assert not any("similar" in row for row in mined(NLI, kind="entailment"))


def test_a_triple_is_what_a_text_entails_and_what_contradicts_it(tmp_path: Path):
    """Three texts of a record, or the labelled pairs of one premise, wherever they stand."""
    more = [
        {"text1": "p", "text2": "f", "label": "entailment"},
        {"text1": "lonely", "text2": "g", "label": "entailment"},
        {"text1": "p ", "text2": "d", "label": "contradiction"},
        {"text1": "p", "text2": "h", "label": "entailment"},
    ]
    tables = {
        "nli.jsonl": "".join(f"{json.dumps(row)}\n" for row in NLI + more),
        "simcse.csv": "sent0,sent1,hard_neg\np,e,c\np,f,d\np,h,c\n",
        "st.jsonl": "".join(
            json.dumps(dict(zip(("anchor", "positive", "negative"), texts, strict=True))) + "\n"
            for texts in ("pec", "pfd", "phc")
        ),
    }
    found = {}
    for name, content in tables.items():
        parts = [content] if name != "nli.jsonl" else content.splitlines(keepends=True)
        paths = [tmp_path / f"{number}.{name}" for number in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            path.write_text(part)
        options = PairOptions(kind="triple", inputs=tuple(map(str, paths)))
        policy, tally = Policy(), Tally()
        chunks = list(input_chunks(options, policy, tally, prompt=False))
        for lines in (True, False):
            made = mine(chunks, options, lines=lines, policy=policy, tally=tally)
            rows = rows_of(made) if lines else [r for p in made for r in p.payload.to_pylist()]
            found[name, lines] = [(r["context"], r["response"], r["negatives"]) for r in rows]
        if name == "nli.jsonl":
            assert dict(tally.dropped) == {
                "labelled neutral": 1,
                "of a premise that nothing contradicts": 1,
            }
            assert tally.sources == len(NLI + more) + 3, "three texts are counted once each way"
    assert all(
        triples == [(["p"], "e", ["c"]), (["p"], "f", ["d"]), (["p"], "h", ["c"])]
        for triples in found.values()
    ), found


def test_pairs_carry_the_domain_of_their_dialogue_if_asked():
    talks = [as_dialogue(["a", "b"], "1") | {"domain": "taxi"}, as_dialogue(["c", "d"], "2")]
    assert [r.get("domain") for r in mined(talks, domain=True, merge_speaker=True)] == [
        "taxi",
        None,
    ]
    assert not any("domain" in row for row in mined(talks))
    (piece,) = pieces(talks, lines=False, domain=True)
    assert piece.payload["domain"].to_pylist() == ["taxi", None]
    alone = [{"text": "a", "domain": "taxi", "id": "1"}, {"text": "b"}]
    assert [r.get("domain") for r in mined(alone, kind="self", domain=True)] == ["taxi", None]


def test_a_summary_tells_what_each_input_gives_and_writes_no_pairs(tmp_path: Path, scripts: Path):
    said = [["a b", "user"], ["c d", "user"], ["e", "system"], ["e", "user"]]
    talk = {"turns": [{"text": text, "speaker": who} for text, who in said]}
    (tmp_path / "one.jsonl").write_text(
        json.dumps(talk) + "\n" + json.dumps({"turns": ["a"]}) + "\n"
    )
    (tmp_path / "two.txt").write_text("x y\nz w\n")
    command = [scripts / "dial-pairs", "--summary", "--min-words", "2", "one.jsonl", "two.txt"]
    run = ended(*command, cwd=tmp_path)
    one, two, every = map(json.loads, run.stdout.splitlines())
    assert one == {
        "schema": "dialtools.pairs/1",
        "corpus": "one",
        "dialogues": 2,
        "turns": 5,
        "neighbours": 3,
        "same_speaker": 1,
        "pairs": 3,
        "kept": 1,
        "dropped": {"short": 2},
    }
    assert (two["corpus"], two["kept"], two["same_speaker"]) == ("two", 1, 0)
    assert (every["corpus"], every["kept"], every["turns"]) == ("all", 2, 7)


def test_a_summary_has_a_row_for_each_input_with_what_was_left_out_before_pairs_are_made(
    tmp_path: Path, scripts: Path
):
    table, other = ("dialogue_id,text\n1,a\n1,\n1,b\n".replace("1", name) for name in "12")
    for name, content in (("one.csv", table), ("in/two.csv", table), ("in/three.csv", other)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "none.csv").write_text("")
    with tarfile.open(tmp_path / "in.tar", "w") as packed:
        packed.add(tmp_path / "in", "in")
    inputs = ("one.csv", "in.tar", "in", "none.csv")
    run = ended(scripts / "dial-pairs", "--summary", "--text-column", "text", *inputs, cwd=tmp_path)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(row["corpus"], row["kept"], row["dropped"]) for row in rows] == [
        ("one", 1, {"turns without text": 1}),
        ("in.tar", 2, {"turns without text": 2}),
        ("in", 2, {"turns without text": 2}),
        ("none", 0, None),
        ("all", 5, {"turns without text": 5}),
    ]


def test_a_summary_tells_inputs_apart_that_are_given_twice_or_lie_in_one_another(
    tmp_path: Path, scripts: Path
):
    (tmp_path / "logs").mkdir()
    for name, texts in (("a", ["x", "y"]), ("b", ["x", "y", "z"])):
        (tmp_path / f"logs/{name}.jsonl").write_text(json.dumps({"turns": texts}) + "\n")
    inputs = ("logs", "logs/a.jsonl", "logs/a.jsonl")
    for jobs in (1, 2):
        run = ended(scripts / "dial-pairs", "--summary", "-j", jobs, *inputs, cwd=tmp_path)
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        assert [(row["corpus"], row["dialogues"], row["turns"], row["kept"]) for row in rows] == [
            ("logs", 2, 5, 3),
            ("logs/a.jsonl (2)", 1, 2, 1),
            ("logs/a.jsonl (3)", 1, 2, 1),
            ("all", 4, 9, 5),
        ]


def test_speakers_are_joined_before_turns_are_counted():
    talk = Dialogue("d", ["a", "b", "c"], ["u", "u", "s"])
    assert merged(talk) == Dialogue("d", ["a b", "c"], ["u", "s"])
    unknown = Dialogue("d", ["a", "b", "c", "d"], [None, None, "s", None])
    assert merged(unknown) == unknown
    turns = [{"speaker": s, "text": t} for s, t in zip("uus", "abc", strict=True)]
    assert mined([{"turns": turns}], merge_speaker=True, min_turns=3) == []


def test_a_monologue_of_a_million_turns_is_joined_at_once():
    turns = 1_000_000  # each copied with all before it would take days
    (whole,) = merged(Dialogue("d", ["word", ""] * (turns // 2), ["u"] * turns)).texts
    assert len(whole) == 5 * turns // 2 - 1


def test_the_published_reader_keeps_the_last_of_two_system_turns_and_repeats_one_between_users():
    talk = Dialogue(
        "d",
        ["s0", "u1", "s1", "s2", "u2", "u3", "s9"],
        ["s", "user", "s", "s", "user", "user", "s"],
    )
    assert tod_bert_turns(talk).texts == [
        "u1",
        "s2",
        "u2",
    ]  # s2 was said before: the last turn is lost with it


def test_splits_are_by_dialogue_and_cover_every_pair(tmp_path: Path, scripts: Path):
    corpus = tmp_path / "c.jsonl"
    corpus.write_bytes(
        b"".join(orjson.dumps(as_dialogue(["a", "b", "c"], str(i))) + b"\n" for i in range(300))
    )
    line = [scripts / "dial-pairs", corpus, "--split", "train=0.8,dev=0.2", "-o"]
    ended(*line, tmp_path / "p.{split}.jsonl")
    ids = {
        part: {json.loads(line)["dialogue_id"] for line in (tmp_path / f"p.{part}.jsonl").open()}
        for part in ("train", "dev")
    }
    assert not ids["train"] & ids["dev"]
    assert len(ids["train"] | ids["dev"]) == 300
    assert 30 < len(ids["dev"]) < 90
    with pytest.raises(ConfigError, match="one file a part"):
        PairOptions(split=("train=0.8",))


def test_whole_histories_beside_windows_give_no_pair_twice():
    pairs = mined([as_dialogue(["a", "b", "c", "d"])], window=(1, 2, 0))
    told = ["".join(pair["context"]) for pair in pairs]
    assert told == ["a", "b", "ab", "c", "bc", "abc"]


def test_a_dry_run_counts_what_a_run_then_writes_and_writes_nothing(tmp_path: Path, scripts: Path):
    corpus = Path(__file__).parents[2] / "examples/heldout.jsonl.gz"
    flags = [
        corpus,
        *shlex.split("--window 1,2 --min-words 4 --split train=0.8,dev=0.1 -o"),
        tmp_path / "p.{split}.jsonl",
    ]
    planned = ended(scripts / "dial-pairs", "--dry-run", *flags)
    assert not list(tmp_path.iterdir())
    done = ended(scripts / "dial-pairs", *flags)
    sizes = {
        name: (tmp_path / f"p.{name}.jsonl").read_bytes().count(b"\n") for name in ("train", "dev")
    }
    plan = dict(line.split(maxsplit=1) for line in planned.stdout.decode().splitlines())
    assert (
        plan["writes"]
        == ", ".join(f"{tmp_path}/p.{name}.jsonl: {n:,}" for name, n in sizes.items()) + " as jsonl"
    )
    assert f"dial-pairs: {plan['finds']} (" in done.stderr.decode()
    bad = [scripts / "dial-pairs", "--dry-run", "--on-error", f"quarantine={tmp_path}/bad.jsonl"]
    assert subprocess.run(bad, input=b"{\n", capture_output=True).returncode == 3
    assert not (tmp_path / "bad.jsonl").exists()
    again = ended(scripts / "dial-pairs", "--dry-run", *flags, code=1)
    assert b"exists already" in again.stderr


@pytest.mark.parametrize("to", ["jsonl", "arrow", "parquet"])
def test_any_number_of_jobs_gives_the_same_bytes(tmp_path: Path, scripts: Path, to: str):
    corpus = tmp_path / "c.jsonl"
    talks = (
        as_dialogue([f"turn {i} {j} of some length" for j in range(9)], str(i)) for i in range(9999)
    )
    corpus.write_bytes(b"".join(orjson.dumps(talk) + b"\n" for talk in talks))
    assert corpus.stat().st_size > 2 * CHUNK_BYTES
    flags = shlex.split(f"--window 1,2,3 --to {to} --sample 0.5 -j")
    outputs = [
        subprocess.check_output([scripts / "dial-pairs", corpus, *flags, jobs]) for jobs in "123"
    ]
    assert outputs[0]
    if to == "jsonl":
        assert outputs[0] == outputs[1] == outputs[2]
    else:  # the provenance names the command line, in which the jobs differ
        paths = [tmp_path / f"{i}.{to}" for i in range(3)]
        for path, data in zip(paths, outputs, strict=True):
            path.write_bytes(data)
        first, *others = ([r for _, r in read_records([str(p)], policy=Policy())] for p in paths)
        assert all(rows == first for rows in others)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        *(
            ({"turns": turns}, '"turns" must be a list')
            for turns in ("x", {}, {"text": "hi"}, {"text": ["hi", "you"], "speaker": ["a"]})
        ),
        ({"id": 1}, 'no "turns"'),
        (
            {"turns": [{"text": "a"}, {"text": 7}]},
            r"turns\[1\].text: expected a string, got a number",
        ),
        ({"turns": [1]}, r"turns\[0\]: expected a string or an object, got a number"),
        ({"messages": [{"role": "user"}]}, r'messages\[0\]: no "text", .*; there are role'),
    ],
)
def test_a_record_that_is_no_dialogue_says_which_field(record: dict, says: str):
    with pytest.raises(BadRecord, match=says):
        dialogue(record)


def test_a_text_that_is_null_is_that_of_a_turn_without_one():
    talk = dialogue({"turns": [{"text": "a"}, {"text": None, "speaker": "u"}, {"content": "b"}]})
    assert talk.texts == ["a", "", "b"] and talk.spoken().texts == ["a", "b"]


def test_dialects_read_as_the_same_dialogue():
    plain = dialogue(
        {"id": "7", "turns": [{"text": "a", "speaker": "u"}, {"text": "b", "speaker": "s"}]}
    )
    assert (
        dialogue(
            {
                "dialogue_id": 7,
                "dialogue": [{"utterance": "a", "role": "u"}, {"utterance": "b", "role": "s"}],
            }
        )
        == plain
    )
    assert (
        dialogue(
            {
                "id": "7",
                "messages": [{"content": " a ", "role": "u"}, {"content": "b", "role": "s"}],
            }
        )
        == plain
    )
    assert dialogue({"turns": ["a", "b"]}).texts == ["a", "b"]


def test_chat_logs_in_csv_and_plain_text_give_the_same_pairs(tmp_path: Path, scripts: Path):
    (tmp_path / "log.csv").write_text(
        'ticket,n,who,message\n1,2,bot,"b, yes"\n1,1,me,a\n2,1,me,c\n2,2,bot,d\n'
    )
    (tmp_path / "log.txt").write_text("a\nb, yes\n\nc\nd\n")
    flags = shlex.split(
        "--dialogue-column ticket --text-column message --order-column n --speaker-column who"
    )
    runs = [
        ended(scripts / "dial-pairs", "-q", *extra)
        for extra in ([*flags, tmp_path / "log.csv"], [tmp_path / "log.txt"])
    ]
    pairs = [
        [(r["context"], r["response"]) for r in map(orjson.loads, run.stdout.splitlines())]
        for run in runs
    ]
    assert pairs[0] == pairs[1] == [(["a"], "b, yes"), (["c"], "d")]
    wrong = ended(
        scripts / "dial-pairs",
        "--text-column",
        "mesage",
        *flags[:2],
        tmp_path / "log.csv",
        code=1,
        text=True,
    )
    assert "no column 'mesage'; there are ticket, n, who, message" in wrong.stderr
    assert "did you mean message?" in wrong.stderr


PUBLISHED = {
    "multiwoz": (132607, 128184, 122172, 119061),
    "woz": (7624, 5949, 7616, 5947),
    "camrest676": (4812, 3452, 4812, 3528),
}


@pytest.mark.shared
@pytest.mark.parametrize("name", PUBLISHED)
def test_pair_counts_are_those_of_the_table(shared: Path, name: str):
    reader = "tod-bert-camrest" if name == "camrest676" else "tod-bert"
    found = []
    for options in (
        PairOptions(),
        PairOptions(min_words=4),
        PairOptions(reader=reader),
        PairOptions(reader=reader, min_words=4),
    ):
        tally = Tally()
        for _ in mine(
            read_chunks([str(shared / f"data/corpus/{name}.jsonl.gz")]),
            options,
            lines=False,
            policy=Policy(),
            tally=tally,
        ):
            pass
        empty = 0 if options.min_words else tally.dropped["empty"] + tally.dropped[WITHOUT_TEXT]
        found.append(
            tally.kept + tally.dropped["repeated"] + empty
        )  # the table counts pairs of one text twice, and empty ones
    assert tuple(found) == PUBLISHED[name]


def test_an_utterance_is_of_the_dialogue_that_it_names_and_in_quarantine_as_it_came():
    rows = [{"text": f"a {i}", "dialogue_id": i % 7, "turn": i // 7, "id": i} for i in range(40)]
    rows += [{"text": "b", "dialogue_id": " ", "id": "u"}, {"text": 5, "id": "bad"}]
    policy = Policy(on_error="skip")
    options = PairOptions(kind="self", split=("a=0.5", "b=0.5"), output="{split}")
    chunk, parts = Chunk("x", 1, "rows", rows), {}
    for piece in mine([chunk], options, lines=True, policy=policy, tally=Tally()):
        for row in map(orjson.loads, piece.payload.splitlines()):
            parts.setdefault(row["dialogue_id"], set()).add(piece.part)
    assert {*parts} == {*"0123456", "u"} and all(len(own) == 1 for own in parts.values())
    rejected = mine_chunk(chunk, options=options, lines=True).rejected
    assert [orjson.loads(bad.raw) for bad in rejected] == [rows[-1]]


def test_utterances_alone_or_among_dialogues_are_pairs_of_themselves(tmp_path: Path, scripts: Path):
    rows = [
        {"text": "a", "label": "x"},
        as_dialogue(["b", "c"]),
        {"utterance": "d", "id": 4},
        {"premise": "e"},
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = subprocess.run(
        [scripts / "dial-pairs", "--kind", "self", "--on-error", "skip", tmp_path / "c.jsonl"],
        capture_output=True,
        text=True,
    )
    pairs = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(pair["response"], pair.get("dialogue_id")) for pair in pairs] == [
        ("a", None),
        ("b", "d"),
        ("c", "d"),
        ("d", "4"),
    ]
    assert run.returncode == 3, "two texts are no utterance"


@pytest.mark.parametrize(
    ("dialogues", "closing"),
    [
        (b'{"turns": ["hi", "hello"]}\n', b"1 pair from 1 dialogue ("),
        (b'{"turns": ["hi", "hello"]}\n[]\n', b"1 pair from 1 dialogue; 1 bad record skipped ("),
        (b'{"turns": ["a", "b", "c"]}\n' * 2, b"4 pairs from 2 dialogues"),
    ],
)
def test_the_closing_line_counts_one_in_the_singular(
    scripts: Path, dialogues: bytes, closing: bytes
):
    command = [str(scripts / "dial-pairs"), "--on-error", "skip"]
    done = subprocess.run(command, input=dialogues, capture_output=True)
    assert b"dial-pairs: " + closing in done.stderr


def test_numbers_have_least_values_and_some_options_only_change_how_a_run_goes():
    none = ("0", "-1")
    least = {"min_words": none, "min_turns": none, "follow": none, "jobs": ("1", "0")}
    check_least(PairOptions, least)
    hows = {"dry_run", "jobs", "json", "shard", "engine", "parts", "workers", "address"}
    assert own_hows(PairOptions) == hows


def test_texts_are_lower_cased_where_that_is_asked_for():
    talk = [as_dialogue(["A b", "Ä"]) | {"domain": "X"}]
    for lower, said in ((False, ("A b", "Ä")), (True, ("a b", "ä"))):
        (row,) = mined(talk, domain=True, lower=lower)
        assert (*row["context"], row["response"], row["domain"]) == (*said, "X")


def test_a_digest_of_a_pair_has_16_bytes_as_help_says():
    chunk = Chunk("x", 1, "rows", [as_dialogue(["a", "b", "c"])])
    digests = mine_chunk(chunk, options=PairOptions(distinct=True), lines=True).digests
    assert [len(digest) for digest in digests or ()] == [16, 16]


def test_dialogues_and_turns_as_records_of_their_corpus():
    talks = [
        {"id": "1", "topic": "x", "turns": [{"text": "a", "acts": ["q"]}, "b"]},
        {"turns": ["c"]},
        {"turns": []},
    ]
    first, second = mined(talks, kind="dialogue")
    assert first == {
        "id": "1",
        "turns": [{"text": "a", "acts": ["q"]}, {"text": "b"}],
        "topic": "x",
    }
    assert second == {"turns": [{"text": "c"}]}
    assert mined(talks, kind="dialogue", min_turns=2) == [first]
    answer = {"history": [{"text": "a", "speaker": "u"}], "response": "b", "speaker": "s", "qi": 1}
    turns = [{"speaker": "u", "text": "a"}, {"speaker": "s", "text": "b"}]
    assert mined([answer], kind="dialogue") == [{"qi": 1, "turns": turns}]
    others = [answer, {"history": [], "response": "b"}, {"text1": "a", "text2": "b", "score": 2.5}]
    assert mined(others, kind="utterance") == others, "as they are: no turns, no utterances"
    with pytest.raises(DataError, match='no "turns"') as error:
        mined(others[2:], kind="dialogue")
    assert "--kind utterance" in str(error.value.hint)
    assert mined([*talks, {"text": "d", "label": "l"}], kind="utterance") == [
        {"topic": "x", "dialogue_id": "1", "turn": 0, "text": "a", "acts": ["q"]},
        {"topic": "x", "dialogue_id": "1", "turn": 1, "text": "b"},
        {"turn": 0, "text": "c"},
        {"text": "d", "label": "l"},
    ]


@pytest.mark.parametrize("kind", ["dialogue", "utterance"])
def test_dialogues_are_sampled_and_split_by_seed_and_name_each_by_itself(kind: str):
    talks = [{"id": str(i), "turns": [f"t {i}"]} for i in range(40)]
    talks += [{"turns": [f"n {i}", "x"]} for i in range(40)]
    names = [t.get("id") or "\n".join(t["turns"]) for t in talks]
    for seed in (0, 3):
        drawn = [share(f"{name}\tdialogue", seed=seed) < 0.6 for name in names]
        parts = [split_of(name, {"a": 0.5, "b": 0.3}, seed=seed) for name in names]
        split = {"split": ("a=0.5", "b=0.3"), "output": "{split}", "seed": seed}
        made = pieces(talks, tally=(tally := Tally()), kind=kind, sample=0.6, **split)
        found = {piece.part: rows_of([piece]) for piece in made}
        for part, rows in found.items():
            kept = [
                t
                for t, is_drawn, own in zip(talks, drawn, parts, strict=True)
                if is_drawn and own == part
            ]
            texts = [text for t in kept for text in t["turns"]]
            if kind == "utterance":
                assert [row["text"] for row in rows] == texts
            else:
                assert [turn["text"] for row in rows for turn in row["turns"]] == texts
        records = [len(t["turns"]) if kind == "utterance" else 1 for t in talks]
        outside = [n for n, part in zip(records, parts, strict=True) if part is None]
        assert tally.dropped["outside the split"] == sum(outside)
        assert tally.sources == len(talks)


def test_a_record_that_is_no_utterance_is_rejected_whatever_its_columns_hold():
    rows = [{"when": date(2024, 5, 1)}, {"text": "a", "when": date(2024, 5, 1)}]
    rows.append({"text": "b", "size": Decimal("1.50")})
    policy = Policy(on_error="skip")
    (piece,) = pieces(rows, policy=policy, kind="utterance")
    assert piece.payload == b'{"text":"a","when":"2024-05-01"}\n{"text":"b","size":"1.50"}\n'
    assert policy.skipped == 1


def test_an_utterance_keeps_its_slots_and_a_bad_dialogue_among_utterances_is_told_by_its_line():
    slot = {"start": 3, "end": 7, "label": "city"}
    rows = [{"text": "to rome", "id": 4, "slots": [slot]}, {"turns": [1]}, {"turns": ["a"]}]
    options = PairOptions(kind="utterance")
    made = convert_chunk(Chunk("x", 5, "rows", rows), options=options)
    assert [orjson.loads(line) for line in made.payloads[""].blob.splitlines()] == [
        {"text": "to rome", "slots": [slot], "id": 4},
        {"turn": 0, "text": "a"},
    ]
    assert (made.payloads[""].num_rows, made.tally.sources) == (2, 2)
    assert [bad.where for bad in made.rejected] == [("x", 6)]
    plain = convert_chunk(Chunk("x", 1, "text", b"a\nb\n\nc\n"), options=options).payloads[""]
    assert [(r["turn"], r["text"]) for r in map(orjson.loads, plain.blob.splitlines())] == [
        (0, "a"),
        (1, "b"),
        (0, "c"),
    ]


@pytest.mark.parametrize("seed", [0, 5])
def test_utterances_are_drawn_by_their_id_or_by_their_text(seed: int):
    rows = [{"text": f"t {i}", "id": 1000 + i} for i in range(30)]
    rows += [{"text": f"n {i}"} for i in range(30)]
    names = [str(row.get("id", row["text"])) for row in rows]
    shares = [share(f"{name}\tdialogue", seed=seed) for name in names]
    for size in (0.5, shares[0]):  # the first lies on the border, outside
        options = PairOptions(kind="utterance", sample=size, seed=seed)
        made = convert_chunk(Chunk("x", 1, "rows", rows), options=options)
        kept = [row["text"] for row, own in zip(rows, shares, strict=True) if own < size]
        assert [orjson.loads(r)["text"] for r in made.payloads[""].blob.splitlines()] == kept
        assert made.tally.dropped["not sampled"] == len(rows) - len(kept) > 0
    few = PairOptions(kind="dialogue", min_turns=2)
    talks = [{"turns": ["a"]}, {"turns": ["b", "c"]}, {"turns": []}]
    made = convert_chunk(Chunk("x", 1, "rows", talks), options=few)
    assert made.tally.dropped["of too few turns"] == 2 and made.tally.sources == 1


def test_what_a_speaker_begins_with_is_the_first_turn_that_others_do_not_take_away():
    said = [("desk", "hello"), ("kim", "lost card"), ("desk", "which?"), ("kim", "visa")]
    talk = {"id": "d", "turns": [{"speaker": who, "text": text} for who, text in said]}
    chunk = Chunk("x", 1, "rows", [talk, {"id": "e", "turns": ["alone"]}, {"text": "no dialogue"}])

    def texts(**flags) -> list[tuple]:
        made = convert_chunk(chunk, options=PairOptions(kind="utterance", **flags))
        rows = [orjson.loads(line) for line in made.payloads[""].blob.splitlines()]
        return [(row.get("turn"), row["text"]) for row in rows]

    alone = [(0, "alone"), (None, "no dialogue")]
    assert texts(first=1) == [(0, "hello"), *alone]
    assert texts(first=1, drop_speaker=("desk",)) == [(0, "lost card"), *alone]
    assert texts(first=3, min_turns=4) == [*enumerate(["hello", "lost card", "which?"]), alone[1]]
    of_dialogues = PairOptions(kind="dialogue", first=2)
    made = convert_chunk(Chunk("x", 1, "rows", [talk]), options=of_dialogues)
    assert orjson.loads(made.payloads[""].blob)["turns"] == talk["turns"][:2]
    assert made.tally.dropped == {"turns beyond --first": 2}


def test_the_published_readers_worked_by_hand():
    talk = Dialogue("d", list("abcdef"), ["user", "s"] * 3)
    # (system, user) turns: ("", a), (b, c), (d, e); f waits for a user; the last comes as it is new
    assert tod_bert_turns(talk) == Dialogue("d", list("abcde"), ["user", "s", "user", "s", "user"])
    again = Dialogue("d", list("abBc"), ["user", "s", "s", "user"])
    assert tod_bert_turns(again).texts == ["a", "B", "c"]
    said = Dialogue("d", ["hi", "Bye", "x", "BYE", "y"], ["user", "s", "user", "s", "user"])
    assert tod_bert_turns(said).texts == ["hi", "Bye", "x"]
    assert tod_bert_turns(Dialogue("d", ["a", "b"], ["s", "s"])).texts == []
    # CamRest676 walks (user, system) turns, and has the last one reversed
    assert camrest_turns(Dialogue("d", list("abcd"), ["user", "s"] * 2)).texts == list("abdc")
    assert camrest_turns(Dialogue("d", list("abcA"), ["user", "s"] * 2)).texts == list("ab")


def test_the_closing_line_names_the_speakers_without_a_role_only_when_asked():
    tally = Tally()
    tally.keep(3)
    tally.sources = 2
    tally.unmapped.update({"bot": 2, **{f"s{i}": 1 for i in range(5)}})
    line = "3 pairs from 2 dialogues"
    assert closing_line(PairOptions(), tally) == line
    told = closing_line(PairOptions(verbose=True), tally)
    assert told.startswith(f"{line}; speakers not in --speaker-map: 2 turns of bot, 1 turn of s0")


@pytest.mark.parametrize("options", [{}, {"distinct": True}, {"kind": "dialogue"}])
def test_a_limit_holds_over_all_chunks(options: dict):
    chunks = [Chunk("x", i, "rows", [as_dialogue(["a", "b", str(i)], str(i))]) for i in range(4)]
    every = [row for chunk in chunks for row in mined(chunk.data, **options)]
    distinct = {json.dumps([r.get("context"), r.get("response"), r.get("turns")]): r for r in every}
    kept = list(distinct.values()) if "distinct" in options else every
    for limit in (1, 2, 3, 4, 9):
        tally, own = Tally(), PairOptions(limit=limit, **options)
        rows = rows_of(mine(chunks, own, lines=True, policy=Policy(), tally=tally))
        if "distinct" in options:
            assert len(rows) == tally.kept == min(limit, len(kept))
        else:
            assert rows == kept[:limit] and tally.kept == len(rows)


@pytest.mark.parametrize(
    "options", [{"limit": 4}, {"distinct": True}, {"kind": "self", "limit": 3}]
)
def test_some_rows_of_a_batch_are_those_of_lines_and_views_of_the_same_texts(options: dict):
    talks = [as_dialogue(["a", "b", "c"], str(i)) | {"domain": str(i)} for i in range(3)]
    (every,) = pieces(talks, lines=False)
    (piece,) = pieces(talks, lines=False, domain=True, **options)
    expected = mined(talks, domain=True, **options)
    told = [row for _, row in records(Chunk("x", 1, "arrow", piece.payload), Policy())]
    assert told == expected and len(told) in (2, 3, 4)
    assert len(piece.payload["context"].values) == 9 == len(every.payload["context"].values)


def test_once_the_limit_is_reached_no_more_is_read():
    def chunks():
        yield Chunk("x", 1, "rows", [as_dialogue(["a", "b", "c"])])
        raise AssertionError("read on")

    options = PairOptions(limit=2)
    made = mine(chunks(), options, lines=True, policy=Policy(), tally=Tally())
    assert sum(piece.rows for piece in made) == 2


@pytest.mark.parametrize("kind", ["consecutive", "self", "dialogue", "utterance"])
def test_a_bad_record_behind_the_last_of_n_is_not_met_whatever_chunk_it_is_in(kind: str):
    good = [as_dialogue([f"a{i}", f"b{i}"], str(i)) for i in range(3)]
    talks = [good[0], {"turns": 1}, good[1], {"turns": 2}, good[2]]
    alone = [Chunk("x", i, "rows", [talk]) for i, talk in enumerate(talks, 1)]
    for limit in range(8):
        found = []
        for chunks in (alone, [Chunk("x", 1, "rows", talks)]):
            policy, options = Policy("skip"), PairOptions(kind=kind, limit=limit)
            made = mine(chunks, options, lines=True, policy=policy, tally=Tally())
            found.append((rows_of(made), policy.skipped))
        assert found[0] == found[1] and found[0][1] in (0, 1, 2)
    assert found[0][1] == 2


def test_what_a_pair_tells_of_speakers_and_dialogue_depends_on_what_is_known():
    turns = [{"text": "a", "speaker": "u"}, {"text": "b"}]
    (row,) = mined([{"turns": turns}])
    assert row == {
        "context": ["a"],
        "response": "b",
        "window": 1,
        "kind": "consecutive",
        "turn": 1,
        "speakers": ["u", None],
    }
    assert "speakers" not in mined([{"turns": ["a", "b"]}])[0]
    assert "speakers" not in mined([{"turns": turns}], kind="self")[0]
    assert ["speakers" in r for r in mined([{"turns": ["a", "b"]}, {"turns": turns}])] == [0, 1]
    called = [{"text": "a", "role": "user"}, {"text": "b", "author": "bot"}]
    assert mined([{"turns": called}])[0]["speakers"] == ["user", "bot"]
    both = mined([as_dialogue(["a", "b"]), {"turns": ["c", "d"]}], follow=1)
    assert [r.get("dialogue_id") for r in both] == ["d", None]
    assert [r["follow"] for r in both] == [[], []]


def test_two_texts_without_a_label_are_rejected_and_others_dropped_by_label():
    rows = [
        {"premise": " P ", "hypothesis": "H", "gold_label": "Entailment", "id": 3},
        {"text1": "x", "text2": "y", "label": "positive"},
        {"sentence1": "x", "sentence2": "y", "label": "neutral"},
        {"premise": "p", "hypothesis": "h", "when": date(2024, 5, 1)},
        {"premise": "p", "label": "entailment", "hypothesis": 3},
    ]
    tally, policy = Tally(), Policy(on_error="skip")
    found = rows_of(pieces(rows, policy=policy, tally=tally, kind="entailment", lower=True))
    assert [(r["context"], r["response"], r.get("dialogue_id")) for r in found] == [
        (["p"], "h", "3"),
        (["x"], "y", None),
    ]
    assert (policy.skipped, dict(tally.dropped)) == (2, {"labelled neutral": 1})
    assert tally.sources == 3


NAMES = [("premise", "text1"), ("hypothesis", "sentence2"), ("label", "gold_label")]
TEXT = st.sampled_from(["a", " B ", "", 3])
LABEL = st.sampled_from(["entailment", "Positive", "CONTRADICTION", "negative", "neutral", 3])


@st.composite
def labelled(draw: st.DrawFn) -> dict:
    """A record of two texts and a label, of which some may be missing or no texts."""
    names = [draw(st.none() | st.sampled_from(both)) for both in NAMES]
    values = [draw(TEXT), draw(TEXT), draw(LABEL)]
    pairs = zip(names, values, strict=True)
    return {name: value for name, value in pairs if name} | draw(
        st.sampled_from([{}, {"id": 7}, {"id": "x"}])
    )


@given(st.lists(labelled(), max_size=6), st.sampled_from(["entailment", "nli"]), st.booleans())
def test_labelled_texts_are_pairs_dropped_by_label_or_rejected_by_line(records, kind, lower):
    rows, dropped, rejected = [], Counter(), []
    for line, record in enumerate(records, 5):
        texts = [next((record[n] for n in both if n in record), None) for both in NAMES]
        if not all(isinstance(text, str) for text in texts):
            rejected.append(("x", line))
            continue
        one, two = ((t.lower() if lower else t).strip() for t in texts[:2])
        similar = texts[2].lower() in ("entailment", "positive")
        against = texts[2].lower() in ("contradiction", "negative")
        if not similar and not (against and kind == "nli"):
            dropped[f"labelled {texts[2]}"] += 1
        elif not (one and two) or one == two:
            dropped["repeated" if one and two else "empty"] += 1
        else:
            row = {"context": [one], "response": two, "window": 1, "kind": kind, "turn": 1}
            row |= {"dialogue_id": str(record["id"])} if "id" in record else {}
            rows.append(row | ({"similar": int(similar)} if kind == "nli" else {}))
    options, chunk = PairOptions(kind=kind, lower=lower), Chunk("x", 5, "rows", records)
    made = mine_chunk(chunk, options=options, lines=True)
    assert [orjson.loads(line) for line in made.payloads[""].blob.splitlines()] == rows
    assert [bad.where for bad in made.rejected] == rejected and made.tally.dropped == dropped
    assert made.tally.sources == len(records) - len(rejected)


def test_what_is_wrong_with_triples_is_told_by_file_and_line_or_counted(tmp_path: Path):
    for name, rows in (("a", ["pec", "p e"]), ("b", ["pec", "pe", "qfd"])):
        keys = ("anchor", "positive", "negative")
        records = [dict(zip(keys, texts.strip(), strict=False)) for texts in rows]
        records += [dict(zip(keys, ("p", "e", " "), strict=True))] if name == "b" else []
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in records))
    paths = tuple(str(tmp_path / name) for name in "ab")
    options = PairOptions(kind="triple", inputs=paths, from_="jsonl")
    tally, policy = Tally(), Policy(on_error="skip")
    of_input: dict[str, Tally] = {}
    chunks = [*input_chunks(options, policy, tally, prompt=False)]
    told = [
        bad.where for c in chunks for bad in mine_chunk(c, options=options, lines=True).rejected
    ]
    assert told == [(paths[1], 2)]
    whose = iter([of_input.setdefault(chunk.name, Tally()) for chunk in chunks])
    of_chunk = partial(next, whose)
    found = mine(chunks, options, lines=True, policy=policy, tally=tally, of_input=of_chunk)
    assert sum(piece.rows for piece in found) == 3
    assert tally.dropped == {"empty": 2} and policy.skipped == 1
    assert {name: own.kept for name, own in of_input.items()} == {paths[0]: 1, paths[1]: 2}


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        *((kind, "1 pair from 1 dialogue") for kind in ("consecutive", "random-split")),
        *((kind, "1 pair from 1 record") for kind in ("self", "entailment", "nli", "triple")),
        ("dialogue", "1 dialogue"),
        ("utterance", "1 utterance from 1 record"),
    ],
)
def test_the_closing_line_calls_things_by_their_kind(kind: str, says: str):
    tally = Tally()
    tally.keep(1)
    tally.sources = 1
    assert closing_line(PairOptions(kind=kind), tally) == says


def test_the_closing_line_does_not_say_that_all_dialogues_read_were_needed_for_n_pairs():
    tally = Tally()
    tally.keep(2)
    tally.sources = 60
    assert closing_line(PairOptions(limit=2), tally) == "2 pairs, as -n asks; read 60 dialogues"
    assert closing_line(PairOptions(limit=3), tally) == "2 pairs from 60 dialogues"


def test_the_first_name_that_a_record_has_is_read_and_what_is_missing_is_named():
    first = {"premise": "a", "hypothesis": "b", "label": "entailment", "id": "d"}
    second = {"text1": "c", "text2": "d", "sentence1": "e", "sentence2": "f", "gold_label": "no"}
    (row,) = mined([second | first], kind="entailment")
    assert (row["context"], row["response"], row["dialogue_id"]) == (["a"], "b", "d")
    batch = pa.RecordBatch.from_pylist([second | {"label": "entailment", "id": "x"}])
    options = PairOptions(kind="entailment")
    (row,) = rows_of(pieces(Chunk("x", 1, "arrow", batch), kind="entailment"))
    assert (row["context"], row["response"], row["dialogue_id"]) == (["c"], "d", "x")
    for record, says in (
        ({}, 'no "premise"'),
        ({"premise": "p", "text2": "h"}, 'no "label"'),
        ({"premise": "p", "text2": 3, "label": "entailment"}, "text2: expected"),
    ):
        (bad,) = mine_chunk(Chunk("x", 7, "rows", [record]), options=options, lines=True).rejected
        assert bad.where == ("x", 7) and says in bad.message


def test_lines_cross_to_the_parent_as_they_are():
    lines = Lines(b'{"a":1}\n{"a":2}\n{"a":3}\n', 3)
    assert pickle.loads(pickle.dumps(lines, protocol=5)) == lines
    assert lines.take(np.array([2, 0])) == Lines(b'{"a":3}\n{"a":1}\n', 2)


def test_each_part_goes_to_its_file_and_a_dry_run_to_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def made(dry_run: bool, overwrite: bool = False) -> str:
        output = str(tmp_path / "{split}.jsonl")
        options = PairOptions(
            split=("a=0.5", "b=0.5"), output=output, dry_run=dry_run, overwrite=overwrite
        )
        with Outputs(options, "jsonl", {}) as outputs:
            outputs.write(Piece("b", b'{"x":1}\n{"x":2}\n', 2))
            outputs.write(Piece("b", b'{"x":3}\n', 1))
        return outputs.plan()

    plan = f"{tmp_path}/a.jsonl: 0, {tmp_path}/b.jsonl: 3 as jsonl"
    assert made(dry_run=True) == plan and not list(tmp_path.iterdir())
    assert made(dry_run=False) == plan
    assert (tmp_path / "b.jsonl").read_bytes() == b'{"x":1}\n{"x":2}\n{"x":3}\n'
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    for dry_run in (True, False):
        with pytest.raises(OutputError, match="exists already"):
            made(dry_run=dry_run)
        assert made(dry_run=dry_run, overwrite=True) == plan
    parts = sorted(tmp_path.iterdir())
    seen, replace = list[int](), Path.replace

    def watched(path: Path, target: Path) -> Path:
        if target in parts:  # before, old parts go aside
            seen.append(sum(part.exists() for part in parts))
        return replace(path, target)

    with monkeypatch.context() as watching:
        watching.setattr(Path, "replace", watched)
        made(dry_run=False, overwrite=True)
    assert seen == [0, 1], "no part of this split stands beside one of another"
    with Outputs(PairOptions(dry_run=True), "arrow", {}) as outputs:
        outputs.write(Piece("", b"", 1234))
    assert outputs.plan() == "stdout: 1,234 as arrow"


def test_batches_leave_out_the_dialogues_that_no_pair_comes_from():
    talks = [as_dialogue([f"t{i}", f"u{i}", f"v{i}"], str(i)) for i in range(12)]
    options = {"sample": 0.2, "window": (1, 2), "follow": 1}
    (piece,) = pieces(talks, lines=False, **options)
    told = piece.payload.to_pylist()
    assert told == [row | {"kind": "consecutive"} for row in mined(talks, **options)]
    ids = {row["dialogue_id"] for row in told}
    assert 0 < len(ids) < 12
    texts = piece.payload["context"].values
    assert {t[1:] for t in texts.to_pylist()} == ids, "texts of other dialogues do not travel along"


def test_dialogues_whose_pairs_take_more_than_the_bound_are_rejected(
    monkeypatch: pytest.MonkeyPatch,
):
    turns = [{"text": "aa", "speaker": "u"}, {"text": "bbb"}, {"text": "c", "speaker": "sys"}]
    sizes = [2 + 1 + 4, 3 + 4, 1 + 3 + 4]  # text, speaker, punctuation
    told = {0: sum(sizes[:2]) + sum(sizes), 1: sum(sizes) + sum(sizes)}  # by --follow
    talks = [{"turns": ["d", "e"]}, {"turns": turns}]
    for follow, size in told.items():
        for bound, kept in ((size, 3), (size - 1, 1)):
            monkeypatch.setitem(bounds._chosen, "pairs", bound)
            policy, options = Policy(on_error="skip"), PairOptions(window=(0,), follow=follow)
            made = mine(
                [Chunk("x", 1, "rows", talks)], options, lines=True, policy=policy, tally=Tally()
            )
            assert sum(piece.rows for piece in made) == kept
            assert policy.skipped == (kept < 3)
    (rejected,) = mine_chunk(Chunk("x", 1, "rows", talks), options=options, lines=True).rejected
    assert rejected.where == ("x", 2) and rejected.raw == b'{"turns":["aa","bbb","c"]}'
    # a few turns of context are no more than the input, a few times
    long = [{"turns": [str(i) for i in range(40)]}]
    monkeypatch.setitem(bounds._chosen, "pairs", 1)
    assert len(mined(long, window=(16,), follow=16)) == 24
    for options in ({"window": (17,)}, {"follow": 17}, {"window": (0,)}):
        with pytest.raises(DataError, match="pairs of 40 turns"):
            mined(long, **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"split": ("a=1",)}, "one file a part"),
        ({"output": "{split}.jsonl"}, "nothing is split"),
        ({"merge_speaker": True, "reader": "tod-bert"}, "leave out --merge-speaker"),
        ({"engine": "ray", "inputs": ("a",)}, "the parts go into a folder"),
        ({"engine": "ray", "inputs": ("a",), "output": "o", "jobs": 2}, "not --jobs"),
        (
            {"engine": "ray", "inputs": ("a",), "output": "o", "kind": "utterance"},
            "--kind utterance: a table",
        ),
        (
            {"engine": "ray", "inputs": ("a",), "output": "o", "to": "arrow"},
            "the parts are Parquet",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict, says: str):
    with pytest.raises(ConfigError, match=says):
        PairOptions(**options)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--kind dialogue --window 2", "--window goes with --kind consecutive"),
        ("--kind utterance --distinct", "--distinct has no meaning beside --kind dialogue or"),
        ("--kind self --follow 1", "--follow goes with --kind consecutive"),
        ("--kind entailment --speaker u", "--speaker goes with --kind consecutive or self or"),
        ("--kind entailment --min-turns 1", "--min-turns has no meaning beside --kind"),
        ("--kind entailment --merge-speaker", "--merge-speaker has no meaning beside --kind"),
        ("--kind entailment --reader tod-bert", "--reader has no meaning beside --kind"),
        ("--kind same-answer --summary", "--summary has no meaning beside --kind"),
        ("--kind same-answer --inner", "--inner goes with --kind consecutive"),
        ("--kind same-label --per-answer 2", "--per-answer goes with --kind same-answer"),
        ("--kind same-label --text-column t", "--text-column has no meaning beside --kind"),
        ("--kind nli --session-gap 6h", "--session-gap has no meaning beside --kind"),
        ("--kind texts --unsorted", "--unsorted has no meaning beside --kind"),
    ],
)
def test_what_has_no_meaning_for_a_kind_is_refused_as_a_flag_and_else_not_given(
    flags: str, says: str
):
    words = flags.replace("--", "").split()
    given = {"kind": words[1], words[2]: [*words[3:], True][0]}
    with pytest.raises(ConfigError, match=says):
        resolve(PairOptions, [Layer("flag", given)])
    of_many = [Layer("flag", {"kind": words[1]}), Layer("pairs.toml", {words[2]: given[words[2]]})]
    options, origins = resolve(PairOptions, of_many)
    assert options == PairOptions(kind=words[1]) and origins[words[2]] == "default"


def test_options_that_only_look_alike_are_taken():
    for options in (
        {"kind": "dialogue", "min_turns": 2, "sample": 0.5},
        {"kind": "self", "speaker": "u", "min_turns": 1, "merge_speaker": True},
        {"kind": "entailment", "min_words": 1, "distinct": True, "lower": True},
        {"reader": "tod-bert", "min_turns": 1},
    ):
        assert PairOptions(**options).shares == {}
    on_ray = {"engine": "ray", "inputs": ("a",), "output": "folder"}
    assert PairOptions(**on_ray).on_ray and PairOptions(**on_ray, workers=2, parts=3).jobs == 1
    split = PairOptions(split=("a=0.5", "b=0.25"), output="{split}.jsonl")
    assert split.shares == {"a": 0.5, "b": 0.25}
