"""What was kept and what was dropped, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from dialtools.shown import listed

NAMES = 1000
"""Names that are told apart; of free text as speakers or labels there may be one a record."""


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts: `1 pair`, `1,200 pairs`, `2 classes`."""
    many = "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number:,} {noun}{'' if number == 1 else many}"


def given(number: int, reason: str) -> str:
    """Return a number with a reason: `2 short`, `2 turns of tools`, `1 turn of tools`.

    Args:
        reason: if its first word ends in s, that is a noun in the plural.
    """
    first, *rest = reason.split(" ")
    return " ".join([f"{number:,}", first.removesuffix("s") if number == 1 else first, *rest])


def anew(kept: Collection[str], own: Iterable[str]) -> str:
    """Return what a closing line says of fields of the input that give way to new ones, if any.

    Args:
        kept: the fields that are carried along.
        own: the names of the new ones.
    """
    names = ", ".join(name for name in own if name in kept)
    return f"; written anew: {names}" if names else ""


def _count(counter: Counter[str], name: str, n: int) -> None:
    """Count a name; of the names, a thousand are told apart."""
    if name not in counter and len(counter) >= NAMES:
        name = "others"
    counter[name] += n


class Tally:
    """Counts of a filter's work; the one place for the figures of the closing line.

    Attributes:
        sources: records that were read; of each, several may be kept.
        facts: other figures of what was read, by name.
        unmapped: how often each name was met that a map does not have; met: those that it has, or
            the labels of texts, a thousand at most.
    """

    def __init__(self) -> None:
        self.sources = 0
        self.kept = 0
        self.dropped: Counter[str] = Counter()
        self.unmapped: Counter[str] = Counter()
        self.facts: Counter[str] = Counter()
        self.met: set[str] = set()

    def keep(self, n: int = 1) -> None:
        self.kept += n

    def drop(self, reason: str, n: int = 1) -> None:
        if n:
            _count(self.dropped, reason, n)

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally, of another worker say."""
        self.sources += other.sources
        self.kept += other.kept
        for reason, n in other.dropped.items():
            self.drop(reason, n)
        for name, n in other.unmapped.items():
            self.miss(name, n)
        self.facts.update(other.facts)
        self.met |= other.met

    def forget(self) -> None:
        """Count anew: what was counted so far is another part's."""
        Tally.__init__(self)

    def miss(self, name: str, n: int = 1) -> None:
        """Count a name that a map does not have."""
        _count(self.unmapped, name, n)

    def line(self, noun: str, rest: str = "") -> str:
        """Return e.g. `1,252,902 pairs; dropped 3,112: 2,900 short, 212 repeated`.

        Args:
            noun: what was kept, in the singular.
            rest: what follows it, e.g. " from 12 dialogues".
        """
        text = f"{counted(self.kept, noun)}{rest}"
        if not self.dropped:
            return text
        every = [given(n, reason) for reason, n in self.dropped.most_common()]
        total = f"{self.dropped.total():,}: " if len(every) > 1 else ""
        return f"{text}; dropped {total}{listed(every)}"

    def counts(self) -> dict[str, int]:
        """Return the counts as a flat table for provenance."""
        dropped = {f"dropped: {reason}": n for reason, n in self.dropped.most_common()}
        return {"kept": self.kept, **dropped}
