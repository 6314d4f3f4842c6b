"""What a run tells of its time before it is spent."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pair_corpus import Train
from train_parts import (
    WORDS,
    contrast_options,
    letters_encoder,
    recipe_options,
    setting,
    stored,
    trainer,
)

from dialtools.cli._run import Run
from dialtools.encoder.static import fresh_static
from dialtools.train import loop
from dialtools.train.objectives.contrast import Contrast
from dialtools.train.plan import Forecast, instead, measured
from dialtools.train.validate import validations_left

TOLD = r"about \d+ \w+: 60 steps of [\d.e-]+ s(, 1 validation of \d+ s)? on 1 thread"


def test_a_run_tells_its_time_after_its_first_steps_and_a_dry_run_tells_it_too(
    train: Train, pairs: Path, tmp_path: Path
):
    run = ("--batch-size", 8, "--max-steps", 60, "--threads", 1, "-o", tmp_path / "m", pairs)
    planned = train(*run, "--dry-run").stdout.decode()
    assert re.search(rf"^time +{TOLD}$", planned, re.MULTILINE)
    assert re.search(rf"^dial-train: {TOLD}$", train(*run).stderr.decode(), re.MULTILINE)
    assert train(*run, "-q", "--overwrite").stderr == b""


def test_a_dry_run_counts_the_validations(train: Train, pairs: Path, tmp_path: Path):
    run = ("--max-steps", 60, "--threads", 1, "--validation", pairs, "--batch-size", 8)
    planned = train(*run, "-o", tmp_path / "m", "--dry-run", pairs).stdout.decode()
    assert re.search(rf"^time +{TOLD}$", planned, re.MULTILINE) and "1 validation" in planned


def test_a_step_of_many_micro_batches_is_told_by_a_few_and_nothing_is_learnt(tmp_path: Path):
    texts = [[{"context": [a], "response": b} for a, b in pairwise(WORDS)]]

    def run(max_tokens: int, *, estimated: bool) -> tuple[float, list[int], list[float]]:
        encoder, encoded = letters_encoder(), []
        store = stored(texts, Path(mkdtemp(dir=tmp_path)), encoder)
        objective = Contrast(setting(store, encoder, contrast_options(), max_tokens=max_tokens))
        encode = objective.encode
        objective.encode = lambda part: encoded.append(int(part[1].sum())) or encode(part)
        learning = trainer(objective, batch_size=24, max_steps=2)
        seconds = learning.estimated_seconds(4) if estimated else 0.0
        few = encoded[: len(encoded) // 2]
        assert all(p.grad is None for p in learning.parameters)
        return seconds, few, [step.loss for step in learning.steps()]

    seconds, few, losses = run(6, estimated=True)  # 48 texts of three tokens, two at once
    assert seconds > 0 and few == [6] * 4
    assert losses == run(6, estimated=False)[2]
    assert run(12 * 3, estimated=True)[:2] == (0.0, []), "four micro-batches are no few of many"


def test_a_gpu_comes_to_its_end_before_the_clock_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Coming:
        """A loss that takes three seconds to come."""

        seconds = 0.0

        def __float__(self) -> float:
            self.seconds += 3
            return 0.0

    encoder, coming = letters_encoder(), Coming()
    store = stored([[{"context": [a], "response": a} for a in WORDS]], tmp_path, encoder)
    learning = trainer(Contrast(setting(store, encoder, contrast_options(), max_tokens=6)))
    monkeypatch.setattr(loop.gradcache, "backward", lambda *_, **__: coming)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: coming.seconds))
    learning.sampler.batch = lambda step: np.arange(16)  # 32 texts, two at once
    assert learning.estimated_seconds(4) == 3 * 4


def test_a_long_step_is_not_taken_to_tell_its_time():
    class Long:
        encoder = SimpleNamespace(device=torch.device("cpu"))
        sampler = SimpleNamespace(per_epoch=2)
        total, step = 10, 0
        estimated_seconds = staticmethod(lambda few: 72.0)

    forecast = measured(Long(), recipe_options(), None)
    assert (forecast.each, forecast.seconds) == (72.0, 720.0)


@pytest.mark.parametrize(
    ("taken", "each"),
    [
        ([9.0], 9.0),
        ([0.9, 1.5, 1.0], 1.25),
        ([5.0, *[0.01] * 10], 0.01),
    ],
)
def test_steps_tell_once_they_took_long_enough_or_were_enough_the_first_apart(taken, each):
    forecast = Forecast(1000, "cuda")
    assert [forecast.note(seconds) for seconds in taken] == [False] * (len(taken) - 1) + [True]
    assert forecast.each == pytest.approx(each)
    assert not forecast.note(60.0) and forecast.each == pytest.approx(each)


def test_what_is_told_is_the_time_of_steps_and_validations():
    forecast = Forecast(1221, "2 threads", 3, 40.0, measured=[4.0, 0.7, 0.7])
    assert str(forecast) == "about 16 min: 1,221 steps of 0.7 s, 3 validations of 40 s on 2 threads"
    assert str(Forecast(1, "cuda", measured=[0.2])) == "about 1 s: 1 step of 0.2 s on cuda"


@pytest.mark.parametrize("total", range(8))
@pytest.mark.parametrize("every", [1, 2, 3, 9])
def test_validations_are_at_every_nth_step_and_at_the_last(total: int, every: int):
    for step in range(total + 1):
        later = [s for s in range(step + 1, total + 1) if s % every == 0 or s == total]
        assert validations_left(step, total, every) == len(later)


def test_over_three_hours_of_a_cpu_it_says_what_is_quicker():
    encoder = letters_encoder()
    table = fresh_static(encoder.tokenizer, dimension=8, seed=0)
    options = recipe_options(encoder="transformer")
    three_hours = Forecast(5400, "1 thread", measured=[2.0])
    longer = Forecast(5401, "1 thread", measured=[2.0])
    assert instead(three_hours, SimpleNamespace(encoder=encoder), options) == ""
    assert instead(longer, SimpleNamespace(encoder=encoder), options) == (
        "3.0 h of a CPU; --encoder static trains in minutes, --max-steps 1800 takes an hour, "
        "a GPU is many times as fast"
    )
    pretrained = recipe_options(encoder="transformer", model="minilm")  # in batches of 1,024
    assert ", --batch-size 64 --lr 3e-5 --max-steps 150 takes 19 s, " in instead(
        longer, SimpleNamespace(encoder=encoder), pretrained
    )
    words = recipe_options(encoder="transformer", method="mlm")
    for other in (
        instead(longer, SimpleNamespace(encoder=table), options),
        instead(longer, SimpleNamespace(encoder=encoder), words),
    ):
        assert other.startswith("3.0 h of a CPU; --max-steps 1800"), "a table is no way out"
    gpu = SimpleNamespace(device=SimpleNamespace(type="cuda"))
    assert instead(longer, SimpleNamespace(encoder=gpu), options) == ""


def test_a_caution_is_said_where_notes_are_not(capsys: pytest.CaptureFixture[str]):
    run = Run("dial-train", SimpleNamespace(quiet=True), [], {})
    run.warn("a note")
    run.caution("88 h of a CPU")
    assert capsys.readouterr().err == "dial-train: warning: 88 h of a CPU\n"
