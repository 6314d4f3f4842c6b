"""Messages that answer one another, a tree as forums and collected chats have it, as dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dialtools.corpora.fields import BadRecord

ID, REPLY = "id", "reply_to"
"""Fields of a turn: its name, and that of the turn that it answers."""

Turn = dict[str, Any]


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
