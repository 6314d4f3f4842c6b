"""Pair records of a chunk, checked one by one, or all at once where they come as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dialtools.roles import role_of
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy, Where
from dialtools.train.data.chunk_pairs import (
    LISTS,
    ChunkPairs,
    TurnLists,
    is_weight,
)
from dialtools.train.data.pairs_of_batch import is_columnar, pairs_of_batch


def read_pairs(chunk: Chunk, policy: Policy) -> ChunkPairs:
    """Return the pairs of a chunk; records that are no pairs go to the policy."""
    if chunk.columnar and is_columnar(chunk.data):
        return pairs_of_batch(chunk.data)
    rows = _Rows()
    for line, record in records(chunk, policy):
        try:
            pair = _checked(record)
        except ValueError as error:
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
    dialogue: str | None
    turn: int


def _checked(record: dict[str, Any]) -> _Pair:
    """Return what a record says; a `text` alone is a pair with itself.

    Raises:
        ValueError: if it is no pair, saying why.
    """
    if type(record.get("text")) is str and "context" not in record and "response" not in record:
        record = {**record, "context": [record["text"]], "response": record["text"]}
    return _Pair(
        context=_context(record),
        follow=_turns(record, "follow"),
        negatives=_turns(record, "negatives"),
        response=_response(record),
        template=_template(record),
        speakers=_speakers(record),
        weight=_weight(record.get("weight")),
        dialogue=_dialogue(record),
        turn=_turn(record),
    )


def _context(record: dict[str, Any]) -> list[str]:
    context = record.get("context")
    turns = [context] if isinstance(context, str) else context
    if isinstance(turns, list) and turns:
        return _turns({"context": turns}, "context")
    if "context" in record:
        raise ValueError('"context" must be a list of turns')
    raise ValueError('no "context": expected pairs, as dial-pairs writes them')


def _turns(record: dict[str, Any], name: str) -> list[str]:
    """Return the texts of a list of turns; one that is not there is empty."""
    turns: list[Any] = record.get(name) or []
    if not isinstance(turns, list):
        raise ValueError(f"{name}: expected a list")
    texts: list[Any] = [turn.get("text") if isinstance(turn, dict) else turn for turn in turns]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name}: expected strings")
    return texts


def _response(record: dict[str, Any]) -> str:
    response = record.get("response")
    if not isinstance(response, str):
        raise ValueError('"response" must be a string')
    return response


def _template(record: dict[str, Any]) -> str | None:
    template = record.get("template")
    if template is not None and not isinstance(template, str):
        raise ValueError('"template" must be a string')
    return template


def _speakers(record: dict[str, Any]) -> list[str | None]:
    speakers = record.get("speakers") or []
    if not isinstance(speakers, list):
        raise ValueError('"speakers" must be a list of names')
    return speakers


def _weight(weight: Any) -> float:
    if not is_weight(weight):
        raise ValueError('"weight" must be a number, 0 or more')
    return float("nan") if weight is None else float(weight)


def _turn(record: dict[str, Any]) -> int:
    try:
        return int(record.get("turn") or 0)
    except (TypeError, ValueError, OverflowError):
        raise ValueError('"turn" must be a whole number') from None


def _dialogue(record: dict[str, Any]) -> str | None:
    dialogue = record.get("dialogue_id")
    return None if dialogue is None else str(dialogue)


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
            dialogue=self.dialogue,
            turn=np.asarray(self.turn, np.int32),
            template=np.asarray(self.template, np.int64),
        )
