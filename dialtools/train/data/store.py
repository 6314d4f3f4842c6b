"""The token store: each distinct utterance tokenised once, pairs as integers, all memory-mapped.

P pairs, U distinct utterances. A pair's context is a range of the flat list of turn ids; so are the
turns after its response, and the negatives that it names. Files of a finished store, whose suffix
is the type of their numbers (i4: 32-bit integers, i8: 64-bit, u1: bytes, f2: 16-bit floats, f4:
32-bit floats):

    texts.bin text_ends.i8               (U,) the distinct utterances, in order of first occurrence
    tokens.i4 token_ends.i8              (U,) their token ids
    turns.i4 roles.u1 turn_ends.i8       (P,) the turns of each context, and who spoke
    follow.i4 follow_ends.i8             (P,) the turns after each response
    negatives.i4 negative_ends.i8        (P,) utterances named as negatives of each pair
    response.i4 response_role.u1         (P,) the response, and who spoke
    window.i4 weight.f4                  (P,) turns of the context; the weight, NaN if not given
    similar.u1                           (P,) 1 if the two belong together, 0 if not
    kind.i8 domain.i8                    (P,) its kind, and its dialogue's domain, by hash; 0: none
    dialogue.i8 turn.i4                  (P,) which dialogue, and which of its turns the response is
    template.i4                          (P,) the template of the response, -1 without one
    teacher.i4                           (P,) the row of `vectors` that is the response's, or -1
    vectors.f2                           (T, D) a teacher's unit vectors
    spool.json                           counts and checksums; written last by the spool
    store.json                           the same; written last of all: the store is finished

An `ends` file says where each range ends; it begins where the one before it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import orjson

from dialtools.chance import share
from dialtools.errors import DataError
from dialtools.streams import checksums

SPOOLED = ("pairs", "lessons", "utterances", "turns", "skipped")
"""What spool.json counts."""

COUNTED_AT_ONCE = 1 << 20
"""Tokens."""
PLACEHOLDER = re.compile(r"\{[^{}\s]+\}")


I4 = Annotated[np.ndarray, "i4"]
I8 = Annotated[np.ndarray, "i8"]
U1 = Annotated[np.ndarray, "u1"]
F2 = Annotated[np.ndarray, "f2"]
F4 = Annotated[np.ndarray, "f4"]


class Store:
    """A finished store, mapped into memory."""

    turns: I4
    roles: U1
    turn_ends: I8
    follow: I4
    follow_ends: I8
    negatives: I4
    negative_ends: I8
    response: I4
    response_role: U1
    window: I4
    weight: F4
    similar: U1
    kind: I8
    domain: I8
    dialogue: I8
    turn: I4
    template: I4
    teacher: I4
    vectors: F2

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        counts = read_counts(directory / "store.json", "tokens")
        self.counts: dict[str, int] = {name: counts[name] for name in (*SPOOLED, "tokens")}
        for name in COLUMNS:
            setattr(self, name, column(directory, name))
        if len(self.vectors):
            self.vectors = self.vectors.reshape(len(self.lessons), -1)
        self.tokens = mapped(directory / "tokens.i4")
        self.token_ends = mapped(directory / "token_ends.i8")

    def __len__(self) -> int:
        return len(self.response)

    @cached_property
    def lessons(self) -> np.ndarray:
        """The (T,) pairs of a text with itself whose vector a teacher tells."""
        return np.flatnonzero(np.asarray(self.teacher) >= 0)

    def utterance(self, i: int) -> np.ndarray:
        """Return the (tokens,) ids of an utterance."""
        return self.tokens[_range(self.token_ends, i)]

    def of_one_text(self, pairs: np.ndarray) -> np.ndarray:
        """Return (N,) whether the context of each pair is its response alone."""
        last = np.asarray(self.turn_ends[pairs]) - 1
        return (self.window[pairs] == 1) & (self.turns[last] == self.response[pairs])

    def context(self, pair: int) -> slice:
        """Return the range of a pair's context turns in `turns` and `roles`."""
        return _range(self.turn_ends, pair)

    def after(self, pair: int) -> slice:
        """Return the range of the turns after a pair's response in `follow`."""
        return _range(self.follow_ends, pair)

    def negative(self, pair: int) -> slice:
        """Return the range of the negatives that a pair names in `negatives`."""
        return _range(self.negative_ends, pair)

    def token_counts(self, vocabulary: int) -> np.ndarray:
        """Return (V,) how often each token occurs in the distinct utterances."""
        counts_V = np.zeros(vocabulary, np.int64)
        for start in range(0, len(self.tokens), COUNTED_AT_ONCE):
            part = self.tokens[start : start + COUNTED_AT_ONCE]
            counts_V += np.bincount(part, minlength=vocabulary)
        return counts_V

    def text(self, utterances: Sequence[int]) -> list[str]:
        """Return the texts of utterances."""
        ends = mapped(self.directory / "text_ends.i8")
        data = mapped(self.directory / "texts.bin", "u1")
        return [data[_range(ends, i)].tobytes().decode() for i in utterances]

    def record(self, pair: int) -> dict[str, Any]:
        """Return a pair as the record it came from."""
        context = self.text(self.turns[self.context(pair)].tolist())
        return {"context": context, "response": self.text([int(self.response[pair])])[0]}

    def held_out(self, part: float, *, seed: int) -> np.ndarray:
        """Return the (P,) mask of the pairs whose dialogue falls into a share, by stable hash."""
        if not part:
            return np.zeros(len(self), bool)
        dialogues, position = np.unique(np.asarray(self.dialogue), return_inverse=True)
        shares = (share(str(dialogue), seed=seed) for dialogue in dialogues)
        held = np.fromiter((value < part for value in shares), bool, len(dialogues))
        return held[position]


COLUMNS: dict[str, str] = {
    name: kind.__metadata__[0] for name, kind in get_type_hints(Store, include_extras=True).items()
}
"""Each column's file, and the type of its numbers."""


def read_counts(path: Path, *more: str) -> dict[str, Any]:
    """Return what a spool, or a store, counts, and under "files" the checksum of each file.

    Args:
        more: counts that there must be beside those of a spool.

    Raises:
        DataError: if the file was damaged since.
    """
    try:
        counts = orjson.loads(path.read_bytes())
        counted = all(type(counts[name]) is int for name in (*SPOOLED, *more))
        if counted and type(counts["files"]) is dict:
            return counts
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise DataError("damaged: its counts cannot be read", where=path, hint=f"rm -r {path.parent}")


def is_finished(directory: Path) -> bool:
    """Tell whether a store is whole."""
    return (directory / "store.json").is_file()


def written(directory: Path, *, of: str) -> dict[str, int]:
    """Return the checksum of each file of a store whose name matches a pattern."""
    return {file.name: checksums.of_file(file) for file in sorted(directory.glob(of))}


def check_files(directory: Path) -> None:
    """Read a store that an earlier run left, and check that it is as that run wrote it.

    Raises:
        DataError: if a file is gone, or was damaged since.
    """
    counts = directory / ("store.json" if is_finished(directory) else "spool.json")
    for name, content in read_counts(counts)["files"].items():
        file = directory / name
        if not file.is_file() or checksums.of_file(file) != content:
            raise DataError("damaged since it was written", where=file, hint=f"rm -r {directory}")


def utterance_texts(directory: Path, *, every: int = 1) -> Iterator[str]:
    """Yield the distinct utterances of a spooled store, or each `every`-th one."""
    ends = mapped(directory / "text_ends.i8")
    data = mapped(directory / "texts.bin", "u1")
    for i in range(0, len(ends), every):
        yield data[_range(ends, i)].tobytes().decode()


def placeholders(directory: Path) -> list[str]:
    """Return what stands for values in the templates of a spooled store, such as {SLOT}."""
    templates = set(np.unique(column(directory, "template")).tolist())
    words: set[str] = set()
    for i, text in enumerate(utterance_texts(directory)):
        if i in templates:
            words.update(PLACEHOLDER.findall(text))
    return sorted(words)


def column_file(directory: Path, name: str) -> Path:
    """Return where the numbers of a column are kept."""
    return directory / f"{name}.{COLUMNS[name]}"


def column(directory: Path, name: str) -> np.ndarray:
    """Return a column, mapped into memory."""
    return mapped(column_file(directory, name))


def mapped(path: Path, kind: str = "") -> np.ndarray:
    """Return the numbers of a file, of the type that its suffix says, mapped into memory."""
    kind = kind or path.suffix.removeprefix(".")
    # an empty file cannot be mapped
    if not path.stat().st_size:
        return np.zeros(0, kind)
    return np.asarray(np.memmap(path, kind, "r"))  # a plain array: slices of it are quicker


def _range(ends: np.ndarray, i: int) -> slice:
    return slice(int(ends[i - 1]) if i else 0, int(ends[i]))
