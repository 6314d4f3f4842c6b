"""A tokenizer's normalizers are asked how much they make of a text before they make it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from dialtools.encoder import panic
from dialtools.encoder.growth import MOST, growth, refuse_growth
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.modeldir import save
from dialtools.encoder.static import fresh_static
from dialtools.errors import ModelError
from dialtools.merge.parents import Parent

LETTERS = "ab é漢"
words = st.text(LETTERS, max_size=4)
normalizers = st.one_of(
    st.builds(lambda text: {"type": "Prepend", "prepend": text}, words),
    st.builds(
        lambda old, new: {"type": "Replace", "pattern": {"String": old}, "content": new},
        st.text(LETTERS, min_size=1, max_size=3),
        words,
    ),
    st.builds(
        lambda old, new: {"type": "Replace", "pattern": {"Regex": old}, "content": new},
        st.sampled_from(["a", "a*", ".", " +", "b|a"]),
        words,
    ),
    st.sampled_from([{"type": "ByteLevel"}, {"type": "Lowercase"}, {"type": "NFKC"}]),
    st.just(
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        }
    ),
)


def in_sequence(parts: list[dict]) -> dict:
    return {"type": "Sequence", "normalizers": parts}


@given(parts=st.lists(normalizers, max_size=4), text=st.text(LETTERS, min_size=1, max_size=12))
def test_no_text_becomes_longer_than_is_said(parts: list[dict], text: str):
    chain = in_sequence([in_sequence(parts[:2]), *parts[2:]])
    empty = json.loads(Tokenizer(models.WordLevel({"a": 0}, "a")).to_str())
    made = Tokenizer.from_str(json.dumps(empty | {"normalizer": chain}))
    times, besides = growth(chain)
    try:
        with panic.as_error():
            normal = made.normalizer.normalize_str(text)
    except ValueError:  # what its library cannot do is no longer than was said
        return
    assert len(normal) <= times * len(text) + besides


def test_forty_doublings_are_refused_before_anything_reads_them(model: Path, tmp_path: Path):
    static = tmp_path / "static"
    static.mkdir()
    table = fresh_static(load_encoder(str(model)).tokenizer, dimension=8, seed=0)
    save(table, static, provenance={}, card="")
    twice = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    for folder in (model, static):
        copy = shutil.copytree(folder, tmp_path / "copies" / folder.name)
        path = copy / "tokenizer.json"
        held = json.loads(path.read_text())
        path.write_text(json.dumps(held | {"normalizer": in_sequence([twice] * 16)}))
        load_encoder(str(copy))
        path.write_text(json.dumps(held | {"normalizer": in_sequence([twice] * 40)}))
        told = re.escape(f"{path}: its normalizers make more than {MOST:,} characters of one")
        with pytest.raises(ModelError, match=told):
            load_encoder(str(copy))
        with pytest.raises(ModelError, match=told):
            _ = Parent.open(str(copy)).vocabulary


def test_what_is_no_normalizer_is_left_to_its_reader(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    refuse_growth(path)
    odd = {"normalizers": [1, {"type": "Replace", "pattern": 2}]}
    for content in ("{", "[]", "{}", '{"normalizer": 3}', json.dumps({"normalizer": odd})):
        path.write_text(content)
        refuse_growth(path)
