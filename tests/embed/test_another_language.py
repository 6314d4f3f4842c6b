"""A model of one language, texts of another: what is not known is told, not embedded silently."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from dialtools.encoder.tokens import strange, strange_line

Run = Callable[..., subprocess.CompletedProcess]

CHINESE = ["能帮我取消下订单吗", "那大概什么时候可以到", "我想知道什么时候能送", "好的谢谢"]


def test_a_text_is_strange_of_which_a_fifth_of_the_tokens_are_unknown():
    known = {"[UNK]": 0, "a": 1}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    ids = np.array([1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, ~0, ~1], np.int32)
    flat = ids, np.array([0, 5, 11, 11, 13])  # ~ is of a turn before the newest
    as_transformers = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")
    for each in (tokenizer, as_transformers):
        assert strange(each, flat).tolist() == [True, False, False, True]
    whole = Tokenizer(models.BPE())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel()
    assert not strange(whole, flat).any()


def test_strange_texts_are_told_if_they_are_a_fifth_of_all():
    assert strange_line("m", 199, 1000) == "" == strange_line("m", 0, 0)
    assert strange_line("m", 200, 1000) == (
        "200 of 1,000 texts have many words that m does not know: is it of another language?"
    )


def test_embedding_and_training_tell_of_texts_in_another_language(
    call: Run, model: Path, tmp_path: Path
):
    texts, pairs = tmp_path / "zh.txt", tmp_path / "pairs.jsonl"
    texts.write_text("\n".join(CHINESE), encoding="utf-8")
    pairs.write_text(
        "".join(f'{{"context": ["{text}"], "response": "{text}吗"}}\n' for text in CHINESE),
        encoding="utf-8",
    )
    told = "of 4 texts have many words that"
    embedding = ("dial-embed", "--model", model, "-o", tmp_path / "v.parquet")
    assert f"4 {told} {model} does not know" in call(*embedding, texts).stderr.decode()
    known = tmp_path / "en.txt"
    known.write_text("i want to book a table\nfor what time?\n")
    assert "does not know" not in call(*embedding, known, "--overwrite").stderr.decode()
    training = ("dial-train", "--model", model, "--max-steps", 1, "-o", tmp_path / "m", pairs)
    assert "does not know: is it of another" in call(*training).stderr.decode()
