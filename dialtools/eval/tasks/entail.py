"""Triplets of natural language inference: is a text nearer to what it entails than to what contradicts it? (METHODS 3.6)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dialtools.errors import DataError
from dialtools.eval.identity import identity
from dialtools.eval.options.likeness import EntailOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score
from dialtools.metrics.resample import bootstrap_sums
from dialtools.metrics.space import unit
from dialtools.streams.vectors import SUFFIX, Embeddings, read_embeddings

TRIPLET = ("anchor", "entailment", "contradiction")


class Triplets(NamedTuple):
    """N triplets: the cosines of their two sides, and the anchor of each, 0 to A - 1; how many anchors lacked a side."""

    entailment: np.ndarray
    contradiction: np.ndarray
    anchor: np.ndarray
    dropped: int
    rows: np.ndarray


def evaluate(options: EntailOptions) -> tuple[list[Score], dict[str, str]]:
    """Return the share of triplets in order, in percent, of each part, its interval over anchors; and the metadata.

    Raises:
        DataError: if there are no triplets.
    """
    source, scores = read_embeddings(options.inputs), []
    for setting, part in rows_by_part(source, split=options.split, part=options.part).items():
        found = triplets(part, options)
        if not len(found.anchor):
            raise DataError(
                f"no anchor has both an entailment and a contradiction among its {len(part)} rows",
                where=part.name,
                hint=f"--labels names the labels of the two, here {','.join(options.labels)}",
            )
        right = (found.entailment > found.contradiction).astype(np.int64)
        sums_A2 = np.column_stack(
            [np.bincount(found.anchor, right), np.bincount(found.anchor)]
        ).astype(np.int64)
        value, low, high = bootstrap_sums(
            sums_A2, lambda s: s[..., 0] / s[..., 1], seed=options.seed
        )
        ties = int((found.entailment == found.contradiction).sum())
        data = {
            "anchors": len(sums_A2),
            "triplets": len(right),
            "dropped": found.dropped,
            "ties": ties,
        }
        scores.append(
            Score(
                "entail",
                options.name or source.name,
                setting,
                "accuracy",
                100 * value,
                100 * low,
                100 * high,
                float("nan"),
                1,
                len(right),
                options.seed,
                each={"right": sums_A2[:, 0].tolist(), "of": sums_A2[:, 1].tolist()},
                items=identity(part.columns, found.rows, also=(options.label,)),
                data=data,
            )
        )
    return scores, source.metadata


def triplets(part: Embeddings, options: EntailOptions) -> Triplets:
    """Return the triplets of a part: its rows, or those that labelled pairs make of each premise."""
    names = [f"{name}_{SUFFIX}" for name in TRIPLET]
    if not options.texts and all(name in part.vectors for name in names):
        anchor, good, bad = (unit(part.vector(name).astype(np.float64)) for name in names)
        group = _groups(part, TRIPLET[0], names[0])
        return Triplets(
            _cosines(anchor, good), _cosines(anchor, bad), group, 0, np.arange(len(part))
        )
    return _of_pairs(part, options)


def _of_pairs(part: Embeddings, options: EntailOptions) -> Triplets:
    """Return all triplets of each premise, or its first entailment with its first contradiction."""
    texts = options.texts or tuple(name.removesuffix(f"_{SUFFIX}") for name in part.vectors)
    if len(texts) != 2:
        raise DataError(
            f"has vectors of {len(texts)} texts: {', '.join(part.vectors)}",
            where=part.name,
            hint="anchor, entailment and contradiction, or premise and hypothesis: dial-embed --field A,B embeds two, --texts A,B names them",
        )
    first, second = (unit(part.vector(f"{name}_{SUFFIX}").astype(np.float64)) for name in texts)
    cosine, premise = _cosines(first, second), _groups(part, texts[0], f"{texts[0]}_{SUFFIX}")
    said = [str(value) for value in part.column(options.label)]
    sides: list[tuple[list[int], list[int]]] = [
        ([], []) for _ in range(int(premise.max(initial=-1)) + 1)
    ]
    for row, label in enumerate(said):
        if label in options.labels:
            sides[premise[row]][options.labels.index(label)].append(row)
    most = 1 if options.triplets == "first" else None
    whole = [(good[:most], bad[:most]) for good, bad in sides if good and bad]
    pairs = [(g, b, anchor) for anchor, (good, bad) in enumerate(whole) for g in good for b in bad]
    good_N, bad_N, anchor_N = (
        np.asarray(column, np.int64)
        for column in (zip(*pairs, strict=True) if pairs else ([], [], []))
    )
    rows = np.asarray([row for good, bad in whole for row in (*good, *bad)], np.int64)
    return Triplets(cosine[good_N], cosine[bad_N], anchor_N, len(sides) - len(whole), rows)


def _groups(part: Embeddings, text: str, vector: str) -> np.ndarray:
    """Return (N,) a number for each distinct anchor in order of first occurrence: by its text, else by its vector."""
    values: Sequence[Any] = part.columns.get(text) or [row.tobytes() for row in part.vector(vector)]
    index: dict[Any, int] = {}
    return np.fromiter(
        (index.setdefault(str(value), len(index)) for value in values), np.int64, len(values)
    )


def _cosines(first_ND: np.ndarray, second_ND: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->n", first_ND, second_ND)
