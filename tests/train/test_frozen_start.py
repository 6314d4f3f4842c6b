"""The start of a run says what is alike: no text is a negative of its equals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from pair_corpus import Train
from train_parts import contrast_options, letters_encoder, setting, stored, trainer

from dialtools.train import checkpoint
from dialtools.train.loop import Trainer
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.objectives.start import FrozenStart, held_alike

ROWS = [
    {"context": [context], "response": response}
    for context, response in [("a b", "c"), ("a b d", "e"), ("f g", "h i"), ("f g j", "k")]
]


def units(n: int, d: int, seed: int) -> torch.Tensor:
    rows = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(rows, dim=1)


@pytest.mark.parametrize(("margin", "floor"), [(0.0, -1.0), (0.2, -1.0), (0.2, 0.3)])
def test_held_alike_is_what_is_as_near_as_the_partner_less_its_margin_and_nearer_than_the_floor(
    margin: float, floor: float
):
    rows, n = units(12, 3, seed=2), 5
    alike = held_alike(rows, pairs=n, margin=margin, floor=floor)
    for i in range(2 * n):
        partner = float(rows[i] @ rows[(i + n) % (2 * n)])
        least = max(partner - margin * abs(partner), floor)
        for j in set(range(12)) - {i, (i + n) % (2 * n)}:
            assert alike[i, j] == (float(rows[i] @ rows[j]) > least)
    assert alike.any() and not alike.all()


def test_the_text_of_a_partner_is_held_alike_wherever_it_is_in_the_batch():
    rows = units(9, 64, seed=5).float()
    rows[7], rows[8] = rows[5], rows[5]  # the second and the fourth answer, and a named negative
    alike = held_alike(rows, pairs=4, margin=0.0, floor=-1.0)
    assert alike[1, [7, 8]].all() and alike[3, [5, 8]].all()


def objective(tmp_path: Path, **options: object) -> Contrast:
    tmp_path.mkdir(exist_ok=True)
    encoder = letters_encoder()
    store = stored([ROWS], tmp_path, encoder)
    return Contrast(setting(store, encoder, contrast_options(**options)))


def a_loss(learner: Contrast) -> tuple[torch.Tensor, dict[str, float]]:
    figures: dict[str, float] = {}
    batch = learner.collate(np.arange(len(ROWS)), step=0)
    encoder = learner.setting.encoder.eval()
    rows = torch.cat([encoder(ids, mask) for ids, mask in batch.parts])
    return learner.loss(rows, batch, figures), figures


def test_the_guide_leaves_out_what_the_start_holds_for_the_same(tmp_path: Path):
    loss, figures = a_loss(objective(tmp_path / "a", guide_floor=-1.0))
    plain, _ = a_loss(objective(tmp_path / "b"))
    assert loss < plain and 0 < figures["held_alike"] < 1
    # nothing is more alike than a cosine of 1
    none, figures = a_loss(objective(tmp_path / "c", guide_floor=0.9999999))
    torch.testing.assert_close(none, plain)
    assert figures["held_alike"] == 0, "a text is no negative of itself"


def test_the_start_is_neither_trained_nor_kept_and_a_step_leaves_it_as_it_is(tmp_path: Path):
    learner = objective(tmp_path, guide_floor=0.5)
    assert not list(learner.parameters()) and not learner.state_dict()
    assert learner.start is not None
    before = {name: w.clone() for name, w in learner.start.encoder.state_dict().items()}
    for _ in trainer(learner, lr=0.1).steps():
        pass
    after = learner.start.encoder.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert not torch.equal(
        before["backbone.embeddings.word_embeddings.weight"],
        learner.setting.encoder.state_dict()["backbone.embeddings.word_embeddings.weight"],
    )


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_start_computes_in_the_precision_of_the_run_and_keeps_its_last_rows(precision: str):
    encoder = letters_encoder()
    parts = [
        (torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]))
    ]
    start = FrozenStart(encoder, precision=precision)
    encoder.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        rows = torch.nn.functional.normalize(encoder(*parts[0]), dim=1)
    assert torch.equal(start.rows(parts), rows) and start.rows(parts) is start.rows(parts)
    assert len(start.rows([*parts, *parts])) == 4


def test_batches_of_one_kind_are_told_apart_by_what_the_pairs_say(tmp_path: Path):
    encoder = letters_encoder()
    rows = [row | {"kind": "self" if i % 3 else "consecutive"} for i, row in enumerate(ROWS * 4)]
    store = stored([rows], tmp_path, encoder)
    learner = Contrast(setting(store, encoder, contrast_options(batches="by-kind")))
    sampler = learner.sampler(3)
    kinds = [{rows[pair]["kind"] for pair in sampler.batch(step)} for step in range(5)]
    assert all(len(kind) == 1 for kind in kinds) and kinds.count({"self"}) > 1


@pytest.mark.parametrize("flags", [("--hold-weight", "1"), ("--guide-floor", "0.8")])
def test_a_fresh_encoder_is_nothing_to_hold_on_to(train: Train, pairs, tmp_path, flags):
    done = train(*flags, "-o", tmp_path / "m", pairs, code=2)
    assert b"needs --model" in done.stderr and done.stderr.count(b"\n") <= 2


def test_a_run_with_a_guide_goes_on_from_its_checkpoint_to_the_same_weights(tmp_path: Path):
    def run(folder: Path) -> Trainer:
        learner = objective(folder, guide_floor=0.5)
        return trainer(learner, max_steps=6, batch_size=2, epochs=3.0)

    whole, cut, again = (run(tmp_path / name) for name in ("whole", "cut", "again"))
    list(whole.steps())
    for step in cut.steps():
        if step.step == 3:
            checkpoint.save(cut, tmp_path, facts={})
            break
    checkpoint.restore(again, tmp_path)
    assert again.step == 3
    list(again.steps())
    wholes, agains = whole.encoder.state_dict(), again.encoder.state_dict()
    assert all(torch.equal(wholes[name], agains[name]) for name in wholes)
