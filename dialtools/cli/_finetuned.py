"""Runs of fine-tuning as scores: the two packages know nothing of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dialtools.eval.score import Score, Scored
    from dialtools.finetune.job import Measured, Runs


def scored(runs: Runs, options: Any) -> Scored:
    """Return the scores of all runs; each names its model, for the records have no metadata.

    Args:
        options: those of the task with those of the report (`cli.finetune.TaskCommand`).
    """
    from dialtools.eval.identity import item_digests
    from dialtools.eval.sanity import note_on_unlearnt
    from dialtools.eval.score import Scored

    items = item_digests(runs.task.columns, also=(runs.task.label_field,))
    dataset = options.name or options.test or ", ".join(options.inputs)
    scores = [_score(metric, items) for metric in runs.measured(dataset)]
    lost = runs.task.unlearnt
    notes = [note_on_unlearnt(lost, runs.task.tested)] if lost else []
    return Scored(scores, metadata={}, notes=notes)


def _score(metric: Measured, items: dict[str, str]) -> Score:
    from dialtools.eval.score import of_runs, shares

    each = [] if metric.each is None else shares(metric.each)
    return of_runs(metric.values, each=each, items=items, **metric.facts)
