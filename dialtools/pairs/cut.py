"""TOD-BERT's training pairs: a dialogue cut in two before a turn of the system, drawn at random."""

from __future__ import annotations

from dialtools.chance import share
from dialtools.corpora.dialogues import Dialogue, known_by
from dialtools.roles import SYSTEM, USER, role_of

FEW = 2
"""Turns of either side: of a dialogue with no more, the last turn of the system is the response."""


def drawn_response(dialogue: Dialogue, *, seed: int) -> int | None:
    """Return the turn before which a dialogue is cut; None if the system never answers.

    The k-th turn of the system, k drawn from 1 to the fewer of both sides' turns less one, counted
    from 0, as TOD-BERT draws it. The draw depends on the dialogue and the seed alone.
    """
    roles = [role_of(speaker) for speaker in dialogue.speakers]
    answers = [turn for turn, role in enumerate(roles) if role == SYSTEM]
    if not answers:
        return None
    fewer = min(len(answers), roles.count(USER))
    at = answers[-1]
    if fewer > FEW:
        name = known_by(dialogue.id, dialogue.texts)
        at = answers[1 + int(share(f"{name}\tcut", seed=seed) * (fewer - 1))]
    return at or None
