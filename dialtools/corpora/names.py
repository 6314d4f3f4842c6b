"""What each of several inputs is called where its figures are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ALL = "all"
"""The name of all inputs together."""


def corpus_names(paths: Sequence[str]) -> list[str]:
    """Return what to call each input, no two alike and none `ALL`.

    It is its file's name without suffixes, or all of its path where that is not enough, or with its
    place among the inputs where one is given twice.
    """
    short = [Path(path).name.split(".")[0] or path for path in paths]
    taken = [*short, ALL]
    named = [
        name.strip("<>") if taken.count(name) == 1 else path
        for name, path in zip(short, paths, strict=True)
    ]
    taken = [*named, ALL]
    return [
        name if taken.count(name) == 1 else f"{name} ({place})"
        for place, name in enumerate(named, 1)
    ]
