"""A GPU whose memory is too small: a batch is encoded twice for the same weights, or it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from pair_corpus import pair_records
from train_parts import contrast_options, letters_encoder, setting, stored, trainer

from dialtools.errors import ModelError
from dialtools.train.loop import Trainer
from dialtools.train.objectives.base import Part
from dialtools.train.objectives.contrast import Contrast


def learning(folder: Path) -> Trainer:
    """Return a trainer with dropout and several micro-batches a step."""
    encoder = letters_encoder()
    store = stored([pair_records(40)], folder, encoder)
    found = trainer(
        Contrast(setting(store, encoder, contrast_options(), max_tokens=60)), max_steps=3
    )
    found.grad_cache = "auto"
    return found


def weights(run: Trainer) -> torch.Tensor:
    for step in run.steps():
        assert step.loss > 0
    return torch.cat([p.detach().flatten() for p in run.encoder.parameters()])


def too_small(run: Trainer, *, graphs: int) -> None:
    """Let a step fail that keeps the graphs of more micro-batches than these."""
    encode, kept = run.objective.encode, [0]

    def encoded(part: Part) -> torch.Tensor:
        rows = encode(part)
        if rows.requires_grad:
            kept[0] += 1
            rows.register_hook(lambda _: kept.__setitem__(0, kept[0] - 1))
        if kept[0] > graphs:
            kept[0] = 0
            raise torch.OutOfMemoryError("CUDA out of memory")
        return rows

    run.objective.encode = encoded


def test_a_step_that_does_not_fit_is_taken_with_its_batch_encoded_twice(tmp_path):
    for name in ("roomy", "narrow"):
        (tmp_path / name).mkdir()
    expected = weights(learning(tmp_path / "roomy"))
    narrow = learning(tmp_path / "narrow")
    too_small(narrow, graphs=1)
    torch.testing.assert_close(weights(narrow), expected, atol=1e-6, rtol=1e-5)
    assert narrow.grad_cache == "on"


@pytest.mark.parametrize(("cache", "graphs"), [("auto", 0), ("off", 1)])
def test_what_fits_in_no_way_is_told_with_what_would_help(tmp_path, cache, graphs):
    run = learning(tmp_path)
    run.grad_cache = cache
    too_small(run, graphs=graphs)
    with pytest.raises(ModelError, match="the memory of the GPU is full at step 1") as told:
        weights(run)
    assert "--grad-cache on" in str(told.value.hint)
