"""Scores of many models on the same rows: what needs vectors, and what is told from them.

Rows and episodes are chosen once; each model's vectors are then scored without a file between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dialtools.corpora.turns import Record, field_of
from dialtools.errors import DataError
from dialtools.eval.labelled import Labelled
from dialtools.eval.options.select import SelectOptions
from dialtools.eval.score import Score, of_runs, shares
from dialtools.eval.tasks import select
from dialtools.eval.tasks.intent import prototype_hits
from dialtools.metrics.episodes import sample
from dialtools.metrics.space import unit
from dialtools.streams.vectors import Embeddings

TRAIN = "train"


class Intents:
    """Few-shot intents by prototypes, as `dial-eval intent` has them.

    Attributes:
        records: those that some episode trains on, then the test ones.
        fields: what of them is embedded.
        metrics: the names of the scores.
    """

    def __init__(
        self,
        records: Sequence[Record],
        *,
        name: str,
        shots: Sequence[int],
        runs: int,
        seed: int,
        label: str,
        split: str,
        test_split: str,
        without: str | None,
    ) -> None:
        """Draw the episodes.

        Raises:
            DataError: if a record lacks label or split, or there is nothing to tell apart.
        """
        self.name, self.seed, self.fields = name, seed, ("text",)
        labelled = [
            (where, row, str(field_of(where, row, label)), str(field_of(where, row, split)))
            for where, row in records
        ]
        train, test = (
            [(at, row, own) for at, row, own, part in labelled if part == wanted and own != without]
            for wanted in (TRAIN, test_split)
        )
        labels = [own for _, _, own in train]
        self.names = sorted(set(labels))
        if len(self.names) < 2 or not test:
            raise DataError(
                f"{len(self.names)} class to learn, {len(test)} rows to test: nothing to tell apart",
                where=name,
            )
        drawn = {
            k: [sample(labels, k, seed=seed + run).train for run in range(runs)] for k in shots
        }
        needed = np.unique(np.concatenate([rows for k in drawn for rows in drawn[k]]))
        self.episodes = {k: [np.searchsorted(needed, rows) for rows in drawn[k]] for k in drawn}
        self.known, self.asked = [labels[i] for i in needed], [own for _, _, own in test]
        self.records = [(train[i][0], train[i][1]) for i in needed] + [
            (at, row) for at, row, _ in test
        ]
        self.metrics = tuple(f"{k}-shot accuracy" for k in shots)

    def scores(self, vectors: Mapping[str, np.ndarray]) -> list[Score]:
        """Return the accuracy of each shot count, from (N, D) vectors of the records."""
        unit_ND = unit(vectors["text"])
        known, asked = (
            Labelled(unit_ND[: len(self.known)], self.known),
            Labelled(unit_ND[len(self.known) :], self.asked),
        )
        y = asked.classes(self.names)
        facts = {
            "task": "intent",
            "dataset": self.name,
            "metric": "accuracy",
            "n": len(y),
            "seed": self.seed,
        }
        found = {
            k: np.stack([prototype_hits(known, asked, self.names, rows, y) for rows in episodes])
            for k, episodes in self.episodes.items()
        }
        return [
            of_runs(
                (100.0 * right_RN.mean(1)).tolist(),
                setting=f"{shots}-shot",
                each=shares(right_RN.mean(0)),
                **facts,
            )
            for shots, right_RN in found.items()
        ]


class Selections:
    """Responses among those of consecutive rows, as `dial-eval select` has them; attributes as above."""

    def __init__(self, records: Sequence[Record], *, name: str, candidates: int, seed: int) -> None:
        """Find the queries.

        Raises:
            DataError: if there are fewer records than candidates, or the first has no query.
        """
        self.name, self.seed, self.candidates = name, seed, candidates
        if len(records) < candidates:
            raise DataError(
                f"{len(records)} records, fewer than the {candidates} candidates of a query",
                where=name,
                hint="--candidates N",
            )
        where, first = records[0]
        query = next(
            (field for field in ("context", "history", "query") if first.get(field) is not None),
            None,
        )
        if query is None:
            raise DataError(
                f"no field context, history or query; there are {', '.join(first)}", where=where
            )
        self.records, self.fields = list(records), (query, "response")
        self.metrics = (*(f"top-{k}" for k in select.TOP), "mrr")

    def scores(self, vectors: Mapping[str, np.ndarray]) -> list[Score]:
        """Return top-1/3/5/10 and MRR, from (N, D) vectors of each field of the records."""
        query, response = (vectors[field] for field in self.fields)
        texts = [str(row["response"]) for _, row in self.records]
        source = Embeddings(
            {"query_embedding": query, "response_embedding": response},
            {"response": texts},
            name=self.name,
        )
        options = SelectOptions(inputs=(self.name,), candidates=self.candidates, seed=self.seed)
        found = select.among_rows(source, options)
        facts = {
            "task": "select",
            "dataset": self.name,
            "setting": f"1-of-{self.candidates} blocks",
            "seed": self.seed,
        }
        return select.scores(found, options, **facts)
