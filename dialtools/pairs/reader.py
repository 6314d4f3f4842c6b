"""The turns that TOD-BERT's corpus readers keep, as DSE trained on them (DSE app. A.1).

The readers walk (system, user) turns: a system turn waits for the user turn that follows, so that
of two system turns in a row the last remains, a trailing one is lost, and two user turns in a row
repeat the system text between them. The first system slot goes; the last turn comes only if its
system text has not been said before.
"""

from __future__ import annotations

from collections.abc import Callable

from dialtools.corpora.dialogues import Dialogue
from dialtools.roles import is_user

Turn = tuple[str, str | None]
"""A text, and who said it."""


def tod_bert_turns(dialogue: Dialogue) -> Dialogue:
    """Return the dialogue as TOD-BERT's readers give it.

    Those of SGD, MultiWOZ, WOZ, MSR-E2E, SMD, Frames and Taskmaster are alike.
    """
    history: list[Turn] = []
    of_system: Turn = ("", None)
    last: list[Turn] = []
    for text, speaker in zip(dialogue.texts, dialogue.speakers, strict=True):
        if not is_user(speaker):
            of_system = (text, speaker)
            continue
        history += last
        last = [of_system, (text, speaker)]
    return _closed(dialogue, history, last)


def camrest_turns(dialogue: Dialogue) -> Dialogue:
    """Return the dialogue as TOD-BERT's reader of CamRest676 gives it.

    It walks (user, system) turns, and has the last one reversed.
    """
    turns = list(zip(dialogue.texts, dialogue.speakers, strict=True))
    return _closed(dialogue, [("", None), *turns[:-2]], turns[:-3:-1])


def _closed(dialogue: Dialogue, history: list[Turn], last: list[Turn]) -> Dialogue:
    """Drop the history's first slot; append the last turn unless its first text was said before."""
    kept = history[1:]
    if last and last[0][0].lower() not in {text.lower() for text, _ in kept}:
        kept = kept + last
    texts, speakers = [text for text, _ in kept], [speaker for _, speaker in kept]
    return dialogue._replace(texts=texts, speakers=speakers)


READERS: dict[str, Callable[[Dialogue], Dialogue]] = {
    "plain": lambda dialogue: dialogue,
    "tod-bert": tod_bert_turns,
    "tod-bert-camrest": camrest_turns,
}
