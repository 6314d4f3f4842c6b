"""The pairs of a chunk as texts and integers, and what both ways of reading them share."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

LISTS = ("context", "follow", "negatives")
UNKNOWN_TURN = -1
"""Of a pair that does not say which turn its response is."""


@dataclass
class TurnLists:
    """A list of turns for each of P pairs: the places of all turns in `texts`, and (P,) sizes."""

    places: np.ndarray
    sizes: np.ndarray

    def head(self, n: int) -> TurnLists:
        """Return the lists of the first n pairs."""
        return TurnLists(self.places[: int(self.sizes[:n].sum())], self.sizes[:n])


@dataclass
class ChunkPairs:
    """P pairs whose turns are places in `texts`, in which a text may occur again.

    Attributes:
        context_roles: one for each turn of all contexts, in their order.
        weight: NaN for a pair that gives none.
        similar: 0 for a pair whose texts do not belong together.
        kind: what dial-pairs calls each pair, None for one that says nothing.
        domain: what the dialogue of each pair is about, None for one that says nothing.
        dialogue: the name of each pair's dialogue, None for one without.
        template: the place of each pair's template, -1 for one without.
        vectors: (P, D) a teacher's unit vector of each response, in float16; no row without one.
    """

    texts: list[str]
    context: TurnLists
    follow: TurnLists
    negatives: TurnLists
    context_roles: np.ndarray
    response: np.ndarray
    response_role: np.ndarray
    weight: np.ndarray
    similar: np.ndarray
    kind: list[str | None]
    domain: list[str | None]
    dialogue: list[str | None]
    turn: np.ndarray
    template: np.ndarray
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float16))

    def __len__(self) -> int:
        return len(self.response)

    def head(self, n: int) -> ChunkPairs:
        """Return the first n pairs, with no text but theirs."""
        firsts = {
            each.name: value.head(n) if isinstance(value, TurnLists) else value[:n]
            for each in fields(self)
            if (value := getattr(self, each.name)) is not self.texts
        }
        turns = int(self.context.sizes[:n].sum())
        first = replace(self, **{**firsts, "context_roles": self.context_roles[:turns]})
        return first.with_own_texts()

    def with_own_texts(self) -> ChunkPairs:
        """Return the same pairs with no text but theirs, in the order in which they have them.

        So it matters neither how many pairs a chunk has, nor what else stands in its columns.
        """
        lists: dict[str, TurnLists] = {name: getattr(self, name) for name in LISTS}
        pairs = np.arange(len(self))
        owner = [*(np.repeat(pairs, each.sizes) for each in lists.values()), pairs, pairs]
        turns = [*(each.places for each in lists.values()), self.response, self.template]
        places = np.concatenate(turns)[np.argsort(np.concatenate(owner), kind="stable")]
        distinct, first = np.unique(places[places >= 0], return_index=True)
        own = distinct[np.argsort(first)]
        moves = np.full(len(self.texts) + 1, -1)  # the last is that of -1, which is no text
        moves[own] = np.arange(len(own))
        return replace(
            self,
            texts=[self.texts[place] for place in own.tolist()],
            response=moves[self.response],
            template=moves[self.template],
            **{name: TurnLists(moves[each.places], each.sizes) for name, each in lists.items()},
        )
