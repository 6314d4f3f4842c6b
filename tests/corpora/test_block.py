"""Blocks of JSON lines that Arrow reads: the turns of the careful reader, or none at all."""

from __future__ import annotations

import random
import sys

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.corpora.block import BLANKS, read_block
from dialtools.corpora.dialogues import Dialogue
from dialtools.corpora.flat import FlatTurns
from dialtools.corpora.options import LogOptions
from dialtools.corpora.read import dialogues
from dialtools.streams import json_columns, nesting
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Collecting
from dialtools.streams.tally import Tally

PLAIN = [
    {"id": "a", "turns": [{"speaker": "user", "text": "hello"}, {"speaker": "y", "text": ""}]},
    {"id": "b", "turns": [{"speaker": "x", "text": ' \x1f\u3000"né\\"\n\x00 '}], "more": [1.5]},
    {"id": "c", "turns": [], "domain": None, "deep": {"a": [[{}]]}},
]
ODD = [
    *(b'{"id":5,"turns":[]}', b'{"id":null,"turns":[]}', b'{"dialogue_id":"d","turns":[]}'),
    *(b'{"turns":[{"text":"a"}]}', b'{"turns":["a","b"]}', b'{"turns":[{"role":"r","text":"a"}]}'),
    *(b'{"id":"a","turns":[{"speaker":null,"text":"a"}]}', b'{"id":"a","turns":null}', b"5", b""),
    *(b'{"id":"a","turns":[null]}', b'{"id":"a","turns":{}}', b'{"id":"a","messages":[]}', b"{}"),
    *(
        b'{"id":"a","id":"b","turns":[]}',
        b'{"id":"a","turns":[],"x":{"a":1,"a":2}}',
        b" {}",
        b"{} ",
    ),
    *(b'{"id":"a","turns":[]}{"id":"b","turns":[]}', b'{"id":"a","turns":[],"x":{"y":1}', b"}"),
    *(b'{"i\\u0064":"a","dialogue_id":"b","turns":[]}', b'{"id":"\\ud800","turns":[]}', b"[{}]"),
    *(
        b'{"id":"a","turns":[],"x":' + value + b"}"
        for value in (b"NaN", b"-Infinity", b"Inf ", b"01")
    ),
    *(
        b'{"id":"a","turns":[],"x":' + value + b"}"
        for value in (b"1e999", b"9" * 400, b"1.", b"\xff")
    ),
    *(b'{"id":"a","turns":[],"x":' + b"[" * n + b"]" * n + b"}" for n in (200, 300, 1200)),
    *(b'{"id":"a","turns":[],"x":[' + b"[]," * 300 + b"[]]}", b'{"id":"a","turns":[]}\r'),
    b'{"id":"a","turns":[],"x":\n{}}\n{"id":"b","turns":[]}{"id":"c","turns":[]}',
]
BYTES = [
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\0",
    b"\xff",
    b" ",
    b"NaN",
    b"9",
    b"-",
]


def same(data: bytes) -> bool:
    """Check that a block is read as the careful reader reads it; tell whether it is read at all."""
    chunk = Chunk("x", 7, "jsonl", data)
    found = read_block(chunk)
    if found is None:
        return False
    found = found.spoken()
    policy, tally = Collecting(), Tally()
    careful = FlatTurns.of(dialogues(chunk, policy, LogOptions(), tally))
    assert not policy.rejected, data
    for name in ("texts", "speakers", "ids", "lines", "sizes"):
        ours, theirs = getattr(found, name).tolist(), getattr(careful, name).tolist()
        assert ours == theirs, (name, data)
    return True


def lines(*records: object) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_the_plain_dialect_is_read(end: bytes):
    assert same(lines(*PLAIN[:2]).rstrip() + end)
    nameless = [{"turns": [{"text": "a"}, {"text": "b"}], "acts": []}] * 2
    assert same(lines(*nameless)), "nobody is named"
    assert same(lines(*({**talk, "dialogue_id": "d"} for talk in nameless)))
    unsaid = {"id": "a", "turns": [{"speaker": "", "text": "b"}, {"speaker": "x", "text": "c"}]}
    assert same(lines(unsaid)), "an empty name is nobody's"
    assert same(lines({"turns": [{"speaker": "\u2003 ", "text": "b"}]})), "nor is one of blanks"
    role = {"id": "a", "turns": [{"speaker": "", "role": "user", "text": "b"}]}
    assert not same(lines(role)), "another field may say it"
    assert not same(lines({**unsaid, "id": " "}, unsaid)), "blanks are no name"


def test_the_blanks_taken_off_are_those_of_python():
    assert "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1)))) == BLANKS


@pytest.mark.parametrize("blank", BLANKS)
def test_each_blank_is_taken_off_alone(blank: str):
    """The first and last bytes of all texts tell whether there is any to take off."""
    for text in (f"a{blank}", f"{blank}a", blank):
        assert same(lines({"id": "a", "turns": [{"speaker": "x", "text": text}]}))


def test_a_block_may_be_asked_to_lack_a_field():
    data = lines({**PLAIN[0], "response": "x"})
    assert read_block(Chunk("x", 1, "jsonl", data))
    for spelt in (data, data.replace(b"response", b"r\\u0065sponse")):
        assert read_block(Chunk("x", 1, "jsonl", spelt), but="response") is None


def test_a_key_that_is_spelt_otherwise_is_the_same_key():
    role = b'{"turns":[{"r\\u006fle":"x","text":"a"}]}'
    assert read_block(Chunk("x", 1, "jsonl", lines({"turns": [{"text": "a"}]}) + role)) is None


def test_domains_are_facts_where_they_are_asked_for():
    talks = [(1, Dialogue("a", ["x"], [None])), (2, Dialogue("b", ["y"], ["u"], domain="hotel"))]
    assert FlatTurns.of(talks).facts == {}
    assert FlatTurns.of(talks, domain=True).facts["domain"].to_pylist() == [None, "hotel"]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[:40].decode(errors="replace"))
def test_what_is_odd_is_read_as_the_careful_reader_reads_it_or_not_at_all(odd: bytes):
    for before, after in ((b"", b""), (lines(PLAIN[0]), b""), (b"", b"\n" + lines(PLAIN[1]))):
        same(before + odd + after)


def test_rubbish_is_read_as_the_careful_reader_reads_it_or_not_at_all():
    chance = random.Random(0)
    read = 0
    for _ in range(3000):
        data = bytearray(lines(*chance.choices(PLAIN[:2], k=chance.randint(1, 3))))
        for _ in range(chance.randint(0, 2)):
            place, length = chance.randrange(len(data)), chance.choice([0, 0, 1, 4])
            piece = chance.choice([*BYTES, chance.choice(ODD), bytes(data[place : place + 9])])
            data[place : place + length] = piece
        read += same(bytes(data))
    assert 500 < read < 2900


@pytest.mark.parametrize(
    "first",
    [
        b'{"text":"an utterance"}',
        b'{"id":"a","messages":[]}',
        b'{"id":"a","turns":["a","b"]}',
        b'{"id":"a","turns":[{"role":"r","text":"a"}]}',
        b'{"id":"a","turns":[{"speaker":"s"}]}',
    ],
)
def test_other_dialects_are_told_by_their_first_record_not_by_reading_all(first, monkeypatch):
    def read(*_, **__):
        pytest.fail("the block was read")

    monkeypatch.setattr(json_columns.pj, "read_json", read)
    assert read_block(Chunk("x", 1, "jsonl", first + b'\n{"id":"b","turns":[]}\n')) is None


TEXTS = st.text(st.sampled_from('a"\\\\[]{}\u00e9'), max_size=6)
NESTED = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(NESTED, st.integers(1, 40), st.integers(1, 6))
def test_how_deep_a_line_nests_is_told_by_its_brackets(value, scanned: int, most: int):
    line = memoryview(orjson.dumps([value]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_columns, "SCANNED", scanned)
        patch.setattr(json_columns.bounds, "most", lambda _: most)
        assert json_columns._is_deep(line) == nesting.too_deep([value])
