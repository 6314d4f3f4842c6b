"""A run of dial-train: steps with their log, validation, snapshots and checkpoints, then the model.

    with Work(options.output, job_of(options), resume=..., overwrite=...) as work:
        training = begin(work, options, tell=...)
        for step in training.steps():
            ...                                 # the caller shows it, and may stop at a checkpoint
        training.save(config=...)

In the working folder, `OUTPUT.partial`: the token store (unless --cache has it), a checkpoint, the
log, snapshots, and the batch of a loss that was no number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from dialtools.encoder.descent import content
from dialtools.encoder.device import settled_precision
from dialtools.encoder.folder import model_folder
from dialtools.errors import ModelError
from dialtools.streams.job import Job
from dialtools.streams.provenance import Inputs
from dialtools.streams.resume import Work
from dialtools.streams.tally import counted
from dialtools.train import checkpoint, save, steplog
from dialtools.train.data.overlap import shared
from dialtools.train.follow import lead
from dialtools.train.loop import NotFinite, Step, Trainer
from dialtools.train.material import STORE, VALIDATION, read_material
from dialtools.train.options import TrainOptions
from dialtools.train.plan import Forecast, forecast_of
from dialtools.train.prepare import build_trainer, cut_note
from dialtools.train.ranks import ALONE, Ranks
from dialtools.train.validate import Validation, asked, rank_of, validation_scores, validations_left

NAN_BATCH = "nan-batch.jsonl"
MAKES = (
    STORE,
    VALIDATION,
    checkpoint.FILE,
    checkpoint.BEST,
    steplog.NAME,
    save.SNAPSHOTS,
    NAN_BATCH,
)
"""What a run puts into its working folder."""


def job_of(options: TrainOptions) -> Job:
    """Return what a run is a job of: its options and inputs, and the model that it starts from.

    The precision is the one that `auto` comes to on this machine.
    """
    settled = replace(options, precision=settled_precision(options))
    facts = {}
    if name := options.model:
        facts["start"] = content(Path(name) if Path(name).is_file() else model_folder(name))
    inputs = Inputs(options.inputs)
    return Job("dial-train", settled, inputs, facts, makes=MAKES, directory=True)


@dataclass
class Training:
    """A run in its working folder.

    Attributes:
        validation: what validates, or None.
        skipped: bad records that were left out.
        last: figures of the last step, by name; of a validation too, if it has one.
        best: with --keep-best those of the step that would be saved, and which it is.
        forecast: how long the steps from here on take.
    """

    work: Work
    trainer: Trainer
    options: TrainOptions
    validation: Validation | None
    skipped: int
    last: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    forecast: Forecast = field(init=False)

    @property
    def folder(self) -> Path:
        return self.work.folder

    def restore(self) -> None:
        """Go on from the checkpoint, if there is one."""
        facts = checkpoint.restore(self.trainer, self.folder)
        if facts:
            self.last = facts["last"]
        if facts and self.validation:
            self.validation.before, self.validation.after = facts["before"], facts["after"]
        best = checkpoint.best_facts(self.folder)
        if best and self.validation:
            self.best, self.validation.after = best["row"], best["scores"]
        left = validations_left(self.trainer.step, self.trainer.total, self._validate_every)
        self.forecast = forecast_of(self.trainer, validations=left if self.validation else 0)

    def steps(self) -> Iterator[Step]:
        """Yield each step after it was taken, logged and kept.

        Raises:
            ModelError: if the loss is no number; the batch is kept.
        """
        reached = self.trainer.step
        told = steplog.StepLog(self.folder, upto=reached, tensorboard=self.options.tensorboard)
        with closing(told) as log:
            if reached == 0:
                self._keep_snapshot()
                if self.validation:
                    self.validation.before = self._scores(self.validation)
                    log.add({"step": 0, **self.validation.before})
            for step in self._finite_steps():
                row = step.record()
                if self.validation and self._validates(step.step):
                    row |= self._validate(self.validation, row)
                self.last = row
                log.add(row)
                self._keep_snapshot()
                if step.step % self.options.checkpoint_every == 0:
                    self.checkpoint()
                yield step

    def checkpoint(self) -> None:
        """Write down where the run is, so that it can go on from here."""
        self.trainer.check_weights()
        facts: dict[str, Any] = {"last": self.last}
        if self.validation:
            facts |= {"before": self.validation.before, "after": self.validation.after}
        checkpoint.save(self.trainer, self.folder, facts=facts)

    def save(self, *, config: str) -> None:
        """Write the model directory; the working folder goes.

        Args:
            config: text of dialtools.toml, which runs it again on its pairs.
        """
        self.trainer.check_weights()
        after = self.validation.after if self.validation else {}
        with self.trainer.saved.in_place():
            if self.options.keep_best:
                checkpoint.load_best(self.trainer, self.folder)
            save.save_run(
                self.work,
                self.trainer,
                self.options,
                figures=(self.best or self.last) | after,
                validation=self.validation.facts() if self.validation else None,
                config=config,
            )
        self.work.finish()

    def size(self) -> str:
        """Return the size of what is learnt from, in words."""
        counts = self.trainer.setting.store.counts
        lessons = counts["lessons"]
        taught = f"{counted(lessons, 'text')} of a teacher, " if lessons else ""
        return (
            f"{counted(counts['pairs'], 'pair')}, "
            f"{taught}"
            f"{counted(counts['utterances'], 'distinct utterance')}, "
            f"{counted(counts['tokens'], 'token')}"
        )

    def summary(self) -> str:
        """Return the figures of the closing line."""
        steps = counted(self.trainer.step, "step")
        parts = [steps, counted(len(self.trainer.sampler.pairs), "pair")]
        told = self.best or self.last
        best = f" at step {told['step']:,}, the best" if self.best else ""
        if "loss" in told:
            parts.append(f"loss {told['loss']:.3f}{best}")
        return ", ".join(parts)

    def fallen(self) -> str:
        """Return what to say of a run that ends below its start; of others nothing."""
        if not self.validation or not self.validation.fell:
            return ""
        ways = ["more pairs or steps"]
        if self.options.model:
            merges = self.trainer.values.merge_with_start < 1
            ways = ["a smaller --lr"]
            ways += [] if merges else ["--merge-with-start 0.5"]
            ways += [] if self.options.keep_best else ["--keep-best"]
        may = " or ".join(ways)
        return f"it selects responses less often than its start did: {may} may mend that"

    def _finite_steps(self) -> Iterator[Step]:
        try:
            yield from self.trainer.steps()
        except NotFinite as error:
            path = self.folder / NAN_BATCH
            rows = (self.trainer.setting.store.record(int(pair)) for pair in error.pairs)
            path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
            hint = f"its batch is in {path}; {error.hint}"
            raise ModelError(error.message, hint=hint) from None

    @property
    def _validate_every(self) -> int:
        return self.options.validate_every or self.trainer.sampler.per_epoch

    def _validates(self, step: int) -> bool:
        return step % self._validate_every == 0 or step == self.trainer.total

    def _scores(self, validation: Validation) -> dict[str, float]:
        began = time.monotonic()
        scores = validation_scores(self.trainer, validation.store, validation.pairs)
        self.forecast.validation_seconds = time.monotonic() - began
        return scores

    def _validate(self, validation: Validation, row: dict[str, Any]) -> dict[str, float]:
        """Return the scores after a step; the best model so far is kept, with its row."""
        self.trainer.check_weights()
        with self.trainer.saved.in_place():
            scores = self._scores(validation)
            if not self.options.keep_best:
                validation.after = scores
            elif rank_of(scores) > rank_of(validation.after):
                self.best, validation.after = row | scores, scores
                facts = {"row": self.best, "scores": scores}
                checkpoint.save_best(self.trainer, self.folder, facts=facts)
        return scores

    def _keep_snapshot(self) -> None:
        """Keep the model as it is now, if this is a step to keep."""
        every = self.options.snapshot_every
        if every is None:
            return
        step = self.trainer.step
        every = every if isinstance(every, int) else self.trainer.sampler.per_epoch
        if step % every == 0 or step == self.trainer.total:
            self.trainer.check_weights()
            with self.trainer.saved.in_place():
                save.keep_snapshot(self.work, self.trainer, self.options, figures=self.last)


def _alone(trainer: Trainer) -> str:
    """Return the line on pairs that no batch takes, or ""."""
    alone = len(trainer.setting.pairs) - len(trainer.sampler.pairs)
    return f"{counted(alone, 'pair')} left out: alone of its window or kind" if alone else ""


def _found_by_itself(validation: Validation) -> str:
    """Return the line on validation pairs that tell nothing, or ""."""
    if not validation.store.of_one_text(validation.pairs).all():
        return ""
    return "validation finds each text by itself: --validation FILE of dialogues' pairs tells more"


def _learnt(validation: Validation, trainer: Trainer) -> str:
    """Return the line on validation pairs most of which are trained on, or "".

    A third may be by chance: that many of DSTC2's pairs of one turn are in its training part.
    """
    setting = trainer.setting
    known, store = len(validation.pairs), setting.store
    vocabulary = setting.encoder.vocabulary
    both = shared(validation.pairs, validation.store, setting.pairs, store, vocabulary=vocabulary)
    if 2 * both < known:
        return ""
    return f"--validation: {both:,} of {counted(known, 'pair')} are trained on, and tell little"


def begin(
    work: Work, options: TrainOptions, *, tell: Callable[[str], None], ranks: Ranks = ALONE
) -> Training:
    """Read the pairs and the encoder, and go on from the checkpoint if the working folder has one.

    Args:
        ranks: the processes that take the steps, which this one leads.
        tell: is given what the user should know before the steps begin, a line at a time.
    """
    material = read_material(
        work.folder,
        options,
        work.job.inputs,
        tell=tell,
        note_stdin=lambda content: work.note_stdin(content, keep=True),
    )
    work.job.settle()
    validation = None
    if material.validation:
        store, pairs = material.validation
        validation = Validation(store, asked(store, pairs))
    training = Training(
        work=work,
        trainer=build_trainer(
            material.encoder, material.store, material.train, options, ranks, tell=tell
        ),
        options=options,
        validation=validation,
        skipped=material.skipped,
    )
    trainer = training.trainer
    notes = [cut_note(trainer), _alone(trainer), trainer.objective.note()]
    notes += [_found_by_itself(validation)] if validation else []
    notes += [_learnt(validation, trainer)] if validation and options.validation else []
    for line in filter(None, notes):
        tell(line)
    training.restore()
    lead(training.trainer, work.folder.absolute(), common=bool(options.cache))
    return training
