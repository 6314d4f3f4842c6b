"""What a run leaves: a model directory, with its snapshots, log and configuration."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialtools.encoder import modeldir
from dialtools.streams.atomic import atomic_directory, link_or_copy
from dialtools.streams.resume import Work
from dialtools.train import steplog
from dialtools.train.card import trained_card
from dialtools.train.center import take_center
from dialtools.train.loop import Trainer
from dialtools.train.options import TrainOptions

SNAPSHOTS = "snapshots"
FIGURES = ("loss", "alignment", "uniformity", "accuracy", "top-1", "top-3", "top-10")
"""Figures of the step whose weights are saved, which a model tells."""


def write_model(
    directory: Path,
    work: Work,
    trainer: Trainer,
    options: TrainOptions,
    *,
    figures: Mapping[str, float],
    validation: Mapping[str, Any] | None = None,
) -> None:
    """Write what loads as a model: encoder, what the objective keeps, provenance, card.

    Args:
        directory: exists and is empty.
        figures: of the step whose weights these are, by name; `step` where it is not the last.
        validation: scores before and after (`Validation.facts`), at the end of a run.
    """
    take_center(trainer)
    final = {name: figures[name] for name in FIGURES if name in figures}
    kept = figures.get("step", trainer.step)
    if kept != trainer.step:
        final = {"step": kept, **final}
    compared = {"validation": validation} if validation else {}
    alone = final.keys() - (validation["before"].keys() if validation else ())
    text = trained_card(
        trainer,
        options,
        figures={name: round(value, 4) for name, value in final.items() if name in alone},
        validation=validation,
    )
    counts = {"pairs_trained_on": len(trainer.sampler.pairs), "steps": trainer.step}
    made = work.job.provenance({**trainer.setting.store.counts, **counts})
    facts = {**made, "final": final, **compared, "weights": trainer.encoder.digest()}
    modeldir.save(trainer.encoder, directory, provenance=facts, card=text)
    trainer.objective.save(directory)


def keep_snapshot(
    work: Work, trainer: Trainer, options: TrainOptions, *, figures: Mapping[str, float]
) -> None:
    """Keep the model as it is now in the working folder.

    One that an interrupted run has kept of this step is the same.
    """
    snapshot = work.folder / SNAPSHOTS / f"step-{trainer.step:06d}"
    if snapshot.exists():
        return
    snapshot.parent.mkdir(exist_ok=True)
    with atomic_directory(snapshot, overwrite=False) as directory:
        write_model(directory, work, trainer, options, figures=figures)


def save_run(
    work: Work,
    trainer: Trainer,
    options: TrainOptions,
    *,
    figures: Mapping[str, float],
    validation: Mapping[str, Any] | None,
    config: str,
) -> None:
    """Write the model directory of a run that has ended, from its working folder.

    Args:
        figures, validation: of `write_model`.
        config: text of dialtools.toml, which runs it again on its pairs.
    """
    with atomic_directory(work.final, overwrite=work.overwrite) as directory:
        write_model(directory, work, trainer, options, figures=figures, validation=validation)
        shutil.copy(work.folder / steplog.NAME, directory / steplog.NAME)
        (directory / "dialtools.toml").write_text(config, encoding="utf-8")
        snapshots = work.folder / SNAPSHOTS
        if snapshots.is_dir():
            # a second name, not a copy: the working folder, which has the first, goes next
            shutil.copytree(snapshots, directory / SNAPSHOTS, copy_function=link_or_copy)
