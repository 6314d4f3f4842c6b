"""What `dialtools assign` does: make or load a router, give each row its nearest class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from dialtools.corpora import fields
from dialtools.errors import DataError
from dialtools.metrics.classify import threshold_at_precision, threshold_at_recall
from dialtools.near.assign_options import RECALL, AssignOptions
from dialtools.near.router import ALWAYS, NEVER, Router
from dialtools.near.rows import usual
from dialtools.near.unlabelled import refined
from dialtools.shown import listed
from dialtools.streams.carried import scalars
from dialtools.streams.making import one_space
from dialtools.streams.tally import anew, counted
from dialtools.streams.vector_files import embedding_parts, read_embeddings
from dialtools.streams.vectors import Embeddings, check_dimensions

WRITTEN = ("assigned", "score", "runners_up")
ROWS_AT_ONCE = 1024
"""Whose cosines with all examples are held."""


class Assigning:
    """One run.

    Attributes:
        notes: what is to be said of classes and thresholds.
        kept: the fields of the rows that go along.
    """

    def __init__(self, options: AssignOptions) -> None:
        self.options = options
        self.notes: list[str] = []
        self.kept: dict[str, None] = {}
        self.rows = self.near = self.nowhere = 0
        self.router = Router.load(options.router) if options.router else self._made()

    def _made(self) -> Router:
        """Make a router of the examples, with thresholds."""
        options = self.options
        examples, labels = self._labelled(options.examples)
        of_none_N = np.array(labels) == options.none
        zeros_N = ~self._somewhere(examples) & ~of_none_N
        rows = np.flatnonzero(~of_none_N & ~zeros_N)
        if not len(rows):
            raise DataError("holds no example of a class", where=examples.name)
        for what, left_out_N in ((options.none, of_none_N), ("zeros", zeros_N)):
            if left_out := int(left_out_N.sum()):
                self.notes.append(f"{counted(left_out, 'example')} of {what} left out")
        labels = [labels[i] for i in rows]
        self.notes += fields.note_on_alike(fields.alike(labels))
        router = Router.of_examples(
            examples.chosen(options.vectors)[1][rows],
            labels,
            nearest=options.nearest,
            none=options.none,
            where=examples.name,
        )
        router.space = one_space({}, examples.metadata, where=examples.name)
        if options.unlabelled:
            self._refine(router, options.unlabelled, sizes=Counter(labels))
        least = ALWAYS if options.min_cosine is None else options.min_cosine
        router.thresholds = np.full(len(router.labels), least)
        if options.validation:
            router.thresholds = self._thresholds(router)
        elif options.min_cosine is None:
            self.notes.append("no thresholds: each row gets its nearest class")
        return router

    def _refine(self, router: Router, path: str, *, sizes: Mapping[str, int]) -> None:
        """Move prototypes towards rows of a file; sizes tell how many examples each class has."""

        def blocks() -> Iterator[np.ndarray]:
            for part in embedding_parts([path]):
                yield from self._blocks(router, part)

        counts_C = np.array([sizes[label] for label in router.labels])
        router.vectors, found, every = refined(router.vectors, counts_C, blocks)
        rows = counted(every, "unlabelled row")
        self.notes.append(f"of {rows} {found:,} are surely of a class, and moved it")

    def _labelled(self, path: str | None) -> tuple[Embeddings, list[str]]:
        """Read the rows of a file that have a label, and these as text.

        Raises:
            DataError: naming the row whose label is none, or if no row has one.
        """
        part, name = read_embeddings([path or "-"]), self.options.label
        values = part.column(name, hint="--label names it")
        rows = [i for i, value in enumerate(values) if fields.is_known(value)]
        if not rows:
            raise DataError(f"no row has a {name}", where=part.name, hint="--label names it")
        if left_out := len(values) - len(rows):
            self.notes.append(f"{part.name}: {counted(left_out, 'row')} without a {name} left out")
            part = part.select(np.array(rows, np.int64))
        return part, [fields.as_text(value) for value in part.column(name, fields.label)]

    def _thresholds(self, router: Router) -> np.ndarray:
        """Return (C,) thresholds of validation rows, none below those there are."""
        options = self.options
        rows, own = self._labelled(options.validation)
        labels, truth_N = np.array(router.labels), np.array(own)
        scores_NC = self._scores(router, rows)
        nearest_N, score_N = scores_NC.argmax(1), scores_NC.max(1)
        somewhere_N = self._somewhere(rows)
        best_N = labels[nearest_N]
        right_N, inside_N = somewhere_N & (best_N == truth_N), np.isin(truth_N, labels)
        in_scope = int(inside_N.sum())
        if not in_scope:
            there = listed(sorted(set(truth_N.tolist())))
            hint = f"its classes are {there}; those of the examples {listed(labels.tolist())}"
            raise DataError("no row is of a class of the examples", where=rows.name, hint=hint)
        least, reached = self._threshold(score_N[somewhere_N], right_N[somewhere_N], in_scope)
        found, missed = np.full(len(labels), least), int(not reached)
        if options.per_class:
            missed = 0
            for number, label in enumerate(labels):
                own_N, there = somewhere_N & (best_N == label), int((truth_N == label).sum())
                reached = not there
                # a class of which they say nothing has the threshold of all
                if (own_N if options.precision else own_N & right_N).any():
                    found[number], reached = self._threshold(score_N[own_N], right_N[own_N], there)
                missed += not reached
        if missed:
            self.notes.append(self._not_reached(missed, int(right_N.sum()) / in_scope))
        found = np.maximum(found, router.thresholds)
        near_N = somewhere_N & (score_N >= found[nearest_N])
        self.notes.append(self._validated(near_N, right_N & near_N, inside_N))
        return found

    def _validated(self, near_N: np.ndarray, right_N: np.ndarray, inside_N: np.ndarray) -> str:
        """Say what validation rows get.

        Args:
            near_N: whether each gets a class; right_N: its own; inside_N: whether it has one.
        """
        rows = counted(int(inside_N.sum()), "validation row")
        line = f"of {rows} of the classes {right_N[inside_N].mean():.1%} get the right one, "
        line += f"{(near_N & ~right_N)[inside_N].mean():.1%} another"
        if inside_N.all():
            return line
        others, none = int((~inside_N).sum()), self.options.none
        return f"{line}; of {others:,} others {(~near_N)[~inside_N].mean():.1%} get {none}"

    def _not_reached(self, missed: int, right: float) -> str:
        """Say what thresholds cannot do.

        Args:
            missed: classes that do not reach what was asked; 1 for all of them together.
            right: the share of the rows of classes whose nearest class is theirs.
        """
        options = self.options
        asked = "precision" if options.precision else "recall"
        who = f"of {counted(missed, 'class')} " if options.per_class else ""
        line = (
            f"{who}no threshold reaches {asked} {options.precision or options.recall or RECALL:g}"
        )
        if options.precision:
            return line
        return (
            f"{line}: {right:.1%} of the rows of classes are nearest to their own; more "
            "examples, or vectors of an encoder trained on them (same-label), may change that"
        )

    def _threshold(
        self, score_N: np.ndarray, right_N: np.ndarray, there: int
    ) -> tuple[float, bool]:
        """Return a threshold for rows of one nearest class, and whether it keeps what was asked.

        Args:
            there: how many rows are of the class, whatever their nearest one is.
        """
        if self.options.precision:
            least = threshold_at_precision(score_N, right_N, self.options.precision)
            return least, least < NEVER
        wanted = self.options.recall or RECALL
        least = threshold_at_recall(score_N[right_N], wanted, of=there)
        return least, int((score_N[right_N] >= least).sum()) >= wanted * there - 1e-9

    def _scores(self, router: Router, part: Embeddings) -> np.ndarray:
        """Return (N, C) scores of the rows of a part."""
        return np.concatenate([router.scores(block) for block in self._blocks(router, part)])

    def _blocks(self, router: Router, part: Embeddings) -> Iterator[np.ndarray]:
        """Yield the vectors of a part, one block at least, after a check that classes have such.

        Raises:
            DataError: if they have not.
        """
        router.space = one_space(router.space, part.metadata, where=part.name)
        _, matrix_ND = part.chosen(self.options.vectors)
        check_dimensions(matrix_ND, router.vectors.shape[1], where=part.name)
        for start in range(0, max(1, len(matrix_ND)), ROWS_AT_ONCE):
            yield matrix_ND[start : start + ROWS_AT_ONCE]

    def _somewhere(self, part: Embeddings) -> np.ndarray:
        """Return (N,) which rows are near to anything: a vector of zeros is not."""
        return np.asarray(part.chosen(self.options.vectors)[1].any(axis=1))

    def records(self, *, lines: bool) -> Iterator[dict[str, Any]]:
        """Yield each row with its class, as it is read.

        Args:
            lines: they become JSON lines, else rows of a table.
        """
        parts = embedding_parts(self.options.files)
        every = (record for part in parts for record in self._of(part, lines=lines))
        return islice(every, self.options.limit)

    def _of(self, part: Embeddings, *, lines: bool) -> Iterator[dict[str, Any]]:
        router = self.router
        scores_NC = self._scores(router, part)
        told = 1 + self.options.runners_up
        order_NK = np.argsort(-scores_NC, axis=1, kind="stable")[:, :told]
        score_NK = np.take_along_axis(scores_NC, order_NK, axis=1)
        somewhere_N = self._somewhere(part)
        near_N = somewhere_N & (score_NK[:, 0] >= router.thresholds[order_NK[:, 0]])
        kept = {name: part.columns[name] for name in part.kept(self.options.keep, usual(part))}
        self.kept |= dict.fromkeys(kept)
        if not lines:
            kept = {name: scalars(values) for name, values in kept.items()}
        for i in range(len(part)):
            ranked = [
                {"label": router.labels[c], "score": score}
                for c, score in zip(order_NK[i].tolist(), score_NK[i].tolist(), strict=True)
            ]
            self.rows += 1
            self.near += bool(near_N[i])
            self.nowhere += not somewhere_N[i]
            yield {
                **{name: values[i] for name, values in kept.items() if values[i] is not None},
                "assigned": ranked[0]["label"] if near_N[i] else router.none,
                "score": ranked[0]["score"],
                "runners_up": ranked[bool(near_N[i]) :][: self.options.runners_up],
            }

    def closing_line(self) -> str:
        """Return how many rows got a class."""
        none = f"; {self.rows - self.near:,} {self.router.none}" if self.rows > self.near else ""
        zeros = f"; {counted(self.nowhere, 'vector')} of zeros" if self.nowhere else ""
        classes = counted(len(self.router.labels), "class")
        return f"{counted(self.rows, 'row')}, {classes}{none}{zeros}{anew(self.kept, WRITTEN)}"
