"""Action prediction: which acts does the next system turn have, or the current one? (METHODS 4.6, 3.8, 3.9)

The two targets are told apart by what the rows are, not by what the user says they are:

- Rows of turns (`dialogue_id`, `turn`, `acts`: `dial-embed --per turn`): the vector is of the
    history that ends with the
  turn, the acts are its own. `current` takes them, `next` those of the turn after it; the last turn
      has none.
- Ready-made rows (`labels`): the acts of `response`. If the file tells that the response was
    embedded it is `current`,
  else `next`; the other one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from dialtools.errors import ConfigError, DataError
from dialtools.eval import probe, sanity
from dialtools.eval.identity import identity
from dialtools.eval.options.probes import ActOptions
from dialtools.eval.rows import groups
from dialtools.eval.score import Score, of_queries
from dialtools.metrics import f1
from dialtools.metrics.resample import bootstrap_sums
from dialtools.streams.vectors import Embeddings

THRESHOLD = 0.5
TARGET = "target"


def evaluate(
    options: ActOptions, advance: Callable[[int], None] = lambda _: None
) -> tuple[list[Score], dict[str, str]]:
    """Return micro, macro, weighted and samples F1 in percent, and the metadata of the embedding file.

    The labels are those of training and test rows; one that is never guessed has F1 0 and counts in
    the macro average.
    """
    parts = probe.read_probe_parts(options).each(lambda part: examples(part, options))
    names = sorted(
        {
            name
            for part in (parts.train, parts.test)
            for acts in part.columns[TARGET]
            for name in acts
        }
    )
    if len(names) < 2:
        raise DataError(f"{len(names)} act in all: nothing to tell apart", where=parts.train.name)
    truth = parts.each(lambda part: indicators(part.columns[TARGET], names))

    layer = probe.train(parts, truth, quality, options, advance)
    guess = layer(parts.test.matrix) > THRESHOLD
    counts = f1.counts(truth.test, guess)
    each = {
        "truth": [np.flatnonzero(row).tolist() for row in truth.test],
        "guess": [np.flatnonzero(row).tolist() for row in guess],
        "labels": len(names),
    }
    facts: dict[str, Any] = {
        "task": "act",
        "dataset": options.name or parts.test.name,
        "setting": options.target,
        "seed": options.seed,
        "chosen": layer.chosen,
        "items": identity(parts.test.columns, also=(TARGET,)),
        "groups": groups(parts.test, options.group),
    }
    together = np.asarray(facts["groups"], np.int64) if facts["groups"] else None
    scores = []
    for name, average in f1.AVERAGES.items():
        value, low, high = bootstrap_sums(counts, average, seed=options.seed, groups_N=together)
        scores.append(
            Score(
                metric=f"{name}-f1",
                value=100 * value,
                low=100 * low,
                high=100 * high,
                std=float("nan"),
                runs=1,
                n=len(counts),
                each=each,
                **facts,
            )
        )
    scores.append(of_queries(100 * f1.by_row(counts), metric="samples-f1", **facts))
    sanity.check(
        scores, parts.train, parts.test, parts.train.columns[TARGET], parts.test.columns[TARGET]
    )
    return scores, parts.train.metadata


def quality(truth_NA: np.ndarray, probabilities_NA: np.ndarray) -> float:
    """Return the mean of micro and macro F1, by which hyper-parameters are chosen (as DSE chooses its checkpoints)."""
    sums = f1.counts(truth_NA, probabilities_NA > THRESHOLD).sum(0)
    return float(f1.micro(sums) + f1.macro(sums)) / 2


def indicators(acts: list[list[str]], names: list[str]) -> np.ndarray:
    """Return (N, A) ones where a row has an act; acts that are not among the names are left out."""
    place = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(acts), len(names)), np.int64)
    for row, own in enumerate(acts):
        table[row, [place[name] for name in own if name in place]] = 1
    return table


def examples(part: Embeddings, options: ActOptions) -> Embeddings:
    """Return the rows that have a target, with its acts in column `target`.

    Raises:
        DataError: if no row has one, or the turn that is looked up is missing.
        ConfigError: if the file cannot have been made for the target.
    """
    of_turns = all(name in part.columns for name in ("dialogue_id", "turn", options.acts))
    if of_turns and options.label in part.columns:
        raise DataError(
            f"has {options.acts} (of each turn) and {options.label} (of the target): which?",
            where=part.name,
            hint="leave one out with dial-embed --keep, or name another with --acts or --label",
        )
    if of_turns:
        targets = _of_turns(part, options)
    else:
        _check_visible(part, options)
        targets = dict(enumerate(range(len(part))))
    said = part.column(options.acts if of_turns else options.label)
    who = part.column("speaker") if options.speaker else []
    rows = [
        row
        for row, at in targets.items()
        if said[at] is not None and (not who or who[at] == options.speaker)
    ]
    if not rows:
        raise DataError("no row has acts to predict", where=part.name)
    kept = part.select(np.asarray(rows, np.int64))
    kept.columns[TARGET] = [_names(said[targets[row]], part, targets[row]) for row in rows]
    return kept


def _of_turns(part: Embeddings, options: ActOptions) -> dict[int, int]:
    """Return {row: the row whose acts it is to predict}: itself, or the next turn of its dialogue."""
    if options.target == "current":
        return dict(enumerate(range(len(part))))
    places = list(zip(map(str, part.column("dialogue_id")), part.column("turn"), strict=True))
    odd = next((row for row, (_, turn) in enumerate(places) if type(turn) is not int), None)
    if odd is not None:
        raise DataError(
            f"row {odd + 1}: turn: expected a whole number, got {places[odd][1]!r}", where=part.name
        )
    at = {place: row for row, place in enumerate(places)}
    if len(at) < len(places):
        twice = next(place for row, place in enumerate(places) if at[place] != row)
        raise DataError(f"dialogue {twice[0]} has turn {twice[1]} twice", where=part.name)
    last: dict[str, int] = {}
    for dialogue, turn in places:
        last[dialogue] = max(turn, last.get(dialogue, turn))
    targets = {}
    for row, (dialogue, turn) in enumerate(places):
        if turn == last[dialogue]:
            continue
        if (dialogue, turn + 1) not in at:
            raise DataError(
                f"dialogue {dialogue} has no turn {turn + 1}, which follows row {row + 1}",
                where=part.name,
                hint="next turns are looked up: keep every turn of a dialogue, in one split",
            )
        targets[row] = at[dialogue, turn + 1]
    return targets


def _check_visible(part: Embeddings, options: ActOptions) -> None:
    """Refuse a target that what was embedded rules out: the response is the turn that has the labels."""
    about = orjson.loads(part.metadata.get("dialtools", "{}"))
    fields = (about.get("options") or {}).get("field") or []
    made_of = {name for given in fields for name in given.split("+")}
    if options.target == "next" and "response" in made_of:
        raise ConfigError(
            f"its vectors are of {'+'.join(fields)}: the turn that has the acts is visible",
            where=part.name,
            hint="--target current, or embed the history alone",
        )
    if options.target == "current" and "history" in made_of and "response" not in made_of:
        raise ConfigError(
            "its vectors are of the history alone: the turn that has the acts is not visible",
            where=part.name,
            hint="--target next, or dial-embed --field history+response",
        )


def _names(value: Any, part: Embeddings, row: int) -> list[str]:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return value
    raise DataError(
        f"row {row + 1}: acts: expected a list of names, got {str(value)[:40]!r}", where=part.name
    )
