"""Lines of pairs that Arrow reads: the pairs and turns of the careful reader, or none at all."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import numpy as np
import orjson
import pytest

from dialtools.corpora import pair_columns as module
from dialtools.corpora.fields import PAIR
from dialtools.corpora.pair_columns import COLUMNS, pair_columns
from dialtools.freq import texts as freq_texts
from dialtools.freq.texts import Extractor
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Collecting
from dialtools.train.data import pairs_of_chunk
from dialtools.train.data.pairs_of_batch import LISTS, ChunkPairs, TurnLists
from dialtools.train.data.pairs_of_chunk import read_pairs

PLAIN: list[dict[str, Any]] = [
    {"context": ["hé", "b"], "response": "c", "window": 2, "kind": "consecutive", "turn": 2},
    {"context": ["a"], "response": "", "dialogue_id": "d", "turn": 1, "window": 1, "more": [{}]},
    {"context": ["a"], "response": "b", "speakers": ["user", None], "weight": 0.3, "domain": "x"},
    {"context": ["a"], "response": "b", "follow": ["c", "d"], "negatives": [], "similar": 0},
    {"context": ["a\n"], "response": "b", "speakers": ["user"], "weight": 1, "turn": 7},
]
ODD = [
    *(b'{"context":"a","response":"b"}', b'{"context":[],"response":"b"}', b"{}", b"", b"5"),
    *(b'{"context":["a",null],"response":"b"}', b'{"context":[{"text":"a"}],"response":"b"}'),
    *(b'{"context":null,"response":"b"}', b'{"context":["a"],"response":null}', b'{"text":"a"}'),
    *(b'{"context":["a"],"response":{"text":"b"}}', b'{"context":["a"],"response":5}'),
    *(
        b'{"context":["a"],"response":"b",' + rest + b"}"
        for rest in (
            *(b'"turn":1.0', b'"turn":1.5', b'"turn":-1', b'"turn":true', b'"turn":4294967296'),
            *(b'"turn":99999999999999999999', b'"turn":"1"', b'"turn":null', b'"window":"2"'),
            *(
                b'"weight":-1',
                b'"weight":1e31',
                b'"weight":1e999',
                b'"weight":NaN',
                b'"weight":"1"',
            ),
            *(b'"weight":0.12345678901234567890123', b'"weight":true', b'"weight":null'),
            *(b'"similar":true', b'"similar":2', b'"similar":1.0', b'"similar":null'),
            *(b'"kind":5', b'"kind":" "', b'"kind":""', b'"kind":["a"]', b'"domain":5'),
            *(b'"dialogue_id":5', b'"dialogue_id":" "', b'"dialogue_id":null,"window":1,"turn":1'),
            *(b'"speakers":"user"', b'"speakers":null', b'"speakers":[5]', b'"template":"t"'),
            *(b'"follow":null', b'"follow":[null]', b'"follow":["a",5]', b'"negatives":["n"]'),
            *(b'"response":"c"', b'"turns":[]', b'"history":["h"]', b'"text":"t"'),
        )
    ),
]
BYTES = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\0", b"\xff", b" ", b"9", b"-"]


def lines(*records: object) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def resolved(pairs: ChunkPairs) -> dict[str, list[Any]]:
    """Return what each pair says, its places as texts."""
    told: dict[str, list[Any]] = {}
    for name in (each.name for each in fields(pairs) if each.name != "texts"):
        value = getattr(pairs, name)
        if isinstance(value, TurnLists):
            told[f"{name} sizes"] = value.sizes.tolist()
            value = value.places
        if name in (*LISTS, "response", "template"):
            told[name] = [pairs.texts[at] if at >= 0 else None for at in value.tolist()]
        else:
            told[name] = np.asarray(value).astype(str).tolist()
    return told


def read(data: bytes) -> tuple[dict[str, list[Any]], list[Any], bool]:
    policy = Collecting()
    pairs = resolved(read_pairs(Chunk("x", 7, "jsonl", data), policy))
    return pairs, [bad.where for bad in policy.rejected], bool(policy.rejected)


def counted(data: bytes) -> tuple[list[Any], list[Any]]:
    """Return what dial-freq takes of a chunk: of each text its turn, and what was rejected."""
    policy = Collecting()
    taken = Extractor(None, policy)(Chunk("x", 7, "jsonl", data), 0)
    columns = [taken.texts, taken.dialogue, taken.turn, taken.window]
    return [None if c is None else c.to_pylist() for c in columns], [
        bad.where for bad in policy.rejected
    ]


@pytest.fixture
def same(monkeypatch):
    """A check that both ways of reading a block are alike; it tells whether Arrow has read it."""

    def check(data: bytes) -> bool:
        found, turns = read(data), counted(data)
        with monkeypatch.context() as careful:
            for reader in (pairs_of_chunk, freq_texts):
                careful.setattr(reader, "pair_columns", lambda chunk: None)
            assert read(data) == found, data
            assert counted(data) == turns, data
        return pair_columns(Chunk("x", 7, "jsonl", data)) is not None

    return check


def test_all_fields_of_a_pair_are_read():
    assert set(PAIR) | {"window", "domain"} == set(COLUMNS)


@pytest.mark.parametrize("pair", PLAIN, ids=orjson.dumps)
def test_pairs_as_dial_pairs_writes_them_are_read(same, pair):
    assert same(lines(pair, pair))
    assert same(lines(*PLAIN, pair)), "beside others"


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[:60].decode())
def test_what_is_odd_is_read_as_the_careful_reader_reads_it_or_not_at_all(same, odd):
    for before, after in ((b"", b""), (lines(PLAIN[0]), b""), (b"", b"\n" + lines(PLAIN[1]))):
        same(before + odd + after)


def test_rubbish_is_read_as_the_careful_reader_reads_it_or_not_at_all(same):
    chance = random.Random(0)
    seen = 0
    for _ in range(2000):
        data = bytearray(lines(*chance.choices(PLAIN, k=chance.randint(1, 3))))
        for _ in range(chance.randint(0, 2)):
            place, length = chance.randrange(len(data)), chance.choice([0, 0, 1, 4])
            piece = chance.choice([*BYTES, chance.choice(ODD), bytes(data[place : place + 9])])
            data[place : place + length] = piece
        seen += same(bytes(data))
    assert 500 < seen < 1900


def test_other_records_are_told_by_the_first_without_reading_all(monkeypatch):
    monkeypatch.setattr(module, "columns_of_lines", columns := _noting(module.columns_of_lines))
    for first in (b'{"text":"a"}', b'{"turns":[]}', b'{"context":"a","response":"b"}'):
        assert pair_columns(Chunk("x", 1, "jsonl", first + b"\n" + lines(PLAIN[0]))) is None
    assert columns.refused == 3


def _noting(function):
    def call(chunk, schema, *, begins):
        def noted(record):
            call.refused += not begins(record)
            return begins(record)

        return function(chunk, schema, begins=noted)

    call.refused = 0
    return call
