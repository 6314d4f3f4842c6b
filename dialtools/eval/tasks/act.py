"""Action prediction: which acts does the next system turn have, or the current one?

The two targets are told apart by what the rows are, not by what the user says they are
(DiaEval; DSE app. B.1; TOD-BERT):

- Rows of turns (`dialogue_id`, `turn`, `acts`: `dial-embed --per turn`): the vector is of the
  history that ends with the turn, the acts are its own. `current` takes them, `next` those of the
  turn after it; the last turn has none.
- Ready-made rows (`labels`): the acts of `response`. If the file tells that the response was
  embedded it is `current`, else `next`; the other one is refused.

N rows, A acts.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from dialtools.advance import Advance, silent
from dialtools.corpora import fields
from dialtools.errors import ConfigError, DataError
from dialtools.eval import probe, sanity
from dialtools.eval.identity import about
from dialtools.eval.options.act import ActOptions
from dialtools.eval.rows import Parts, groups
from dialtools.eval.score import Score, Scored, of_queries, of_statistic
from dialtools.metrics import f1
from dialtools.metrics.counts import label_f1
from dialtools.shown import listed
from dialtools.streams.tally import counted
from dialtools.streams.vectors import Embeddings

THRESHOLD = 0.5
TARGET = "target"


def evaluate(options: ActOptions, advance: Advance = silent) -> Scored:
    """Return micro, macro, weighted and samples F1 in percent.

    The labels are those of training and test rows; one that is never guessed has F1 0 and counts in
    the macro average.
    """
    parts = probe.read_probe_parts(options).each(lambda part: examples(part, options))
    acts = parts.each(lambda part: part.columns[TARGET])
    names = sorted({name for row in (*acts.train, *acts.test) for name in row})
    if len(names) < 2:
        acts_in_all = counted(len(names), "act")
        raise DataError(f"{acts_in_all} in all: nothing to tell apart", where=parts.train.name)
    truth = acts.each(lambda rows: f1.indicators(rows, names))

    layer = probe.train(parts, truth, quality, options, advance)
    guess_NA = layer(parts.test.matrix) > THRESHOLD
    facts = about("act", parts.test, options.target, options, also=(TARGET,))
    facts |= {"chosen": layer.chosen, "groups": groups(parts.test, options.group)}
    scores = _f1_scores(truth.test, guess_NA, facts)
    sanity.check(scores, parts.train, parts.test, acts.train, acts.test)
    return Scored(scores, parts.train.metadata, _notes(scores[0].data, acts))


def _notes(data: dict[str, Any], acts: Parts[list[list[str]]]) -> list[str]:
    """Return what a user should know of the rows, and of acts whose F1 is 0 whatever is guessed."""
    told = [sanity.note_on_rows(data), *fields.note_on_alike(data["train"].get("alike", ()))]
    learnt = dict.fromkeys(name for row in acts.train for name in row)
    tested = {name for row in acts.test for name in row}
    if absent := [name for name in learnt if name not in tested]:
        told.append(f"no test row has {listed(absent)}: F1 0 in the macro average")
    lost = Counter(name for row in acts.test for name in dict.fromkeys(row) if name not in learnt)
    if lost:
        told.append(f"no training row has {listed(lost)}: never guessed, F1 0 in the macro average")
    return told


def _f1_scores(truth_NA: np.ndarray, guess_NA: np.ndarray, facts: dict[str, Any]) -> list[Score]:
    """Return F1 of all averages, their intervals over resamples of whole groups."""
    counts_N3A = f1.counts(truth_NA, guess_NA)
    each: dict[str, Any] = {
        "truth": [np.flatnonzero(row).tolist() for row in truth_NA],
        "guess": [np.flatnonzero(row).tolist() for row in guess_NA],
        "labels": truth_NA.shape[1],
    }
    of_counts = {"n": len(counts_N3A), "each": each, **facts}
    scores = [
        of_statistic(label_f1(**each, average=name), metric=f"{name}-f1", **of_counts)
        for name in f1.AVERAGES
    ]
    return [*scores, of_queries(100 * f1.micro(counts_N3A), metric="samples-f1", **facts)]


def quality(truth_NA: np.ndarray, probabilities_NA: np.ndarray) -> float:
    """Return the mean of micro and macro F1, by which DSE too chooses its checkpoints."""
    sums = f1.counts(truth_NA, probabilities_NA > THRESHOLD).sum(0)
    return float(f1.micro(sums) + f1.macro(sums)) / 2


def examples(part: Embeddings, options: ActOptions) -> Embeddings:
    """Return the rows that have a target, with its acts in column `target`.

    Raises:
        DataError: if no row has one, or the turn that is looked up is missing.
        ConfigError: if the file cannot have been made for the target.
    """
    if _holds_turns(part, options):
        targets, name = _targets_of_turns(part, options), options.acts
    else:
        _check_visible(part, options)
        targets, name = {row: row for row in range(len(part))}, options.label

    acts = part.column(name)
    speakers = part.column("speaker") if options.speaker else []
    rows = [
        row
        for row, target in targets.items()
        if acts[target] is not None and (not speakers or speakers[target] == options.speaker)
    ]
    if not rows:
        raise DataError("no row has acts to predict", where=part.name)
    chosen = part.select(np.asarray(rows, np.int64))
    chosen.columns[TARGET] = [_names(part, name, targets[row]) for row in rows]
    return chosen


def _holds_turns(part: Embeddings, options: ActOptions) -> bool:
    """Tell whether the rows are turns with their own acts, or else ready-made."""
    columns = ("dialogue_id", "turn", options.acts)
    if options.acts != ActOptions.acts:  # whoever names it has rows of turns
        for name in columns:
            part.column(name)
    turns = all(name in part.columns for name in columns)
    if turns and options.label in part.columns:
        raise DataError(
            f"has {options.acts} (of each turn) and {options.label} (of the target): which?",
            where=part.name,
            hint="leave one out with dial-embed --keep, or name another with --acts or --label",
        )
    return turns


def _targets_of_turns(part: Embeddings, options: ActOptions) -> dict[int, int]:
    """Return {row: the row whose acts it is to predict}: itself, or the next of its dialogue."""
    if options.target == "current":
        return {row: row for row in range(len(part))}
    places = _places(part)
    row_at = {place: row for row, place in enumerate(places)}
    last: dict[str, int] = {}
    for dialogue, turn in places:
        last[dialogue] = max(turn, last.get(dialogue, turn))

    targets = {}
    for row, (dialogue, turn) in enumerate(places):
        if turn == last[dialogue]:
            continue
        if (dialogue, turn + 1) not in row_at:
            raise DataError(
                f"dialogue {dialogue} has no turn {turn + 1}, which follows row {part.place(row)}",
                where=part.name,
                hint="next turns are looked up: keep every turn of a dialogue, in one split",
            )
        targets[row] = row_at[dialogue, turn + 1]
    return targets


def _places(part: Embeddings) -> list[tuple[str, int]]:
    """Return dialogue and number of each turn.

    Raises:
        DataError: if a turn has no number, or the number of another.
    """
    places: dict[tuple[str, int], None] = {}
    dialogues = part.column("dialogue_id", fields.label)
    for dialogue, turn in zip(dialogues, part.column("turn", fields.place), strict=True):
        place = fields.as_text(dialogue), turn
        if place in places:
            raise DataError(f"dialogue {dialogue} has turn {turn} twice", where=part.name)
        places[place] = None
    return list(places)


def _check_visible(part: Embeddings, options: ActOptions) -> None:
    """Refuse a target that what was embedded rules out: the response has the labels."""
    # of several fields there are several vectors: `matrix` refuses these
    embedded = part.fields[0].split("+") if len(part.fields) == 1 else []
    if options.target == "next" and "response" in embedded:
        raise ConfigError(
            f"its vectors are of {part.fields[0]}: the turn that has the acts is visible",
            where=part.name,
            hint="--target current, or embed the history alone",
        )
    if options.target == "current" and "history" in embedded and "response" not in embedded:
        raise ConfigError(
            "its vectors are of the history alone: the turn that has the acts is not visible",
            where=part.name,
            hint="--target next, or dial-embed --field history+response",
        )


def _names(part: Embeddings, column: str, row: int) -> list[str]:
    value = part.columns[column][row]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return [*map(fields.as_text, value)]
    wrong = f"row {part.place(row)}: {column}: expected a list of names"
    raise DataError(f"{wrong}, got {str(value)[:40]!r}", where=part.name)
