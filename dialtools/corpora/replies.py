"""Messages that answer one another, a tree as forums and collected chats have it, as dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialtools.corpora.chat import role
from dialtools.corpora.dialogues import called
from dialtools.corpora.fields import BadRecord

ID, REPLY = "id", "reply_to"
"""Fields of a turn: its name, and that of the turn that it answers."""
PROMPT, REPLIES = "prompt", "replies"
"""Fields of a tree that lies in one record, and of each of its messages (OpenAssistant)."""

Turn = dict[str, Any]


def is_tree(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is a message with the answers to it within."""
    prompt = record.get(PROMPT)
    return isinstance(prompt, dict) and REPLIES in prompt


def turns_of_tree(record: Mapping[str, Any]) -> list[Turn]:
    """Return the messages of a tree as turns, each with its name and that of what it answers.

    Raises:
        BadRecord: if one is no object, or its replies are no list.
    """
    turns: list[Turn] = []
    waiting: list[tuple[Any, str | None]] = [(record[PROMPT], None)]
    while waiting:
        message, above = waiting.pop()
        replies = message.get(REPLIES) if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(replies, list | None):
            raise BadRecord(f"{PROMPT}: expected messages with lists of {REPLIES}")
        turn = {key: value for key, value in message.items() if key != REPLIES}
        name = called(turn.get("message_id")) or str(len(turns))
        turns.append(turn | {"role": role(turn.get("role")), ID: name, REPLY: above})
        waiting += [(reply, name) for reply in reversed(replies or [])]
    return turns


def branches(said: Sequence[Turn], kept: Sequence[Turn]) -> Iterator[list[int]]:
    """Yield the branches of a tree, each the places of its turns among those kept.

    The first goes from a turn that answers none to the end, by the first answer of each; another
    begins with the turn that its own first one answers. So each turn follows what it answers once.

    Args:
        said: all turns; of one that is left out the answers answer what it answers itself.

    Raises:
        BadRecord: if turns answer one another in a circle.
    """
    answers = _answers(said, kept)
    roots = reversed(answers.pop(None, []))
    starts: list[tuple[int | None, int]] = [(None, root) for root in roots]
    reached = 0
    while starts:
        before, at = starts.pop()
        branch = [] if before is None else [before]
        forks: list[tuple[int, int]] = []
        while True:
            branch.append(at)
            reached += 1
            if at not in answers:
                break
            following, *others = answers[at]
            forks += [(at, other) for other in others]
            at = following
        yield branch
        starts += reversed(forks)
    if reached < len(kept):
        raise BadRecord(f"{REPLY}: {len(kept) - reached} turns answer one another in a circle")


def _answers(said: Sequence[Turn], kept: Sequence[Turn]) -> dict[int | None, list[int]]:
    """Return the answers to each turn that is kept, by places; None has those that answer none."""
    places = {turn[ID]: place for place, turn in reversed(list(enumerate(kept)))}
    above = {turn[ID]: turn.get(REPLY) for turn in said if turn[ID] not in places}
    answers: dict[int | None, list[int]] = {}
    for place, turn in enumerate(kept):
        parent, met = turn.get(REPLY), {turn[ID]}
        while parent in above and parent not in met:
            met.add(parent)
            parent = above[parent]
        parent = None if parent == turn[ID] else places.get(parent)
        answers.setdefault(parent, []).append(place)
    return answers
