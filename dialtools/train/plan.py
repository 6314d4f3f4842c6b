"""What a run of dial-train would do, and how long it will take on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dialtools.encoder.forecast import HOUR, LONG_STEP, Forecast, place
from dialtools.encoder.static import StaticEncoder
from dialtools.shown import duration
from dialtools.streams.atomic import check_kind, refuse_existing
from dialtools.streams.provenance import Inputs
from dialtools.streams.scraps import temporary_folder
from dialtools.streams.tally import counted
from dialtools.train.data.store import Store
from dialtools.train.loop import Trainer
from dialtools.train.material import read_material
from dialtools.train.objectives.base import Objective
from dialtools.train.objectives.with_teacher import WithTeacher
from dialtools.train.options import TrainOptions, hyperparameters, objective_entry
from dialtools.train.prepare import build_trainer, cut_note
from dialtools.train.saved import in_words
from dialtools.train.validate import BLOCK, asked, validation_scores, validations_left
from dialtools.values import EPOCH

MICRO_BATCHES = 4
"""That tell how long a step of many takes."""
SHORT_BATCH, SHORT_RATE, SHORT_STEPS = 64, "3e-5", 150
"""The short run of which results tell what it buys."""


def dry_run(
    options: TrainOptions, *, tell: Callable[[str], None], caution: Callable[[str], None]
) -> tuple[dict[str, str], int]:
    """Read the pairs into a folder that does not stay, and take a few steps that lead nowhere.

    Args:
        caution: is given what speaks against the run, a line at a time.

    Returns:
        the plan, by name; the bad records that were left out.
    """
    refuse_existing(options.output, overwrite=options.overwrite or options.resume)
    check_kind(options.output, directory=True)
    if options.nproc > 1:
        tell(f"--nproc {options.nproc}: the time is that of one process alone")
    with temporary_folder() as folder:
        material = read_material(
            folder,
            options,
            Inputs(options.inputs),
            tell=tell,
            note_stdin=lambda _: None,
        )
        trainer = build_trainer(
            material.encoder, material.store, material.train, options, tell=tell
        )
        held_out = len(material.validation[1]) if material.validation else 0
        lines = plan(trainer, options, held_out)
        forecast = measured(trainer, options, material.validation)
        if line := instead(forecast, trainer, options):
            caution(line)
        lines |= {"time": str(forecast), "writes": _writes(trainer, options)}
        return lines, material.skipped


def measured(
    trainer: Trainer, options: TrainOptions, validation: tuple[Store, np.ndarray] | None
) -> Forecast:
    """Return how long a run takes, of which some steps are taken to measure them."""
    every = options.validate_every or trainer.sampler.per_epoch
    validations = validations_left(0, trainer.total, every) if validation else 0
    forecast = forecast_of(trainer, validations=validations)
    for seconds in _seconds_of_steps(trainer):
        if forecast.note(seconds):
            break
    if validation:
        store, pairs = validation
        pairs = asked(store, pairs)
        began = time.monotonic()
        validation_scores(trainer, store, pairs[:BLOCK])
        scale = len(pairs) / len(pairs[:BLOCK])
        forecast.validation_seconds = scale * (time.monotonic() - began)
    return forecast


def forecast_of(trainer: Trainer, *, validations: int) -> Forecast:
    """Return the forecast of a run as it begins, or goes on."""
    return Forecast(trainer.total - trainer.step, place(trainer.encoder.device), validations)


def instead(forecast: Forecast, trainer: Trainer, options: TrainOptions) -> str:
    """Return what to do instead of a run of over three hours of a CPU; nothing of a shorter one."""
    if not forecast.hopeless(trainer.encoder.device):
        return ""
    ways = [_shorter(forecast, options)]
    if not (isinstance(trainer.encoder, StaticEncoder) or objective_entry(options).contextual):
        ways.insert(0, "--encoder static trains in minutes")
    ways.append("a GPU is many times as fast")
    return f"{duration(forecast.seconds)} of a CPU; {', '.join(ways)}"


def _shorter(forecast: Forecast, options: TrainOptions) -> str:
    """Return a run that is worth its while: from a pretrained start one of docs/which-method.md."""
    batch = hyperparameters(options).batch_size
    if not options.model or batch <= SHORT_BATCH:
        return f"--max-steps {max(1, int(HOUR / forecast.each))} takes an hour"
    seconds = SHORT_STEPS * forecast.each * SHORT_BATCH / batch
    short = f"--batch-size {SHORT_BATCH} --lr {SHORT_RATE} --max-steps {SHORT_STEPS}"
    return f"{short} takes {duration(seconds)}"


def _seconds_of_steps(trainer: Trainer) -> Iterator[float]:
    """Yield how long steps take: a long one by a few of its micro-batches, others as they are."""
    seconds = trainer.estimated_seconds(MICRO_BATCHES)
    if seconds > LONG_STEP:
        yield seconds
    else:
        yield from (step.seconds for step in trainer.steps())


def plan(trainer: Trainer, options: TrainOptions, held_out: int) -> dict[str, str]:
    """Return the plan in lines of a name and what is to be said of it.

    Args:
        held_out: pairs kept for validation.
    """
    store, lengths = trainer.setting.store, trainer.setting.lengths
    validated = f", {held_out:,} held out" if held_out else ""
    named = f", which name {len(store.negatives):,} negatives" if len(store.negatives) else ""
    cut = cut_note(trainer)
    return {
        "pairs": f"{len(trainer.setting.pairs):,} to train on{validated}{named}",
        "texts": f"{store.counts['utterances']:,} distinct, {store.counts['tokens']:,} tokens",
        **({"cut": cut} if cut else {}),
        **_teacher(trainer.objective),
        "encoder": _encoder(trainer),
        "method": (
            f"{options.method}: contexts of {lengths.context} tokens at most, responses of "
            f"{lengths.response}, learning rate {trainer.values.lr:g}"
        ),
        "batch": _batch(trainer),
        "steps": f"{trainer.total:,}, {trainer.sampler.per_epoch:,} an epoch",
        "device": f"{trainer.encoder.device}, {trainer.precision}",
    }


def _encoder(trainer: Trainer) -> str:
    encoder = trainer.encoder
    parameters = sum(p.numel() for p in encoder.parameters())
    trained = sum(p.numel() for p in encoder.parameters() if p.requires_grad)
    frozen = f", {trained / 1e6:,.1f} of them trained" if trained < parameters else ""
    return (
        f"{trainer.setting.model or 'fresh'}: {encoder.shape}, "
        f"{parameters / 1e6:,.1f} million parameters{frozen}, {encoder.pooling} pooling"
    )


def _teacher(objective: Objective[Any]) -> dict[str, str]:
    if not isinstance(objective, WithTeacher):
        return {}
    texts, dimension = len(objective.teacher.setting.pairs), len(objective.teacher.centre)
    said = f"{counted(texts, 'text')} in {dimension:,} dimensions, of weight {objective.weight:g}"
    return {"teacher": said}


def _batch(trainer: Trainer) -> str:
    batch = trainer.objective.collate(trainer.sampler.batch(0), 0)
    cached = ", encoded twice to save memory" if trainer.cached(batch) else ""
    padding = "" if batch.packed else f", {batch.computed:,} with padding"
    return (
        f"{len(batch.pairs):,} pairs, {batch.tokens:,} tokens in the first{padding}, "
        f"in {counted(len(batch.parts), 'micro-batch')}{cached}"
    )


def _writes(trainer: Trainer, options: TrainOptions) -> str:
    kept = f"{options.output}, {in_words(trainer.values)}"
    kept += f"; a checkpoint every {options.checkpoint_every:,} steps"
    every = options.snapshot_every
    if every is None:
        return kept
    return f"{kept}, snapshots every {trainer.sampler.per_epoch if every == EPOCH else every:,}"
