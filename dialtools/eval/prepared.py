"""Tasks on records whose rows are chosen once, then scored for the vectors of many models.

N records, D dimensions, R runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from dialtools.corpora.fields import as_text, label
from dialtools.corpora.read import read_records
from dialtools.corpora.splits import rows_by_split, rows_of_split
from dialtools.corpora.turns import Record, field_of, query_field, shared_fields
from dialtools.errors import DataError
from dialtools.eval.identity import item_digests
from dialtools.eval.labelled import Labelled
from dialtools.eval.options.curve import SCOPE_METRICS, CurveOptions
from dialtools.eval.options.select import SelectOptions
from dialtools.eval.score import Score
from dialtools.eval.tasks import oos, select
from dialtools.eval.tasks.intent import prototype_accuracy
from dialtools.metrics.episodes import sample
from dialtools.metrics.space import unit
from dialtools.streams.policy import Policy
from dialtools.streams.tally import counted
from dialtools.streams.vectors import Embeddings

TRAIN = "train"
"""The split that examples are drawn from."""
USUAL_CANDIDATES = 100
HEADLINES = ("top-1", "accuracy")


class Prepared(Protocol):
    """A task with its rows chosen."""

    @property
    def records(self) -> Sequence[Record]:
        """Those that are embedded."""
        ...

    @property
    def fields(self) -> Sequence[str]:
        """What of them is embedded."""
        ...

    def scores(self, vectors: Mapping[str, np.ndarray]) -> list[Score]:
        """Return the scores of a model, from (N, D) vectors of each field of the records."""
        ...


def prepare(options: CurveOptions) -> list[Prepared]:
    """Return the tasks that are asked for, with their rows.

    Raises:
        DataError: if there is nothing to tell apart, or too little to choose among.
    """
    tasks: list[Prepared] = []
    if options.intent:
        tasks.append(prepare_intents(options.intent, options))
    if options.oos:
        tasks.append(prepare_scopes(options.oos, options))
    if options.select:
        tasks.append(prepare_selections(options.select, options))
    return tasks


@dataclass(frozen=True)
class Drawn:
    """Labelled records, some of which each run sees.

    Attributes:
        records: those that some episode trains on, then those to be tested on.
        train_labels, test_labels: of the records.
        names: the classes.
        episodes: for each number of shots, the rows that each run trains on.
        items: digests of what tells which the tested records are.
    """

    file: str
    seed: int
    records: list[Record]
    train_labels: list[str]
    test_labels: list[str]
    names: list[str]
    episodes: dict[int, list[np.ndarray]]
    fields: tuple[str, ...] = ("text",)
    items: dict[str, str] = field(default_factory=dict)

    def facts(self, task: str) -> dict[str, Any]:
        """Return what all scores of a task have in common."""
        return {"task": task, "dataset": self.file, "seed": self.seed, "items": self.items}

    def parts(self, vectors: Mapping[str, np.ndarray]) -> tuple[Labelled, Labelled]:
        """Return the examples and the rows to be tested on, from the vectors of all records."""
        unit_ND = unit(vectors["text"])
        examples = len(self.train_labels)
        return (
            Labelled(unit_ND[:examples], self.train_labels),
            Labelled(unit_ND[examples:], self.test_labels),
        )


Few = TypeVar("Few", bound=Drawn)


class Intents(Drawn):
    """Few-shot intents by prototypes, as `dial-eval intent` has them."""

    def scores(self, vectors: Mapping[str, np.ndarray]) -> list[Score]:
        """Return the accuracy of each number of shots."""
        train, test = self.parts(vectors)
        facts = self.facts("intent")
        return [
            prototype_accuracy(train, test, self.names, runs, setting=f"{shots}-shot", **facts)
            for shots, runs in self.episodes.items()
        ]


class Scopes(Drawn):
    """What is out of scope, the last of the classes, as `dial-eval oos` tells it."""

    def scores(self, vectors: Mapping[str, np.ndarray]) -> list[Score]:
        """Return the scores that a curve has, of each number of shots."""
        parts = self.parts(vectors)
        return [score for shots in self.episodes for score in self._of_shots(shots, *parts)]

    def _of_shots(self, shots: int, train: Labelled, test: Labelled) -> list[Score]:
        runs = [oos.one_run(train, test, None, self.names, rows) for rows in self.episodes[shots]]
        wanted = [
            {key: adds for key, adds in run.items() if " ".join(key).strip() in SCOPE_METRICS}
            for run in runs
        ]
        facts = self.facts("oos") | {"n": len(test.labels)}
        return oos.scores_of_runs(wanted, f"{shots}-shot", facts)


def prepare_intents(file: str, options: CurveOptions) -> Intents:
    """Draw the episodes of the classes but --without, from records that nobody made.

    Raises:
        DataError: if a record lacks its label or split, or there is nothing to tell apart.
    """
    return _drawn(Intents, file, options, without=options.without, made=False)


def prepare_scopes(file: str, options: CurveOptions) -> Scopes:
    """Draw the episodes; out of scope is a class too, the last.

    Raises:
        DataError: as `prepare_intents`; or if what is out of scope is nothing, or all.
    """
    drawn = _drawn(Scopes, file, options, without=None, made=True)
    oos.check_both_kinds(drawn.train_labels, "training", options.oos_label)
    oos.check_both_kinds(drawn.test_labels, "test", options.oos_label)
    inside = [name for name in drawn.names if name != options.oos_label]
    return replace(drawn, names=[*inside, options.oos_label])


def _drawn(
    kind: type[Few], file: str, options: CurveOptions, *, without: str | None, made: bool
) -> Few:
    """Draw episodes, with those that dial-augment made or without."""
    records = _records(file)
    labels = [as_text(field_of(*placed, options.label, label)) for placed in records]
    by_split = rows_by_split(field_of(*placed, options.split, label) for placed in records)

    def wanted(split: str) -> list[int]:
        rows = rows_of_split(by_split, split, column=options.split, where=file)
        return [row for row in rows if labels[row] != without]

    train, test = wanted(TRAIN), wanted(options.test_split)
    train = [row for row in train if made or not records[row][1].get("synthetic")]
    names = sorted({labels[row] for row in train})
    if len(names) < 2 or not test:
        raise DataError(
            f"{counted(len(names), 'class')} to learn, {counted(len(test), 'row')} to test: "
            "nothing to tell apart",
            where=file,
        )

    train_labels = [labels[row] for row in train]
    drawn = _draw(train_labels, options)
    # only what some run trains on is embedded: a few rows of thousands
    needed = np.unique(np.concatenate([rows for runs in drawn.values() for rows in runs]))
    examples, tested = [records[train[i]] for i in needed], [records[row] for row in test]
    episodes = {
        shots: [np.searchsorted(needed, rows) for rows in runs] for shots, runs in drawn.items()
    }
    return kind(
        file=file,
        seed=options.seed,
        records=examples + tested,
        train_labels=[train_labels[i] for i in needed],
        test_labels=[labels[row] for row in test],
        names=names,
        episodes=episodes,
        items=item_digests(shared_fields(tested), also=(options.label,)),
    )


def _draw(labels: list[str], options: CurveOptions) -> dict[int, list[np.ndarray]]:
    """Return the rows that each run trains on, for each number of shots."""
    seeds = range(options.seed, options.seed + options.runs)
    return {
        shots: [sample(labels, shots, seed=seed).train for seed in seeds] for shots in options.shots
    }


@dataclass(frozen=True)
class Selections:
    """Responses among those of consecutive rows, as `dial-eval select` has them."""

    file: str
    options: SelectOptions
    records: list[Record]
    fields: tuple[str, str]
    items: dict[str, str]

    def scores(self, vectors: Mapping[str, np.ndarray]) -> list[Score]:
        """Return top-1/3/5/10 and MRR."""
        query, response = self.fields
        source = Embeddings(
            {"query_embedding": vectors[query], "response_embedding": vectors[response]},
            {"response": [str(record["response"]) for _, record in self.records]},
            name=self.file,
        )
        facts: dict[str, Any] = {
            "task": "select",
            "dataset": self.file,
            "setting": f"1-of-{self.options.candidates} blocks",
            "seed": self.options.seed,
            "items": self.items,
        }
        return select.scores(select.among_rows(source, self.options), self.options, **facts)


def prepare_selections(file: str, options: CurveOptions) -> Selections:
    """Find the queries.

    Raises:
        DataError: if there are fewer records than candidates, or the first has no query.
    """
    records = _records(file)
    if len(records) < options.candidates:
        raise DataError(
            f"{counted(len(records), 'record')}, fewer than the {options.candidates} candidates",
            where=file,
            hint="--candidates N",
        )
    query = query_field(records[0])
    chosen = SelectOptions(inputs=(file,), candidates=options.candidates, seed=options.seed)
    asked = records[: len(records) // options.candidates * options.candidates]
    items = item_digests(shared_fields(asked))
    return Selections(file, chosen, records, (query, "response"), items)


def prepare_file(file: str, *, seed: int) -> Prepared:
    """Return the task of a file: pairs are selected among 100, or all there are; else intents.

    Raises:
        DataError: as the tasks do; or if it holds nothing.
    """
    records = _records(file)
    if not records:
        raise DataError("holds no records", where=file)
    candidates = min(USUAL_CANDIDATES, len(records))
    options = CurveOptions(inputs=(file,), intent=file, candidates=candidates, seed=seed)
    prepare_task = prepare_selections if "response" in records[0][1] else prepare_intents
    return prepare_task(file, options)


def headline(scores: Sequence[Score]) -> float:
    """Return the one figure of a task: top-1, or accuracy over the numbers of shots; in percent."""
    return float(np.mean([s.value for s in scores if s.metric in HEADLINES]))


def _records(file: str) -> list[Record]:
    return list(read_records([file], format=None, policy=Policy()))
