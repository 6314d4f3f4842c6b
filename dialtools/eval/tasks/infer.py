"""Dialogue inference: does a dialogue contradict itself? (DiaEval; WMDC 3)

A probe with a softmax over the classes, and its accuracy. N rows.
"""

from __future__ import annotations

import numpy as np

from dialtools.advance import Advance, silent
from dialtools.corpora import fields
from dialtools.errors import DataError
from dialtools.eval import probe, sanity
from dialtools.eval.identity import about
from dialtools.eval.labelled import labels_of
from dialtools.eval.options.infer import InferOptions
from dialtools.eval.rows import groups
from dialtools.eval.score import Scored, of_queries
from dialtools.shown import quoted
from dialtools.streams.vectors import Embeddings
from dialtools.values import TRUTH

TRUE = {"1.0": True, "0.0": False, **TRUTH}
"""Whether a row has a label, in lower case: JSON, CSV, pandas, people say it differently."""


def evaluate(options: InferOptions, advance: Advance = silent) -> Scored:
    """Return the accuracy in percent, and that of always saying the most frequent class."""
    parts = probe.read_probe_parts(options).each(lambda part: short_enough(part, options))
    labels = parts.each(lambda part: classes(part, options.label))
    names = sorted(set(labels.train))
    if len(names) < 2:
        raise DataError(
            f"one class to learn, {names[0]!r}: nothing to tell apart", where=parts.train.name
        )
    place = {name: i for i, name in enumerate(names)}
    truth = labels.each(lambda part: np.asarray([place.get(name, -1) for name in part], np.int64))

    layer = probe.train(parts, truth, accuracy, options, advance)
    guess_N = layer(parts.test.matrix).argmax(1)
    majority = np.bincount(truth.train).argmax()
    setting = f"under {options.under_tokens} tokens" if options.under_tokens else "all"
    facts = about("infer", parts.test, setting, options, also=options.label)
    facts["groups"] = groups(parts.test, options.group)
    right_N, frequent_N = 100.0 * (guess_N == truth.test), 100.0 * (truth.test == majority)
    scores = [
        of_queries(right_N, metric="accuracy", chosen=layer.chosen, **facts),
        of_queries(frequent_N, metric="majority", **facts),
    ]
    sanity.check(scores, parts.train, parts.test, labels.train, labels.test)
    notes = sanity.notes(scores[0].data, sanity.unlearnt(names, labels.test))
    return Scored(scores, parts.train.metadata, notes)


def accuracy(truth_N: np.ndarray, probabilities_NC: np.ndarray) -> float:
    """Return the share of rows whose most probable class is the true one."""
    return float((probabilities_NC.argmax(1) == truth_N).mean())


def short_enough(part: Embeddings, options: InferOptions) -> Embeddings:
    """Return the rows below --under-tokens.

    Raises:
        DataError: if the file does not tell, or none is.
    """
    if options.under_tokens is None:
        return part
    if "tokens" not in part.columns:
        raise DataError(
            "no column tokens, which --under-tokens needs",
            where=part.name,
            hint="dial-embed --tokens writes it",
        )
    tokens = part.column("tokens", fields.place)
    rows = np.flatnonzero(np.asarray(tokens) < options.under_tokens)
    if not len(rows):
        raise DataError(f"no row has fewer than {options.under_tokens} tokens", where=part.name)
    return part.select(rows)


def classes(part: Embeddings, names: tuple[str, ...]) -> list[str]:
    """Return the class of each row: the column as text, or of several columns whether any is true.

    Raises:
        DataError: if a row has none, or of several columns one says neither true nor false.
    """
    if len(names) == 1:
        return labels_of(part, names[0])
    columns = [_truths(part, name) for name in names]
    return ["true" if any(row) else "false" for row in zip(*columns, strict=True)]


def _truths(part: Embeddings, name: str) -> list[bool]:
    labels = [label.lower() for label in labels_of(part, name)]
    for row, label in enumerate(labels):
        if label not in TRUE:
            message = f"row {part.place(row)}: {quoted(label)} in {name} is neither true nor false"
            raise DataError(message, where=part.name, hint="of one column, any value is a class")
    return [TRUE[label] for label in labels]
