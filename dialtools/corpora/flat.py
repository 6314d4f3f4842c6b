"""The turns of many dialogues as columns: no text is a Python object until somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.corpora.dialogues import DOMAIN, Dialogue
from dialtools.ranges import places_in, starts_of
from dialtools.streams.text_columns import lengths


@dataclass(frozen=True)
class FlatTurns:
    """The T turns of D dialogues, one dialogue after another.

    Attributes:
        texts: (T,) strings without blanks at their ends; none is null.
        speakers: (T,) strings; null where nobody says.
        ids: (D,) strings; null for those without a name.
        lines: (D,) the line or row where each begins.
        sizes: (D,) turns of each.
        sessions: (D,) which part of a longer one each is, from 1.
        read: (D,) what chance knows those by whose texts are not as they were read; null of others.
        facts: (D,) what the pairs of a dialogue carry besides, by the name of the field.
    """

    texts: pa.StringArray
    speakers: pa.StringArray
    ids: pa.StringArray
    lines: np.ndarray
    sizes: np.ndarray
    sessions: np.ndarray
    read: pa.StringArray
    facts: dict[str, pa.Array] = field(default_factory=dict)

    @classmethod
    def of(cls, talks: Iterable[tuple[int, Dialogue]], *, domain: bool = False) -> FlatTurns:
        """Return the turns of dialogues, each with its line; with `domain` theirs are facts."""
        numbered = list(talks)
        each = [talk for _, talk in numbered]
        return cls(
            pa.array([*chain.from_iterable(talk.texts for talk in each)], pa.string()),
            pa.array([*chain.from_iterable(talk.speakers for talk in each)], pa.string()),
            pa.array([talk.id for talk in each], pa.string()),
            np.array([line for line, _ in numbered], np.int64),
            np.array([len(talk.texts) for talk in each], np.int64),
            np.array([talk.session for talk in each], np.int64),
            pa.array([talk.read for talk in each], pa.string()),
            {DOMAIN: pa.array([talk.domain for talk in each], pa.string())} if domain else {},
        )

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def starts(self) -> np.ndarray:
        """(D,) flat index of each dialogue's first turn."""
        return starts_of(self.sizes)

    @cached_property
    def dialogue(self) -> np.ndarray:
        """(T,) the dialogue that each turn belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def named(self) -> np.ndarray:
        """(D,) whether each names a speaker: it says so of itself, not of its chunk."""
        total = running(lengths(self.speakers) > 0)
        return total[self.starts + self.sizes] > total[self.starts]

    def spoken(self) -> FlatTurns:
        """Return the turns that have a text."""
        said = lengths(self.texts) > 0
        if said.all():
            return self
        total, stays = running(said), pa.array(said)
        sizes = total[self.starts + self.sizes] - total[self.starts]
        texts, speakers = self.texts.filter(stays), self.speakers.filter(stays)
        return replace(self, texts=texts, speakers=speakers, sizes=sizes)

    def only(self, dialogues: np.ndarray) -> FlatTurns:
        """Return the turns of some dialogues, by their numbers in order."""
        if len(dialogues) == len(self.sizes):
            return self
        sizes = self.sizes[dialogues]
        turns = pa.array(places_in(self.starts[dialogues], sizes))
        these = pa.array(dialogues)
        return FlatTurns(
            self.texts.take(turns),
            self.speakers.take(turns),
            self.ids.take(these),
            self.lines[dialogues],
            sizes,
            self.sessions[dialogues],
            self.read.take(these),
            {name: values.take(these) for name, values in self.facts.items()},
        )

    def texts_of(self, dialogue: int) -> list[str]:
        """Return the texts of a dialogue."""
        return self.texts.slice(self.starts[dialogue], self.sizes[dialogue]).to_pylist()

    def dialogues(self) -> Iterator[Dialogue]:
        """Yield each dialogue."""
        spans = zip(self.ids.to_pylist(), self.starts.tolist(), self.sizes.tolist(), strict=True)
        for name, start, size in spans:
            turns = (column.slice(start, size) for column in (self.texts, self.speakers))
            yield Dialogue(name, *(column.to_pylist() for column in turns))


def running(values: Any) -> np.ndarray:
    """Return (T+1,) sums so that the total over turns [s, e) is running[e] - running[s]."""
    return np.concatenate([[0], np.cumsum(np.asarray(values, np.int64))])
