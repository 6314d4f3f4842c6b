"""What the rows behind a score are: how even the classes, and whether test rows occur among the training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from dialtools.eval import each
from dialtools.eval.identity import identity
from dialtools.eval.score import Score
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
    """Set `data` of scores of these test rows, and `unleaked` if some of them occur in the training rows.

    Args:
        train_labels, test_labels: the class of each row, or its list of labels.
    """
    data: dict[str, Any] = {
        "train": balance(train, train_labels),
        "test": balance(test, test_labels),
    }
    fields = embedded(train)
    found = [texts(part, fields) for part in (train, test)]
    leaked = None
    if fields and None not in found:
        exact, leaked = repeated(*found), repeated(*(list(map(folded, part)) for part in found))  # type: ignore[arg-type]
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
    """Return the number of rows and classes, of rows in the smallest and largest class, the latter's share in percent, and digests."""
    sizes = Counter(
        str(name) for own in labels for name in (own if isinstance(own, list) else [own])
    )
    largest = max(sizes.values(), default=0)
    return {
        "rows": len(labels),
        "classes": len(sizes),
        "smallest": min(sizes.values(), default=0),
        "largest": largest,
        "majority": round(100 * largest / max(len(labels), 1), 2),
        "items": identity(part.columns),
    }


def embedded(part: Embeddings) -> list[str]:
    """Return the fields that the vectors are of: as the file tells, else the likeliest that it has; none if it has none."""
    about = orjson.loads(part.metadata.get("dialtools", "{}"))
    told = (about.get("options") or {}).get("field") or []
    likely = (
        ("history",) if "turn" in part.columns else FIELDS
    )  # the text of a turn is less than what was embedded
    names = told[0].split("+") if told else [name for name in likely if name in part.columns][:1]
    return names if all(name in part.columns for name in names) else []


def texts(part: Embeddings, fields: Sequence[str]) -> list[str] | None:
    """Return the text of each row, turns one after the other; None if a column is not there or holds no texts."""
    if not fields or any(name not in part.columns for name in fields):
        return None
    rows = [
        [turn for name in fields for turn in _turns(part.columns[name][row])]
        for row in range(len(part))
    ]
    return ["\n".join(turns) for turns in rows] if all(rows) else None


def _turns(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    said = [turn.get("text") if isinstance(turn, dict) else turn for turn in values]
    return [text for text in said if isinstance(text, str)]


def folded(text: str) -> str:
    """Return a text without what may differ between two that are one: case, punctuation, blanks."""
    return " ".join(index_terms(text))


def repeated(train: Sequence[str], test: Sequence[str]) -> np.ndarray:
    """Return (N,) whether a test text is among the training texts; an empty one never is."""
    known = set(train) - {""}
    return np.fromiter((text in known for text in test), bool, len(test))


def told(data: dict[str, Any]) -> str:
    """Return what a user should know of the rows, in a line; nothing if nothing is known."""
    if "train" not in data:
        return ""
    train, test, leakage = data["train"], data["test"], data.get("leakage")
    rows = " to ".join(f"{n:,}" for n in dict.fromkeys((train["smallest"], train["largest"])))
    even = f"{train['classes']:,} classes, {rows} training rows each"
    if leakage is None:
        return f"{even}; no texts here, so whether test rows occur in training is not known (dial-embed --keep all)"
    found = f"{leakage['normalised']:,} of {test['rows']:,} test rows occur in training ({leakage['exact']:,} letter by letter)"
    return f"{even}; {found}" + (
        "; `unleaked` is the score without them" if leakage["normalised"] else ""
    )
