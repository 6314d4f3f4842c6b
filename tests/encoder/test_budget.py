"""Tokens of a batch by a GPU's memory, as arithmetic."""

from __future__ import annotations

import pytest
import torch
from train_parts import letters_encoder

from dialtools.encoder import budget
from dialtools.encoder.budget import tokens_that_fit


@pytest.mark.parametrize(
    ("gib", "token_bytes", "tokens"),
    [
        (78, 384 * 16 * 2, 1 << 16),  # MiniLM on an H100: no more than keep it busy
        (1, 768 * 16 * 2, 1 << 14),  # BERT base where 1 GiB is left: 21,845 would fit
        (24, 12 * 768 * 34 * 2, 1 << 14),  # learnt from, on a card of 24 GiB: 20,560
        (0, 1, 1024),  # too little for any: halving, and the error, tell the rest
    ],
)
def test_half_of_the_memory_is_filled_by_a_power_of_two_of_tokens(gib, token_bytes, tokens):
    assert tokens_that_fit(gib << 30, token_bytes, most=1 << 16) == tokens


def test_what_is_free_counts_to_embed_and_all_memory_to_train(monkeypatch: pytest.MonkeyPatch):
    free, whole = 1 << 25, 1 << 26
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, whole))
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda d: type("", (), {"total_memory": whole})
    )
    gpu = torch.device("cuda")
    assert budget.batch_tokens(gpu, 2048, learns=False) == free // 2 // 2048
    learnt = budget.batch_tokens(gpu, 2048, learns=True)
    assert learnt == budget.activation_bytes(gpu) // 2048 == whole // 2 // 2048


def test_an_encoder_knows_what_a_token_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(budget, "batch_tokens", lambda device, size, *, learns: (learns, size))
    encoder = letters_encoder()  # 64 wide, one layer
    assert encoder.train().batch_tokens("bfloat16") == (True, 64 * 34 * 2)
    assert encoder.eval().batch_tokens("float32") == (False, 64 * 16 * 4)
    encoder.pooling = "first-last-avg"
    assert encoder.batch_tokens("float32") == (False, 64 * 17 * 4)
