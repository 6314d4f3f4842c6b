"""Triplets of inference: is a text nearer to what it entails than to what contradicts it?

N triplets, A anchors, R rows (DSE 4.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dialtools.corpora import splits
from dialtools.corpora.fields import as_text
from dialtools.errors import ConfigError, DataError
from dialtools.eval.identity import about
from dialtools.eval.options.entail import EntailOptions
from dialtools.eval.rows import rows_by_part
from dialtools.eval.score import Score, Scored, of_statistic
from dialtools.metrics import counts
from dialtools.metrics.space import unit
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import SUFFIX, Embeddings

TRIPLET = ("anchor", "entailment", "contradiction")


class Triplets(NamedTuple):
    """N triplets.

    Attributes:
        entailment, contradiction: (N,) the cosines of the anchor with its two sides.
        anchor: (N,) the number of each one's anchor, 0 to A - 1.
        dropped: how many anchors lacked a side.
        rows: those of the file that are in some triplet.
    """

    entailment: np.ndarray
    contradiction: np.ndarray
    anchor: np.ndarray
    dropped: int
    rows: np.ndarray


def evaluate(options: EntailOptions) -> Scored:
    """Return the share of triplets in order, in percent, of each part, its interval over anchors.

    Raises:
        DataError: if there are no triplets.
    """
    source = read_embeddings(options.files, limit=options.limit)
    scores = [
        _score(part, setting, options)
        for setting, part in rows_by_part(source, split=options.split, part=options.part).items()
    ]
    return Scored(scores, source.metadata, [_note(score) for score in scores])


def _score(part: Embeddings, setting: str, options: EntailOptions) -> Score:
    cosines = triplets(part, options)
    if not len(cosines.anchor):
        rows = counted(len(part), "row")
        raise DataError(
            f"{rows}: no anchor has both an entailment and a contradiction",
            where=part.name,
            hint=f"--labels names the labels of the two, here {','.join(options.labels)}",
        )
    right_N = (cosines.entailment > cosines.contradiction).astype(np.int64)
    right_A, size_A = np.bincount(cosines.anchor, right_N), np.bincount(cosines.anchor)
    return of_statistic(
        counts.ratio(right_A, size_A),
        metric="accuracy",
        n=len(right_N),
        each={"right": right_A.astype(np.int64).tolist(), "of": size_A.tolist()},
        **about("entail", part, setting, options, rows=cosines.rows, also=(options.label,)),
        data={
            "anchors": len(size_A),
            "triplets": len(right_N),
            "dropped": cosines.dropped,
            "ties": int((cosines.entailment == cosines.contradiction).sum()),
        },
    )


def _note(score: Score) -> str:
    data = score.data
    return (
        f"{score.setting or score.dataset}: "
        f"{counted(data['triplets'], 'triplet')} of {counted(data['anchors'], 'anchor')}; "
        f"{counted(data['dropped'], 'anchor')} without both sides left out; "
        f"{counted(data['ties'], 'tie')} counted as wrong"
    )


def triplets(part: Embeddings, options: EntailOptions) -> Triplets:
    """Return the triplets of a part: its rows, or what labelled pairs make of each premise.

    Raises:
        ConfigError: for an option that has no meaning for the former.
    """
    names = [f"{name}_{SUFFIX}" for name in TRIPLET]
    if options.texts or any(name not in part.vectors for name in names):
        return _triplets_of_pairs(part, options)
    for name in ("label", "labels", "triplets"):
        if getattr(options, name) != getattr(EntailOptions, name):
            raise ConfigError(f"--{name} is of labelled pairs; these are triplets", where=part.name)
    anchor_RD, good_RD, bad_RD = (unit(part.vector(name).astype(np.float64)) for name in names)
    return Triplets(
        entailment=_cosines(anchor_RD, good_RD),
        contradiction=_cosines(anchor_RD, bad_RD),
        anchor=_anchor_numbers(part, TRIPLET[0], names[0]),
        dropped=0,
        rows=np.arange(len(part)),
    )


def _triplets_of_pairs(part: Embeddings, options: EntailOptions) -> Triplets:
    """Return all triplets of each premise, or its first entailment with its first contradiction."""
    texts = options.texts or tuple(name.removesuffix(f"_{SUFFIX}") for name in part.vectors)
    if len(texts) != 2:
        raise DataError(
            f"has vectors of {counted(len(texts), 'text')}: {', '.join(part.vectors)}",
            where=part.name,
            hint="anchor, entailment and contradiction, or premise and hypothesis: "
            "dial-embed --field A,B embeds two, --texts A,B names them",
        )
    first_RD, second_RD = (
        unit(part.vector(f"{name}_{SUFFIX}").astype(np.float64)) for name in texts
    )
    cosine_R = _cosines(first_RD, second_RD)
    premise_R = _anchor_numbers(part, texts[0], f"{texts[0]}_{SUFFIX}")

    sides = _sides(part, premise_R, options)
    most = 1 if options.triplets == "first" else None
    whole = [(good[:most], bad[:most]) for good, bad in sides if good and bad]
    triplets_N3 = [
        (good_row, bad_row, anchor)
        for anchor, (good, bad) in enumerate(whole)
        for good_row in good
        for bad_row in bad
    ]
    good_N, bad_N, anchor_N = np.asarray(triplets_N3, np.int64).reshape(-1, 3).T
    return Triplets(
        entailment=cosine_R[good_N],
        contradiction=cosine_R[bad_N],
        anchor=anchor_N,
        dropped=len(sides) - len(whole),
        rows=np.asarray([row for good, bad in whole for row in (*good, *bad)], np.int64),
    )


def _sides(
    part: Embeddings, premise_R: np.ndarray, options: EntailOptions
) -> list[tuple[list[int], list[int]]]:
    """Return the rows of entailments and of contradictions of each premise."""
    sides: list[tuple[list[int], list[int]]] = [
        ([], []) for _ in range(int(premise_R.max(initial=-1)) + 1)
    ]
    for row, value in enumerate(part.column(options.label)):
        if (name := as_text(value)) in options.labels:
            sides[premise_R[row]][options.labels.index(name)].append(row)
    return sides


def _anchor_numbers(part: Embeddings, text: str, vector: str) -> np.ndarray:
    """Return (R,) a number for each distinct anchor as it comes, by its text, else its vector."""
    values: Sequence[Any] = part.columns.get(text) or [row.tobytes() for row in part.vector(vector)]
    return np.asarray(splits.numbered(values))


def _cosines(first_RD: np.ndarray, second_RD: np.ndarray) -> np.ndarray:
    return np.einsum("rd,rd->r", first_RD, second_RD)
