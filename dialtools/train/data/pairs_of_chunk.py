"""Pair records of a chunk, checked one by one, or all at once where they come as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import Any, NamedTuple

import numpy as np

from dialtools.corpora.dialogues import DOMAIN, identity_of
from dialtools.corpora.fields import PAIR, BadRecord, check, text, text_of_turn
from dialtools.roles import role_of
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy, Where
from dialtools.train.data.chunk_pairs import LISTS, UNKNOWN_TURN, ChunkPairs, TurnLists
from dialtools.train.data.pairs_of_batch import is_columnar, pairs_of_batch


def read_pairs(chunk: Chunk, policy: Policy) -> ChunkPairs:
    """Return the pairs of a chunk; records that are no pairs go to the policy."""
    if chunk.columnar and is_columnar(chunk.data):
        return pairs_of_batch(chunk.data)
    rows = _Rows()
    for line, record in records(chunk, policy, ("text", *PAIR, DOMAIN)):
        try:
            pair = _checked(record)
        except BadRecord as error:
            policy.reject(Where(chunk.name, line), str(error), record)
        else:
            rows.add(pair)
    return rows.pairs()


class _Pair(NamedTuple):
    """What a record says."""

    context: list[str]
    follow: list[str]
    negatives: list[str]
    response: str
    template: str | None
    speakers: list[str | None]
    weight: float
    similar: int
    kind: str | None
    domain: str | None
    dialogue: str | None
    turn: int


def _checked(record: dict[str, Any]) -> _Pair:
    """Return what a record says; a `text` alone is a pair with itself.

    Raises:
        BadRecord: if it is no pair, naming the field.
    """
    if "context" not in record and "response" not in record and "text" in record:
        text(record["text"], "text")
        record = {**record, "context": [record["text"]], "response": record["text"]}
    if record.get("context") is None:
        raise BadRecord('no "context": expected pairs, as dial-pairs writes them')
    if record.get("response") is None:
        raise BadRecord('no "response": expected pairs, as dial-pairs writes them')
    check(record, PAIR)
    context, weight = record["context"], record.get("weight")
    return _Pair(
        context=[context] if isinstance(context, str) else _texts(context),
        follow=_texts(record.get("follow")),
        negatives=_texts(record.get("negatives")),
        response=record["response"],
        template=record.get("template"),
        speakers=record.get("speakers") or [],
        weight=nan if weight is None else weight,
        similar=int(record.get("similar") is None or record["similar"]),
        kind=identity_of(record.get("kind"), "kind"),
        domain=domain if isinstance(domain := record.get(DOMAIN), str) else None,
        dialogue=identity_of(record.get("dialogue_id"), "dialogue_id"),
        turn=UNKNOWN_TURN if record.get("turn") is None else int(record["turn"]),
    )


def _texts(turns: list[Any] | None) -> list[str]:
    """Return the texts of a list of turns; one that is not there is empty."""
    return [turn if type(turn) is str else text_of_turn(turn) for turn in turns or ()]


@dataclass
class _Rows:
    """Pairs gathered one by one, in lists that grow."""

    texts: list[str] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in LISTS})
    sizes: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in LISTS})
    context_roles: list[int] = field(default_factory=list)
    response: list[int] = field(default_factory=list)
    response_role: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    similar: list[int] = field(default_factory=list)
    kind: list[str | None] = field(default_factory=list)
    domain: list[str | None] = field(default_factory=list)
    dialogue: list[str | None] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    template: list[int] = field(default_factory=list)

    def add(self, pair: _Pair) -> None:
        """Append a pair."""
        texts = self.texts
        for name in LISTS:
            turns = getattr(pair, name)
            self.places[name] += range(len(texts), len(texts) + len(turns))
            self.sizes[name].append(len(turns))
            texts += turns
        self.response.append(len(texts))
        texts.append(pair.response)
        self.template.append(-1 if pair.template is None else len(texts))
        if pair.template is not None:
            texts.append(pair.template)
        self._add_roles(pair.speakers, len(pair.context))
        self.weight.append(pair.weight)
        self.similar.append(pair.similar)
        self.kind.append(pair.kind)
        self.domain.append(pair.domain)
        self.dialogue.append(pair.dialogue)
        self.turn.append(pair.turn)

    def _add_roles(self, speakers: list[str | None], turns: int) -> None:
        if len(speakers) != turns + 1:  # said of some turns only, we do not know of which
            speakers = [None] * (turns + 1)
        roles = [role_of(speaker) for speaker in speakers]
        self.response_role.append(roles.pop())
        self.context_roles += roles

    def _lists(self, name: str) -> TurnLists:
        return TurnLists(
            np.asarray(self.places[name], np.int64), np.asarray(self.sizes[name], np.int64)
        )

    def pairs(self) -> ChunkPairs:
        """Return what was gathered, as arrays."""
        return ChunkPairs(
            texts=self.texts,
            context=self._lists("context"),
            follow=self._lists("follow"),
            negatives=self._lists("negatives"),
            context_roles=np.asarray(self.context_roles, np.uint8),
            response=np.asarray(self.response, np.int64),
            response_role=np.asarray(self.response_role, np.uint8),
            weight=np.asarray(self.weight, np.float32),
            similar=np.asarray(self.similar, np.uint8),
            kind=self.kind,
            domain=self.domain,
            dialogue=self.dialogue,
            turn=np.asarray(self.turn, np.int32),
            template=np.asarray(self.template, np.int64),
        )
