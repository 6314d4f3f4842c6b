"""What the rows behind a score are: how even the classes, which test rows training rows repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dialtools.corpora.fields import alike, as_text, note_on_alike
from dialtools.eval import each
from dialtools.eval.identity import item_digests
from dialtools.eval.score import Score
from dialtools.shown import listed
from dialtools.streams.tally import counted
from dialtools.streams.vectors import Embeddings
from dialtools.words import index_terms

FIELDS = ("text", "history", "query", "utterance")
"""Fields that were embedded, where the file does not tell which."""


def check(
    scores: Sequence[Score],
    train: Embeddings,
    test: Embeddings,
    train_labels: Sequence[Any],
    test_labels: Sequence[Any],
) -> None:
    """Set `data` of the scores, and `unleaked` where training rows repeat some of the test rows.

    Args:
        train_labels, test_labels: the class of each row, or its list of labels.
    """
    data: dict[str, Any] = {
        "train": balance(train, train_labels),
        "test": balance(test, test_labels),
    }
    fields = embedded(train)
    known = row_texts(train, fields)
    asked = row_texts(test, fields)
    leaked = None
    if known is not None and asked is not None:
        exact = repeated(known, asked)
        leaked = repeated([folded(text) for text in known], [folded(text) for text in asked])
        data["leakage"] = {
            "field": "+".join(fields),
            "exact": int(exact.sum()),
            "normalised": int(leaked.sum()),
        }
    for score in scores:
        score.data = data
        if leaked is not None and leaked.any() and each.size(score.each) == len(leaked):
            score.unleaked = each.without(score.metric, score.each, leaked)


def balance(part: Embeddings, labels: Sequence[Any]) -> dict[str, Any]:
    """Return how many rows and classes there are, how even they are, and which rows they are.

    And how many of their vectors are zeros, and which classes are alike in name, if any.

    Args:
        labels: the class of each row, or its list of labels.
    """
    names = [label if isinstance(label, list) else [label] for label in labels]
    sizes = Counter(name for row in names for name in {as_text(name) for name in row})
    same = alike(sizes)
    largest = max(sizes.values(), default=0)
    zeros = sum(int((~vectors_ND.any(axis=1)).sum()) for vectors_ND in part.vectors.values())
    return {
        "rows": len(labels),
        "classes": len(sizes),
        "smallest": min(sizes.values(), default=0),
        "largest": largest,
        "majority": round(100 * largest / max(len(labels), 1), 2),
        "items": item_digests(part.columns),
        **({"zeros": zeros} if zeros else {}),
        **({"alike": same} if same else {}),
    }


def unlearnt(train_labels: Sequence[str], test_labels: Sequence[str]) -> Counter[str]:
    """Return the classes of test rows that no training row has, and how many rows each."""
    known = set(train_labels)
    return Counter(label for label in test_labels if label not in known)


def note_on_unlearnt(classes: Mapping[str, int], rows: int) -> str:
    """Return what a user should know of test rows that no classifier can get right."""
    lost = f"{sum(classes.values()):,} of {counted(rows, 'test row')}"
    return f"{lost} are of classes without training rows ({listed(classes)}): they count as wrong"


def note_on_alone(rows: int) -> str:
    """Return what a user should know of rows of response selection in which none is picked."""
    return f"{counted(rows, 'row')} left out: no candidate but the response"


def notes(data: Mapping[str, Any], lost: Mapping[str, int]) -> list[str]:
    """Return what a user should know of the rows, and of classes never learnt (`unlearnt`)."""
    told = [note_on_rows(data)]
    if zeros := sum(data[part].get("zeros", 0) for part in ("train", "test")):
        told.append(f"{counted(zeros, 'vector')} of zeros, which may get any class")
    told += note_on_alike(data["train"].get("alike", ()))
    return [*told, note_on_unlearnt(lost, data["test"]["rows"])] if lost else told


def embedded(part: Embeddings) -> list[str]:
    """Return the fields that the vectors are of, as the file tells, else the likeliest that it has.

    There are none if the file has not kept them.
    """
    if part.fields:
        fields = part.fields[0].split("+")
        return fields if all(name in part.columns for name in fields) else []
    # the text of a turn is less than what was embedded of it: its history
    likely = ("history",) if "turn" in part.columns else FIELDS
    return [name for name in likely if name in part.columns][:1]


def row_texts(part: Embeddings, fields: Sequence[str]) -> list[str] | None:
    """Return the text of each row, its turns one after the other.

    None if no field is named, a column is not there, or it holds no texts.
    """
    if not fields or any(name not in part.columns for name in fields):
        return None
    columns = [part.columns[name] for name in fields]
    rows = [[turn for value in row for turn in _turns(value)] for row in zip(*columns, strict=True)]
    return ["\n".join(turns) for turns in rows] if all(rows) else None


def _turns(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    texts = [turn.get("text") if isinstance(turn, dict) else turn for turn in values]
    return [text for text in texts if isinstance(text, str)]


def folded(text: str) -> str:
    """Return a text without what may differ between two that are one: case, punctuation, blanks."""
    return " ".join(index_terms(text))


def repeated(train: Sequence[str], test: Sequence[str]) -> np.ndarray:
    """Return (N,) whether a test text is among the training texts; an empty one never is."""
    known = set(train) - {""}
    return np.fromiter((text in known for text in test), bool, len(test))


def note_on_repeated(train: Sequence[str], test: Sequence[str]) -> list[str]:
    """Return the note on the texts of test rows that occur in training, if any do."""
    same = int(repeated(*([folded(text) for text in texts] for texts in (train, test))).sum())
    return [f"{same:,} of {counted(len(test), 'test row')} occur in training"] if same else []


def note_on_rows(data: Mapping[str, Any]) -> str:
    """Return what a user should know of the rows (`data` of a score), in a line."""
    train, leakage = data["train"], data.get("leakage")
    least = f"{train['smallest']:,} to " if train["smallest"] < train["largest"] else ""
    rows = f"{least}{counted(train['largest'], 'training row')}"
    classes = f"{counted(train['classes'], 'class')}, {rows} each"
    if leakage is None:
        unknown = "no texts here, so whether test rows occur in training is not known"
        return f"{classes}; {unknown} (dial-embed --keep all)"

    test_rows = f"{leakage['normalised']:,} of {counted(data['test']['rows'], 'test row')}"
    line = f"{classes}; {test_rows} occur in training ({leakage['exact']:,} letter by letter)"
    if leakage["normalised"] in (0, data["test"]["rows"]):  # no row is left
        return line
    return f"{line}; `unleaked` is the score without them"
