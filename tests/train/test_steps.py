"""Steps of the loop: dropout, clipping, caching and rates, without a run of dial-train."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from train_parts import contrast_options, letters_encoder, setting, stored, trainer

from dialtools.encoder.budget import ACTIVATION_BYTES
from dialtools.encoder.encode import encode
from dialtools.errors import DataError, ModelError
from dialtools.metrics.space import unit
from dialtools.train import center, checkpoint
from dialtools.train.center import take_center
from dialtools.train.data.collate import contexts, responses
from dialtools.train.loop import NotFinite, Trainer, planned_steps
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.run import Training
from dialtools.train.validate import Validation, asked, drawn, rank_of, validation_scores

ROWS = [
    {"context": [f"{a} {b}"], "response": f"{b} {a} {a}", "dialogue_id": f"{a}{b}", "turn": 1}
    for a, b in ("ab", "cd", "ef", "gh")
]


@pytest.fixture
def fresh(tmp_path: Path):
    """Return a function that makes a trainer of the four pairs, always the same."""

    def make(*, seed: int = 0, loss: str = "info-nce", **changes: object) -> Trainer:
        encoder = letters_encoder()
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        options = contrast_options(loss=loss)
        store = stored([ROWS], folder, encoder)
        return trainer(Contrast(setting(store, encoder, options, seed=seed)), **changes)

    return make


def losses(trainer: Trainer) -> list[float]:
    # in one order, so that a seed that stays would draw the same masks for the same texts
    if trainer.values.lr == 0:
        trainer.sampler.batch = lambda step: np.arange(4)
    return [step.loss for step in trainer.steps()]


def test_dropout_is_another_in_each_step_and_seed_and_the_same_after_a_break(fresh):
    """Nothing is learnt, every step sees all pairs: only dropout moves the loss."""
    still = {"lr": 0.0, "max_steps": 4}
    whole = losses(fresh(**still))
    assert len({round(loss, 4) for loss in whole}) == 4
    assert losses(fresh(**still)) == whole
    assert losses(fresh(seed=1, **still)) != whole
    late = fresh(**still)
    late.step = 2
    assert losses(late) == whole[2:]


def test_a_step_leaves_the_random_numbers_of_others_alone(fresh):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    losses(fresh(max_steps=2))
    assert torch.equal(torch.rand(3), expected)


def norm(trainer: Trainer) -> float:
    modules = (trainer.encoder, trainer.objective)
    seen = {p for module in modules for p in module.parameters() if p.grad is not None}
    return float(torch.stack([p.grad.norm() for p in seen if p.grad is not None]).norm())


def test_gradients_are_clipped_at_the_norm_and_only_if_asked(fresh):
    free, clipped = fresh(max_steps=1), fresh(max_steps=1, clip=1e-3)
    assert losses(free) == losses(clipped)
    assert norm(free) > 0.01
    assert norm(clipped) == pytest.approx(1e-3, rel=1e-3)


def test_gradients_are_of_one_step_alone(fresh):
    two = fresh(max_steps=2, lr=0.0)
    losses(two)
    second = fresh(max_steps=2, lr=0.0)
    second.step = 1
    losses(second)
    assert norm(two) == pytest.approx(norm(second), rel=1e-6)


def test_what_a_step_tells_is_what_happened(fresh):
    run = fresh(max_steps=3, batch_size=2, schedule="linear", lr=0.5e-3)
    told = list(run.steps())
    assert [step.step for step in told] == [1, 2, 3]
    assert [step.epoch for step in told] == [0.5, 1.0, 1.5]
    assert [step.lr for step in told] == pytest.approx([0.5e-3, 1e-3 / 3, 0.5e-3 / 3])
    assert [step.tokens for step in told] == [18, 18, 18], (
        "2 · ([CLS] a b [SEP] + [CLS] b a a [SEP])"
    )
    record = told[0].record()
    assert record["loss"] == told[0].loss and record["step"] == 1
    assert {"alignment", "uniformity", "false_negatives"} <= set(record)
    assert "figures" not in record


def test_a_loss_that_is_not_finite_ends_the_run_before_the_weights_are_touched(fresh):
    run = fresh(max_steps=3)
    with torch.no_grad():
        next(run.encoder.parameters())[5:] = float("inf")
    before = {name: value.clone() for name, value in run.encoder.state_dict().items()}
    with pytest.raises(NotFinite, match="not finite at step 1") as raised:
        losses(run)
    assert sorted(raised.value.pairs.tolist()) == [0, 1, 2, 3]
    for name, value in run.encoder.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0, equal_nan=True)


def test_epochs_are_steps_of_the_sampler_and_a_fraction_is_one_at_least(fresh):
    def steps(epochs, least=0):
        values = replace(fresh().values, epochs=epochs, min_steps=least)
        return planned_steps(values, per_epoch=10)

    assert [steps(e) for e in (0, 0.01, 0.14, 1, 2.5)] == [0, 1, 1, 10, 25]
    assert [steps(e, least=20) for e in (0, 1, 2.5)] == [0, 20, 25]
    assert fresh(max_steps=None, epochs=3.0, batch_size=2).total == 6
    assert fresh(max_steps=5, epochs=3.0).total == 5


def test_a_batch_is_encoded_twice_where_its_activations_would_need_much_memory(fresh):
    run = fresh()
    batch = run.objective.collate(np.arange(4), 0)
    assert not run.cached(batch)
    run.grad_cache = "on"
    assert run.cached(batch)
    run.grad_cache = "auto"
    assert batch.computed == 4 * 5 + 4 * 4 or batch.computed == 8 * 5
    layer = 34 * 64 * 1 * 4  # floats a token, hidden size, layers, bytes
    tokens = ACTIVATION_BYTES // layer
    ids = torch.zeros(1, 1).expand(1, tokens)
    batch.parts = [(ids, ids)]
    assert not run.cached(batch)
    more = torch.zeros(1, 1).expand(1, tokens + 1)
    batch.parts = [(more, more)]
    assert run.cached(batch)
    run.precision = "bfloat16"
    assert not run.cached(batch)


def test_validation_leaves_the_encoder_in_training(fresh):
    run = fresh(max_steps=2, lr=0.0)
    undisturbed = losses(fresh(max_steps=2, lr=0.0))
    run.sampler.batch = lambda step: np.arange(4)
    steps = run.steps()
    first = next(steps).loss
    figures = validation_scores(run, run.setting.store, np.arange(4))
    assert run.encoder.training
    assert [first, next(steps).loss] == undisturbed
    tops = [figures.pop(f"top-{k}") for k in (1, 3, 10)]
    assert 0 <= tops[0] <= tops[1] <= tops[2] == 100, "of four"
    assert set(figures) == {"validation_alignment", "validation_uniformity"}


def test_the_centre_is_the_mean_of_the_responses_learnt_from_and_goes_off_what_validates(
    fresh, monkeypatch: pytest.MonkeyPatch
):
    run = fresh(max_steps=1, center=True)
    start = run.encoder.center = np.full(64, 0.01, np.float32)
    take_center(run)
    assert run.encoder.center is start, "before a step the start's is right"
    losses(run)
    every = np.arange(4)
    figures = validation_scores(run, run.setting.store, every)
    joined = run.setting.store, every, run.setting.joining
    said, told = (
        unit(encode(run.encoder, side(*joined), batch_tokens=100)) for side in (contexts, responses)
    )
    center_D = told.mean(0)
    np.testing.assert_allclose(run.encoder.center, center_D, atol=1e-6)
    apart = ((unit(said - center_D) - unit(told - center_D)) ** 2).sum(1).mean()
    assert figures["validation_alignment"] == pytest.approx(apart, rel=1e-4)

    monkeypatch.setattr(center, "MOST", 2)
    take_center(run)
    np.testing.assert_allclose(run.encoder.center, told[::2].mean(0), atol=1e-6)
    run.setting.pairs[:] = 3
    take_center(run)
    assert run.encoder.center is None, "of one text nothing would be left"


def test_of_steps_with_one_top_1_the_better_selects_more_often_among_the_next():
    scores = {"top-1": 50.0, "top-3": 70.0, "top-10": 90.0}
    assert rank_of(scores | {"top-3": 71.0, "top-10": 80.0}) > rank_of(scores)
    assert rank_of(scores | {"top-10": 91.0}) > rank_of(scores) > rank_of({})


def scored(run: Trainer, monkeypatch, *sides: np.ndarray, texts: np.ndarray) -> dict[str, float]:
    """Return the scores of pairs whose vectors and response texts are given."""
    given = iter(sides)
    monkeypatch.setattr("dialtools.train.validate.vectors", lambda *_: next(given))
    store = SimpleNamespace(response=texts)
    return validation_scores(run, store, np.arange(len(texts)))


def test_validation_picks_the_response_of_a_context_among_a_hundred(fresh, monkeypatch):
    right, texts = np.eye(100, 128), np.arange(100)
    wrong = right.copy()
    wrong[[0, 1, 2, 3]] = wrong[[1, 0, 3, 2]]
    alike = right.copy()
    alike[1] = alike[0]
    tops = {"top-1": 100, "top-3": 100, "top-10": 100}
    figures = scored(fresh(), monkeypatch, right, right, texts=texts)
    assert figures == pytest.approx(
        tops | {"validation_alignment": 0.0, "validation_uniformity": uniformity(200, 100)}
    )
    figures = scored(fresh(), monkeypatch, right, wrong, texts=texts)
    assert figures["top-1"] == pytest.approx(96) and figures["top-3"] < 100
    assert figures["validation_alignment"] == pytest.approx(2 * 4 / 100)
    figures = scored(fresh(), monkeypatch, right, alike, texts=texts)
    chance = 98 + 1 / 2 + 1 / 100
    assert figures["top-1"] == pytest.approx(chance), "as many ties, as small a share of a hit"
    figures = scored(fresh(), monkeypatch, right, alike, texts=np.maximum(texts, 1))
    assert figures["top-1"] == pytest.approx(99 + 1 / 99), "a copy of the response is no rival"


def test_a_validation_pair_that_has_only_its_response_to_pick_does_not_serve():
    texts = np.arange(300)
    thanked = drawn(texts)[100:200]
    texts[thanked] = 7
    store = SimpleNamespace(response=texts)
    expected = np.delete(drawn(np.arange(300)), slice(100, 200))
    assert asked(store, np.arange(300)).tolist() == expected.tolist()
    with pytest.raises(DataError, match="all validation pairs have one response"):
        asked(store, thanked[:2])


def uniformity(rows: int, distinct: int) -> float:
    """Of vectors at right angles, each of them as often as the others."""
    pairs, same = rows * (rows - 1) / 2, distinct * math.comb(rows // distinct, 2)
    return math.log((same + (pairs - same) * math.exp(-4)) / pairs)


def test_validation_pairs_are_drawn_so_that_neighbours_are_apart():
    """Else a context's own turns, the responses of the pairs before, would be among the rivals."""
    pairs = np.arange(5000, 15_000)
    some = drawn(pairs)
    assert len(set(some.tolist())) == 2000 and set(some) <= set(pairs)
    assert np.median(np.abs(np.diff(some))) > 1000
    assert np.array_equal(some, drawn(pairs)), "runs of all seeds are compared on the same"
    assert len(drawn(np.arange(130))) == 100 and len(drawn(np.arange(60))) == 60


def test_a_model_that_selects_less_often_than_its_start_has_fallen():
    def validation(before: float, after: float | None) -> Validation:
        names = ("top-3", "top-10", "validation_alignment", "validation_uniformity")
        scores = ({"top-1": top, **dict.fromkeys(names, 12.0)} for top in (before, after))
        first, last = scores
        return Validation(None, np.arange(60), first, {} if after is None else last)

    told = "60 validation pairs, 1 of 60, before -> after: top-1 4.00 -> 3.90 %, top-10 12.0 -> "
    assert validation(4.0, 3.9).fell and str(validation(4.0, 3.9)).startswith(told)
    assert not validation(4.0, 4.0).fell and not validation(3.9, 4.0).fell
    nothing_learnt = validation(4.0, None)
    assert not nothing_learnt.fell and nothing_learnt.facts()["after"] == nothing_learnt.before


@pytest.fixture
def validated(fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that makes a run which keeps its best step; it is given what they score."""

    def make(*top_1: float) -> Training:
        run, left = fresh(max_steps=4), iter(top_1)
        monkeypatch.setattr(
            "dialtools.train.run.validation_scores", lambda *_: {"top-1": next(left)}
        )
        usual = {"validate_every": 1, "keep_best": True, "checkpoint_every": 2}
        training = Training(
            SimpleNamespace(folder=tmp_path),
            run,
            SimpleNamespace(**usual, snapshot_every=None, tensorboard=None),
            Validation(run.setting.store, run.setting.pairs),
            skipped=0,
        )
        training.restore()
        return training

    return make


def test_the_best_step_of_a_killed_run_keeps_its_figures_where_it_does_not_score_so_again(
    validated,
):
    killed = validated(10, 20, 30, 40)
    steps = killed.steps()
    assert [next(steps).step for _ in range(3)] == [1, 2, 3]  # a checkpoint of step 2
    kept = {name: p.clone() for name, p in killed.trainer.encoder.state_dict().items()}
    resumed = validated(39, 38)  # on another processor, say
    assert [step.step for step in resumed.steps()] == [3, 4]
    assert resumed.best["step"] == 3 and resumed.best["top-1"] == 40
    assert resumed.validation.after == {"top-1": 40}
    checkpoint.load_best(resumed.trainer, resumed.folder)
    for name, value in resumed.trainer.encoder.state_dict().items():
        torch.testing.assert_close(value, kept[name], rtol=0, atol=0)


@pytest.mark.parametrize("kept", ["validate", "snapshot", "checkpoint", "nothing"])
def test_weights_that_a_finite_loss_with_an_infinite_gradient_leaves_are_not_kept(validated, kept):
    steps = validated(10, 20, 30).steps()
    assert [next(steps).step, next(steps).step] == [1, 2]  # a checkpoint
    run = validated(40)
    every = {"validate_every": 9, "checkpoint_every": 9, f"{kept}_every": 3}
    run.options = SimpleNamespace(**vars(run.options) | every)
    run.trainer.parameters[0].register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(ModelError, match="the weights are not finite after step 3"):
        assert math.isfinite(next(run.steps()).loss)
        run.save(config="")
    assert validated().trainer.step == 2 and validated().best["step"] == 2
