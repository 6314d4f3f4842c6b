"""The encoder room: batches, special tokens, pooling, fresh encoders, model directories."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dialtools.encoder.batches import token_batches
from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.modeldir import save
from dialtools.encoder.tokens import SpecialTokens, assemble, tokenise
from dialtools.errors import ModelError

TEXTS = [
    "a table for two please",
    "thank you!",
    "订一张桌子",
    "שלום עולם",
    "🙂 ok",
    "i need a train to leeds",
]


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 200))
def test_batches_hold_each_row_once_within_the_budget(lengths, budget):
    lengths = np.array(lengths, np.int64)
    groups = token_batches(lengths, max_tokens=budget)
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(lengths)))
    assert all(len(g) == 1 or len(g) * lengths[g].max() <= budget for g in groups)


def test_pooling_ignores_padding_on_either_side():
    hidden = torch.tensor([[[1.0], [3.0], [100.0]], [[100.0], [2.0], [6.0]]])
    mask = torch.tensor([[1, 1, 0], [0, 1, 1]])
    pooled = {
        name: entry.load()(hidden, mask).flatten().tolist() for name, entry in POOLINGS.items()
    }
    assert pooled == {"mean": [2, 4], "cls": [1, 2], "max": [3, 6], "last": [3, 6]}


def test_turns_are_joined_and_cut_as_told():
    special = SpecialTokens(
        np.array([1], np.int32), np.array([2], np.int32), np.array([9], np.int32), 0
    )
    turns = [np.array([11, 12], np.int32), np.array([21, 22], np.int32)]
    assert assemble(turns, special, max_length=10)[0].tolist() == [1, 11, 12, 9, 21, 22, 2]
    assert assemble(turns, special, max_length=5)[0].tolist() == [1, 9, 21, 22, 2]
    assert assemble(turns, special, max_length=5, newest=False)[0].tolist() == [1, 11, 12, 9, 2]
    assert assemble(turns, special, max_length=10, roles=[7, 8])[0].tolist() == [
        1,
        7,
        11,
        12,
        8,
        21,
        22,
        2,
    ]


@pytest.fixture(scope="module")
def small() -> Encoder:
    return fresh_encoder(train_tokenizer(TEXTS * 5, vocab_size=400), hidden=64, layers=1)


def vectors(encoder: Encoder, texts: list[str]) -> np.ndarray:
    ids, ends = tokenise(encoder.tokenizer, texts)
    rows = [
        assemble([ids[a:b]], encoder.special, max_length=64)[0] for a, b in itertools.pairwise(ends)
    ]
    return encode(encoder, rows, batch_tokens=32)


def test_token_ids_are_those_of_the_tokenizer_itself(small):
    ids, ends = tokenise(small.tokenizer, TEXTS)
    for i, text in enumerate(TEXTS):
        assert [
            *small.special.prefix,
            *ids[ends[i] : ends[i + 1]],
            *small.special.suffix,
        ] == small.tokenizer(text)["input_ids"]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_the_saved_directory_gives_the_same_vectors_in_three_libraries(small, tmp_path, pooling):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    small.pooling = pooling
    directory = tmp_path / "m"
    directory.mkdir()
    save(small, directory, provenance={"options": {}}, card="# card\n")
    ours = vectors(small, TEXTS)
    np.testing.assert_allclose(vectors(Encoder.load(str(directory)), TEXTS), ours, atol=1e-6)
    np.testing.assert_allclose(
        SentenceTransformer(str(directory), device="cpu").encode(TEXTS), ours, atol=2e-6
    )
    tokens = AutoTokenizer.from_pretrained(directory)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(directory)(
            tokens["input_ids"], attention_mask=tokens["attention_mask"]
        ).last_hidden_state
    np.testing.assert_allclose(
        POOLINGS[pooling].load()(hidden, tokens["attention_mask"]).numpy(), ours, atol=2e-6
    )
    small.pooling = "mean"


def test_a_directory_that_is_no_model_is_told_in_one_line(tmp_path):
    with pytest.raises(ModelError, match="not a model that transformers can load"):
        Encoder.load(str(tmp_path))
    with pytest.raises(ModelError, match="no model 'not/there' on this machine"):
        Encoder.load("not/there")


@pytest.mark.parametrize("family", ["roberta", "distilbert", "t5", "gpt2"])
def test_any_family_of_backbone_encodes_and_pads_on_its_side(small, family):
    import transformers as t

    n = len(small.tokenizer)
    one_layer = {"vocab_size": n, "hidden_size": 32, "num_hidden_layers": 1}
    one_layer |= {"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 66}
    distil = {"vocab_size": n, "dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 32}
    t5 = {"vocab_size": n, "d_model": 32, "num_layers": 1, "num_heads": 2, "d_kv": 16, "d_ff": 32}
    gpt2 = {"vocab_size": n, "n_embd": 32, "n_layer": 1, "n_head": 2}
    backbone = {
        "roberta": lambda: t.RobertaModel(t.RobertaConfig(**one_layer)),
        "distilbert": lambda: t.DistilBertModel(t.DistilBertConfig(**distil)),
        "t5": lambda: t.T5EncoderModel(t.T5Config(**t5)),
        "gpt2": lambda: t.GPT2Model(t.GPT2Config(**gpt2)),
    }[family]()
    encoder = Encoder(
        backbone, small.tokenizer, pooling="last" if family == "gpt2" else "mean", max_length=32
    )
    together, alone = (
        vectors(encoder, TEXTS),
        np.concatenate([vectors(encoder, [t]) for t in TEXTS]),
    )
    assert together.shape == (len(TEXTS), 32)
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_the_stated_length_never_exceeds_what_the_backbone_can(minilm):
    assert Encoder.load(minilm, max_length=9999).max_length == 512
    assert SimpleNamespace(**vars(Encoder.load(minilm))).max_length == 256
