"""Plain text as dialogues: one utterance a line, a blank line between dialogues."""

from __future__ import annotations

from collections.abc import Iterator

from dialtools.corpora.dialogues import Dialogue
from dialtools.streams.chunks import Chunk, decode
from dialtools.streams.policy import Policy, Where


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
