"""Plain text as dialogues: one utterance a line, a blank line between dialogues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.dialogues import Dialogue
from dialtools.streams.chunks import Chunk, decode
from dialtools.streams.policy import Policy, Where

TIME = r"[\[(]?\d[\d/.:,T-]*(?: [\d/.:,-]+)*(?: ?[AaPp]\.?[Mm]\.?)?[\])]?(?: ?[-–])? +"
NAME = r"[^\W\d][^\s:：，。！？]*(?: [^\s:：，。！？]+){0,3}"
SPOKEN = re.compile(
    rf"(?:{TIME})?(?:<[ @+%&~!]?(?P<nick>[^<>\s/]+)>(?!\S|.*</)|(?P<called>{NAME}) ?(?::(?!\S)|：))"
    r"\s*(?P<text>.*)"
)
"""`Kim: hello`, `[10:02] Kim Lee: hello`, `31/12/2024, 2:05 PM - Kim: hello`, `<kim> hello`,
`金：你好`; no `https://`, and no HTML."""
MOST, SEVERAL = 0.8, 3
"""With such a share, and number, of texts that begin with a name it is who speaks."""


def plain_dialogues(chunk: Chunk, policy: Policy) -> Iterator[tuple[int, Dialogue]]:
    """Yield the line where each dialogue begins, and the dialogue."""
    start = chunk.first
    texts: list[str] = []
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first):
        if line.strip():
            start = start if texts else number
            text = decode(line, Where(chunk.name, number), policy)
            texts += [text] if text else []
        elif texts:
            yield start, Dialogue(None, texts, [None] * len(texts))
            texts = []
    if texts:
        yield start, Dialogue(None, texts, [None] * len(texts))


def spoken_records(chunk: Chunk, policy: Policy) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the dialogues as records whose speakers are those that the lines begin with.

    A line without a speaker goes on with the turn before.
    """
    for number, talk in plain_dialogues(chunk, policy):
        turns: list[tuple[str | None, list[str]]] = []
        for line in talk.texts:
            if said := SPOKEN.fullmatch(line):
                turns.append((said["nick"] or said["called"], [said["text"]]))
            elif turns:
                turns[-1][1].append(line)
            else:
                turns.append((None, [line]))
        spoken = [{"speaker": who, "text": " ".join(filter(None, said))} for who, said in turns]
        yield number, {"turns": spoken}
