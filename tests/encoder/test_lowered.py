"""Weights of 32 bits that learn through a copy of 16."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as t
from torch import nn

from dialtools.encoder import lowered
from dialtools.encoder.batches import pad
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import train_tokenizer
from dialtools.encoder.quick import quicken

SIZES = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
DRY = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(0)
    tokenizer = train_tokenizer(["a table for two", "is it warm in oslo"] * 5, vocab_size=300)
    config = t.BertConfig(**SIZES, **DRY, intermediate_size=48)
    return Encoder(t.BertModel(config), tokenizer, pooling="mean", max_length=64).train()


def learnt(encoder: Encoder, *, precision: torch.dtype | None) -> dict[str, torch.Tensor]:
    """Return the gradients of a step over four texts."""
    draw = torch.Generator().manual_seed(1)
    texts = [torch.randint(5, 300, (n,), generator=draw).numpy() for n in (3, 9, 1, 12)]
    encoder.zero_grad()
    with torch.autocast("cpu", precision, enabled=precision is not None):
        vectors = encoder(*pad(texts, encoder.special))
    (vectors @ torch.linspace(-1, 1, encoder.dimension)).square().sum().backward()
    return {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("quick", [False, True])
def test_gradients_are_those_of_32_bits_but_for_rounding(encoder: Encoder, quick: bool):
    if quick:  # its lookup adds up gradients itself
        quicken(encoder)
    exact = learnt(encoder, precision=None)
    found = learnt(encoder, precision=torch.bfloat16)
    assert found.keys() == exact.keys()
    assert {gradient.dtype for gradient in found.values()} == {torch.float32}
    whole = [torch.cat([gradient.flatten() for gradient in x.values()]) for x in (found, exact)]
    assert torch.cosine_similarity(*whole, dim=0) > 0.999


def test_layers_see_16_bits_throughout_while_it_learns_and_only_then(encoder: Encoder):
    seen: list[Any] = []
    norm = encoder.backbone.encoder.layer[0].output.LayerNorm
    norm.register_forward_hook(lambda _, given, out: seen.append((given[0].dtype, out.dtype)))
    learnt(encoder, precision=torch.bfloat16)
    learnt(encoder.eval(), precision=torch.bfloat16)
    assert seen == [(torch.bfloat16, torch.bfloat16), (torch.float32, torch.float32)]
    assert norm.weight.dtype == torch.float32 and isinstance(norm.weight, nn.Parameter)


def test_what_is_frozen_gets_no_gradient(encoder: Encoder):
    encoder.freeze(1)
    exact = learnt(encoder, precision=None)
    assert learnt(encoder, precision=torch.bfloat16).keys() == exact.keys()
    assert not any("layer.0." in name or "embeddings" in name for name in exact)


class Tied(nn.Module):
    """A weight under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


def test_a_weight_of_two_names_gets_the_gradients_of_both():
    torch.manual_seed(0)
    tied, x = Tied(), torch.randn(3, 4)
    lowered.called(tied, torch.float64, {"x": x.double()}).sum().backward()
    found = tied.first.weight.grad
    tied.zero_grad()
    tied(x).sum().backward()
    torch.testing.assert_close(found, tied.first.weight.grad)


def test_a_part_of_two_names_has_its_own_weights_again_after_a_step():
    """A T5 encoder's table is one part under two names once it has new tokens."""
    table = nn.Embedding(20, 8)
    backbone = nn.ModuleDict({"shared": table, "encoder": nn.ModuleDict({"tokens": table})})
    backbone.forward = lambda ids: table(ids)  # type: ignore[method-assign]
    weight = table.weight
    lowered.called(backbone, torch.bfloat16, {"ids": torch.arange(3)}).float().sum().backward()
    assert table.weight is weight and weight.grad is not None
