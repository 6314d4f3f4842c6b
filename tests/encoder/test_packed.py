"""Without padding: the same vectors and gradients, of every backbone whose layers allow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

from dialtools.encoder import packed_attention
from dialtools.encoder.batches import pad
from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.packed import NAME, SHORT, pack
from dialtools.encoder.packed_attention import Ask, Layout, flash, side_by_side
from dialtools.encoder.placed import placed
from dialtools.errors import ModelError

WORDS = 300
BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
BERT |= {"vocab_size": WORDS, "intermediate_size": 48, "max_position_embeddings": 300}
BERT |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
DECODER = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "pad_token_id": 0}
DECODER |= {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48}
MODERN = BERT | {"local_attention": 8, "global_attn_every_n_layers": 2, "pad_token_id": 0}
MODERN |= dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
PACKS: dict[str, Callable[[], Any]] = {
    "bert": lambda: t.BertModel(t.BertConfig(**BERT)),
    "short": lambda: t.BertModel(t.BertConfig(**BERT | {"max_position_embeddings": 100})),
    "roberta": lambda: t.RobertaModel(t.RobertaConfig(**BERT | {"max_position_embeddings": 302})),
    "electra": lambda: t.ElectraModel(t.ElectraConfig(**BERT, embedding_size=16)),
    "modernbert": lambda: t.ModernBertModel(t.ModernBertConfig(**MODERN)),
    "llama": lambda: t.LlamaModel(t.LlamaConfig(**DECODER)),
    "qwen2": lambda: t.Qwen2Model(t.Qwen2Config(**DECODER)),
}
DOES_NOT: dict[str, Callable[[], Any]] = {
    "mpnet": lambda: t.MPNetModel(t.MPNetConfig(**BERT | {"max_position_embeddings": 302})),
    "t5": lambda: t.T5EncoderModel(
        t.T5Config(vocab_size=WORDS, d_model=32, num_layers=2, num_heads=2, d_kv=16, d_ff=32)
    ),
}


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(["a table for two", "is it warm in oslo"] * 5, vocab_size=WORDS)


@pytest.fixture
def build(tokenizer):
    def encoder(family: str, pooling: str = "mean") -> Encoder:
        torch.manual_seed(1)
        backbone = (PACKS | DOES_NOT)[family]()
        return Encoder(backbone, tokenizer, pooling=pooling, max_length=256).eval()

    return encoder


def sequences(*sizes: int) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.integers(5, WORDS, size) for size in sizes]


def gradients(encoder: Encoder) -> torch.Tensor:
    """Return those of a step over texts of several lengths, as one vector."""
    weights = torch.linspace(-1, 1, encoder.dimension, device=encoder.device)
    encoder.zero_grad()
    (encoder(*pad(sequences(3, 40, 1, 12), encoder.special)) @ weights).square().sum().backward()
    found = (p.grad for p in encoder.parameters() if p.grad is not None)
    return torch.cat([gradient.flatten() for gradient in found])


@pytest.mark.parametrize("family", PACKS)
def test_vectors_and_gradients_are_those_of_padded_texts(build, family):
    encoder = build(family)
    texts = sequences(5, 2, 90, 31, 31, 1)
    expected_ND, expected = encode(encoder, texts, batch_tokens=400), gradients(encoder)
    assert pack(encoder, "float32")
    assert encoder.backbone.config._attn_implementation == NAME
    np.testing.assert_allclose(encode(encoder, texts, batch_tokens=400), expected_ND, atol=1e-5)
    torch.testing.assert_close(gradients(encoder), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", PACKS)
def test_it_goes_with_autocast_too(build, family):
    assert pack(build(family), "bfloat16")


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last", "cls-pooler", "last2-avg"])
def test_every_pooling_takes_the_tokens_of_its_text(build, pooling):
    encoder = build("bert", pooling)
    texts = sequences(5, 2, 90, 31)
    expected_ND = encode(encoder, texts, batch_tokens=400)
    assert pack(encoder, "float32")
    np.testing.assert_allclose(encode(encoder, texts, batch_tokens=400), expected_ND, atol=1e-5)


@pytest.mark.parametrize("family", DOES_NOT)
def test_layers_with_biases_of_their_own_go_on_with_padding(build, family):
    encoder = build(family)
    texts = sequences(5, 2, 90, 31)
    expected_ND = encode(encoder, texts, batch_tokens=400)
    usual = encoder.backbone.config._attn_implementation
    assert not pack(encoder, "float32") and not encoder.is_packed
    assert encoder.backbone.config._attn_implementation == usual
    np.testing.assert_array_equal(encode(encoder, texts, batch_tokens=400), expected_ND)


def test_attention_that_reaches_into_the_next_text_is_found_out(build, monkeypatch):
    def leaking(query, key, value, ask):
        whole = replace(ask.layout, ends=ask.layout.ends[[0, -1]])
        return side_by_side(query, key, value, ask._replace(layout=whole))

    monkeypatch.setattr(packed_attention, "side_by_side", leaking)
    assert not pack(build("bert"), "float32")


def test_a_kernel_that_knows_no_dropout_is_found_out_by_what_learns(build, monkeypatch):
    def without_dropout(query, key, value, ask):
        if ask.dropout:
            raise NotImplementedError
        return side_by_side(query, key, value, ask)

    monkeypatch.setattr(packed_attention, "side_by_side", without_dropout)
    encoder = build("bert")
    for layer in encoder.backbone.encoder.layer:
        layer.attention.self.dropout.p = 0.1
    assert not pack(encoder.train(), "float32")
    assert encoder.training
    assert pack(encoder.eval(), "float32")


@pytest.mark.parametrize("heads", [4, 2])
def test_a_gpu_s_kernel_is_asked_for_what_this_torch_offers(heads):
    mask_NT = torch.arange(40) < torch.tensor([40, 33, 2])[:, None]
    ask = Ask(Layout.of(mask_NT.long()).to(torch.device("meta")), (-1, 0), None, 0.1)
    shapes = [(75, 4, 8), (75, heads, 8), (75, heads, 8)]
    tokens = [
        torch.empty(shape, dtype=torch.bfloat16, device="meta", requires_grad=True)
        for shape in shapes
    ]
    found = flash(*tokens, ask)
    assert found.shape == (75, 4, 8) and found.requires_grad


def test_the_tokens_of_padding_are_computed_by_nobody(build):
    encoder, seen = build("bert"), []
    assert pack(encoder, "float32")
    encoder.backbone.encoder.layer[0].register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0].shape)
    )
    encode(encoder, sequences(3, 50, 20), batch_tokens=1000)
    assert seen == [(1, 73, 32)]


def attended_one_by_one(tokens: list[torch.Tensor], ask: Ask) -> torch.Tensor:
    """Return attention by its definition, a text and a token at a time."""
    queries, keys, values = (x.double() for x in tokens)
    rows = torch.zeros_like(queries)
    for start, end in ask.layout.ends.unfold(0, 2, 1).tolist():
        for token in range(start, end):
            left, right = (end if reach < 0 else reach for reach in ask.window)
            seen = slice(max(start, token - left), min(end, token + right + 1))
            scores_HS = torch.einsum("hd,shd->hs", queries[token], keys[seen]) / 8**0.5
            rows[token] = torch.einsum("hs,shd->hd", scores_HS.softmax(1), values[seen])
    return rows


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (2, 2), (3, 0)])
@pytest.mark.parametrize(
    "sizes", [(9, 9, 9), (9, 8, 8, 7, 2, 1), (1, 50, 0, 49, 3, 3), (0, 0), (40, 33, 32, 31, 25)]
)
def test_texts_side_by_side_attend_each_to_itself(sizes, window):
    torch.manual_seed(0)
    mask_NT = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    ask = Ask(Layout.of(mask_NT.long()), window, None, 0.0)
    tokens = [torch.randn(sum(sizes), 2, 8, requires_grad=True) for _ in range(3)]
    found, expected = side_by_side(*tokens, ask), attended_one_by_one(tokens, ask)
    torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=1e-5)
    if sum(sizes):
        got, wanted = (torch.autograd.grad(x.square().sum(), tokens) for x in (found, expected))
        torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-4)


def test_texts_of_like_length_stand_side_by_side():
    sizes = [40, 33, 32, 31, 5, 5, 0, 4]
    mask_NT = torch.arange(40) < torch.tensor(sizes)[:, None]
    runs = Layout.of(mask_NT.long()).runs
    assert [run.sizes.tolist() for run in runs] == [[40, 33, 32], [31], [5, 5], [4]]
    assert [(run.begin, run.end) for run in runs] == [(0, 105), (105, 136), (136, 146), (146, 150)]
    assert [run.place is None for run in runs] == [False, True, True, True]


def test_a_layout_is_undone():
    ids_NT, mask_NT = torch.tensor([[7, 8, 0], [9, 0, 0]]), torch.tensor([[1, 1, 0], [1, 0, 0]])
    layout = Layout.of(mask_NT)
    assert layout.position.tolist() == [0, 1, 0] and layout.ends.tolist() == [0, 2, 3]
    states = ids_NT.flatten()[layout.place][None, :, None].float()
    assert layout.padded(states)[..., 0].tolist() == ids_NT.tolist()


def test_what_is_saved_does_not_know_of_it(build, tmp_path):
    encoder = build("bert")
    assert pack(encoder, "float32")
    encoder.backbone.save_pretrained(tmp_path)
    assert NAME not in (tmp_path / "config.json").read_text()


def test_minilm_without_padding(minilm):
    encoder = load_encoder(minilm).eval()
    texts = [row % encoder.backbone.config.vocab_size for row in sequences(4, 17, 60, 8)]
    expected_ND = encode(encoder, texts, batch_tokens=400)
    assert pack(encoder, "float32")
    np.testing.assert_allclose(encode(encoder, texts, batch_tokens=400), expected_ND, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("family", PACKS)
@pytest.mark.parametrize("sizes", [(5, 2, 90, 31, 31, 1), (18, 30, 9, 4, 2, 1), SHORT])
def test_a_gpu_s_kernels_give_the_vectors_and_gradients_of_padded_texts(build, family, sizes):
    encoder = build(family).cuda()
    texts = sequences(*sizes)
    expected_ND = encode(encoder, texts, batch_tokens=400)
    with torch.autocast("cuda", torch.bfloat16):
        expected = gradients(encoder)
    assert pack(encoder, "bfloat16")
    found_ND = encode(encoder, texts, batch_tokens=400, precision="bfloat16")
    with torch.autocast("cuda", torch.bfloat16):
        found = gradients(encoder)
    cosine = torch.nn.functional.cosine_similarity
    assert cosine(torch.from_numpy(found_ND), torch.from_numpy(expected_ND)).min() > 0.999
    assert cosine(found, expected, dim=0) > 0.99


class Small(torch.nn.Module):
    """An encoder with the memory of so many padded tokens; a text's vector is its first token."""

    dimension, device, feels_padding = 1, torch.device("cpu"), False

    def __init__(self, tokens: int, special: Any) -> None:
        super().__init__()
        self.tokens, self.special, self.batches = tokens, special, []

    def forward(self, ids_NT: torch.Tensor, mask_NT: torch.Tensor) -> torch.Tensor:
        if ids_NT.numel() > self.tokens:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.batches.append(ids_NT.shape)
        return ids_NT[:, :1].float()


def test_a_batch_that_does_not_fit_is_halved_and_so_are_those_after_it(build):
    texts = sequences(*[10] * 64)
    encoder = Small(120, build("bert").special)
    told: list[int] = []
    found_ND = encode(encoder, texts, batch_tokens=400, advance=told.append)
    assert found_ND[:, 0].tolist() == [text[0] for text in texts]
    assert {rows for rows, _ in encoder.batches} == {10, 4} and sum(told) == 64


def test_two_texts_that_do_not_fit_together_are_embedded_one_by_one(build):
    encoder = Small(120, build("bert").special)
    encode(encoder, sequences(100, 100), batch_tokens=400)
    assert encoder.batches == [(1, 100), (1, 100)]


def test_what_did_not_fit_is_cut_without_padding_where_a_model_feels_it(build):
    encoder = Small(45, build("bert").special)
    encoder.feels_padding = True
    encode(encoder, sequences(*[10] * 21, *[9] * 20), batch_tokens=400)
    assert sum(rows * width for rows, width in encoder.batches) == 21 * 10 + 20 * 9


def test_a_text_that_never_fits_is_told_in_one_line(build):
    encoder = Small(120, build("bert").special)
    with pytest.raises(ModelError, match="a text of 200 tokens does not fit into the memory"):
        encode(encoder, sequences(10, 200), batch_tokens=400)


def test_weights_in_16_bits_embed_as_those_in_32_and_stay_who_they_are(minilm):
    encoder = load_encoder(minilm).eval()
    texts = [row % encoder.backbone.config.vocab_size for row in sequences(4, 17, 60, 8)]
    expected_ND, digest = encode(encoder, texts, batch_tokens=400), encoder.digest()
    placed(encoder, torch.device("cpu"), "bfloat16")
    assert {p.dtype for p in encoder.parameters()} == {torch.bfloat16}
    found_ND = encode(encoder, texts, batch_tokens=400, precision="bfloat16")
    dots_N = (expected_ND * found_ND).sum(1)
    norms_N = np.linalg.norm(expected_ND, axis=1) * np.linalg.norm(found_ND, axis=1)
    assert (dots_N / norms_N).min() > 0.9995 and found_ND.dtype == np.float32
    assert encoder.digest() == digest


@pytest.mark.parametrize("family", ["llama", "modernbert"])
def test_positions_turn_as_fast_where_weights_have_16_bits(build, family):
    encoder = build(family)
    whole = {k: v.clone() for k, v in encoder.backbone.named_buffers() if "inv_freq" in k}
    encoder.lower()
    buffers = dict(encoder.backbone.named_buffers())
    assert whole and all(torch.equal(buffers[name], whole[name]) for name in whole)
    assert encode(encoder, sequences(5, 90), batch_tokens=400, precision="bfloat16").shape[0] == 2


def test_no_cast_stands_around_a_layer_of_16_bits(build):
    encoder, seen = build("bert", "cls-pooler"), []
    encoder.lower()
    encoder.backbone.embeddings.LayerNorm.register_forward_hook(
        lambda *_: seen.append(torch.is_autocast_enabled("cpu"))
    )
    encode(encoder, sequences(3, 50), batch_tokens=400, precision="bfloat16")
    assert seen and not any(seen)


def test_on_a_cpu_what_learns_leaves_out_padding_and_what_embeds_does_not(build):
    cpu = torch.device("cpu")
    assert placed(build("bert").train(), cpu, "float32").is_packed
    assert not placed(build("bert").eval(), cpu, "float32").is_packed
    assert not placed(build("mpnet").train(), cpu, "float32").is_packed


def test_an_encoder_that_will_be_trained_keeps_its_weights_whole(build):
    encoder = placed(build("bert").train(), torch.device("cpu"), "bfloat16")
    assert {p.dtype for p in encoder.parameters()} == {torch.float32}
